/* Four threads on each side talk at the same time, each pair on a communicator and with tags of its own; then all on one. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 400, MAX_LEN = 100000 };

static MPI_Comm own[THREADS];

static int len_of(int round) {
    return round % 10 == 9 ? MAX_LEN - round : round * 17 % 3000;
}

/* Odd threads begin with the receive, even ones post it and send meanwhile. */
static void exchange(MPI_Comm comm, int thread, int round, unsigned char *out, unsigned char *in) {
    int peer = 1 - rank, len = len_of(round), tag = thread * ROUNDS + round;
    unsigned seed = (unsigned)(tag * 2);
    MPI_Request request;
    MPI_Status status;
    fill(out, (size_t)len, seed + (unsigned)rank);
    MPI_Irecv(in, MAX_LEN, MPI_BYTE, peer, tag, comm, &request);
    if (thread % 2) {
        MPI_Send(out, len, MPI_BYTE, peer, tag, comm);
        MPI_Wait(&request, &status);
    } else {
        MPI_Request sending;
        int done = 0;
        MPI_Isend(out, len, MPI_BYTE, peer, tag, comm, &sending);
        while (!done) MPI_Test(&request, &done, &status);
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
    }
    expect_status(&status, peer, tag, len);
    expect(in, (size_t)len, seed + (unsigned)peer);
}

static void *talk(void *argument) {
    int thread = *(int *)argument;
    unsigned char *out = memory(MAX_LEN), *in = memory(MAX_LEN);
    for (int round = 0; round < ROUNDS; round++) exchange(own[thread], thread, round, out, in);
    for (int round = 0; round < ROUNDS; round++) exchange(MPI_COMM_WORLD, thread, round, out, in);
    free(out), free(in);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    start(&argc, &argv, 2, MPI_THREAD_MULTIPLE);
    for (int thread = 0; thread < THREADS; thread++) MPI_Comm_dup(MPI_COMM_WORLD, &own[thread]);
    step("%d threads exchange messages", THREADS);
    for (int thread = 0; thread < THREADS; thread++) {
        numbers[thread] = thread;
        REQUIRE(pthread_create(&threads[thread], NULL, talk, &numbers[thread]) == 0, "no thread can be started");
    }
    for (int thread = 0; thread < THREADS; thread++) pthread_join(threads[thread], NULL);
    for (int thread = 0; thread < THREADS; thread++) MPI_Comm_free(&own[thread]);
    return finish();
}
