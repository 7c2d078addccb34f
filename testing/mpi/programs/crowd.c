/* Threads of each rank, each with communicators of its own, do collectives on them at the same time; in each process they begin in another order. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300, MAKES = 4 };

static MPI_Comm of_thread[THREADS];

static void collectives(MPI_Comm comm, int thread, int round) {
    int size, own, word, sum;
    MPI_Comm_size(comm, &size), MPI_Comm_rank(comm, &own);
    int root = (thread + round) % size;
    word = own == root ? thread * ROUNDS + round : -1;
    MPI_Bcast(&word, 1, MPI_INT, root, comm);
    REQUIRE(word == thread * ROUNDS + round, "thread %d, round %d: the broadcast brought %d", thread, round, word);
    word = own + thread;
    MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, comm);
    REQUIRE(sum == size * (size - 1) / 2 + size * thread, "thread %d, round %d: the sum is %d", thread, round, sum);
    if (round % 7 == 0) MPI_Barrier(comm);
}

static void *work(void *argument) {
    int thread = *(int *)argument;
    usleep((useconds_t)((thread + rank) % THREADS) * 1000);
    for (int round = 0; round < ROUNDS; round++) collectives(of_thread[thread], thread, round);
    for (int made = 0; made < MAKES; made++) {
        MPI_Comm half;
        MPI_Comm_split(of_thread[thread], (rank + thread) / 2 % 2, 0, &half);
        for (int round = 0; round < 10; round++) collectives(half, thread, round);
        MPI_Comm_free(&half);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    start(&argc, &argv, 2, MPI_THREAD_MULTIPLE);
    for (int thread = 0; thread < THREADS; thread++) MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[thread]);
    step("%d threads do collectives", THREADS);
    for (int thread = 0; thread < THREADS; thread++) {
        numbers[thread] = thread;
        REQUIRE(pthread_create(&threads[thread], NULL, work, &numbers[thread]) == 0, "no thread can be started");
    }
    for (int thread = 0; thread < THREADS; thread++) pthread_join(threads[thread], NULL);
    for (int thread = 0; thread < THREADS; thread++) MPI_Comm_free(&of_thread[thread]);
    return finish();
}
