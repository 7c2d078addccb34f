/* A rank starts processes, as system() does, while messages are under way: they arrive in its memory, not in the child's. */
#include "check.h"

#include <sys/wait.h>

enum { ROUNDS = 40, MAX_LEN = 300000, TAG = 8 };

static const int lens[] = {8, 3000, MAX_LEN};

/* The child writes to all that it has of the message, and ends without a word to MPI. */
static void fork_once(unsigned char *in, unsigned char *out, int len) {
    pid_t child = fork();
    REQUIRE(child >= 0, "fork fails");
    if (child == 0) {
        memset(in, 1, (size_t)len);
        memset(out, 2, (size_t)len);
        _exit(7);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child, "waitpid fails");
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child ended with status %d", status);
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    int peer = 1 - rank;
    unsigned char *in = memory(MAX_LEN), *out = memory(MAX_LEN);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t size = 0; size < sizeof lens / sizeof *lens; size++) {
            int len = lens[size];
            unsigned seed = (unsigned)(2 * round);
            MPI_Request requests[2];
            MPI_Status statuses[2];
            step("round %d, %d bytes", round, len);
            fill(out, (size_t)len, seed + (unsigned)rank);
            MPI_Irecv(in, MAX_LEN, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, len, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[1]);
            if (round % 2 == rank) fork_once(in, out, len);
            MPI_Waitall(2, requests, statuses);
            expect_status(&statuses[0], peer, TAG, len);
            expect(in, (size_t)len, seed + (unsigned)peer);
        }
    }
    step("calls system()");
    REQUIRE(system("exit 3") >> 8 == 3, "system() does not run a command");
    MPI_Barrier(MPI_COMM_WORLD);
    free(in), free(out);
    return finish();
}
