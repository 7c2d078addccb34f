/* Collectives while other things are under way: long messages, which need their senders, that wait in a collective; access to memory, for which its owner may
   have to do something; and collectives between two groups, which have roots of another kind. */
#include "check.h"

enum { TURNS = 12, LONG = 4 << 20 };

static unsigned char *in, *out;

static void collective(int turn) {
    int word = rank == turn % ranks ? turn : -1, sum, one = 1;
    if (turn % 3 == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (turn % 3 == 1) {
        MPI_Bcast(&word, 1, MPI_INT, turn % ranks, MPI_COMM_WORLD);
        REQUIRE(word == turn, "the broadcast brought %d", word);
    }
    if (turn % 3 == 2) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        REQUIRE(sum == ranks, "the sum is %d", sum);
    }
}

static void message_before(int turn) {
    int from = turn % ranks, to = (turn + 1) % ranks;
    MPI_Request request;
    if (rank == from) {
        fill(out, LONG, (unsigned)turn);
        MPI_Isend(out, LONG, MPI_BYTE, to, 5, MPI_COMM_WORLD, &request);
    }
    if (rank == to) {
        MPI_Recv(in, LONG, MPI_BYTE, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(in, LONG, (unsigned)turn);
    }
    collective(turn);
    if (rank == from) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void access_before(int turn, MPI_Win window) {
    int to = turn % ranks;
    if (rank != to) {
        fill(out, 1000, (unsigned)(turn + rank));
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, window);
        MPI_Put(out, 1000, MPI_BYTE, to, rank * 1000, 1000, MPI_BYTE, window);
        MPI_Win_unlock(to, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == to) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
        for (int from = 0; from < ranks; from++)
            if (from != rank) expect(in + from * 1000, 1000, (unsigned)(turn + from));
        MPI_Win_unlock(rank, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void between_groups(void) {
    int word = rank + 1, root = rank % 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &both);
    MPI_Bcast(&word, 1, MPI_INT, root, both);
    MPI_Barrier(both);
    REQUIRE(word == (rank % 2 ? 1 : rank + 1), "between groups the word is %d", word);
    MPI_Comm_free(&both), MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Win window;
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    in = memory(LONG), out = memory(LONG);
    for (int turn = 0; turn < TURNS; turn++) {
        step("a message before a collective, turn %d", turn);
        message_before(turn);
    }
    MPI_Win_create(in, LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int turn = 0; turn < TURNS; turn++) {
        step("access before a collective, turn %d", turn);
        access_before(turn, window);
    }
    MPI_Win_free(&window);
    step("between groups");
    between_groups();
    free(in), free(out);
    return finish();
}
