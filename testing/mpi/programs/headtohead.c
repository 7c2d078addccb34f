/* Two ranks send to each other before either receives: every MPI lets short messages through that way. */
#include "check.h"

enum { LEN = 1024, ROUNDS = 2000, TAG = 3 };

int main(int argc, char **argv) {
    unsigned char bytes[LEN];
    MPI_Status status;
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    int peer = 1 - rank;
    for (int round = 0; round < ROUNDS; round++) {
        step("round %d, sends", round);
        fill(bytes, LEN, (unsigned)(2 * round + rank));
        MPI_Send(bytes, LEN, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        step("round %d, receives", round);
        MPI_Recv(bytes, LEN, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
        expect_status(&status, peer, TAG, LEN);
        expect(bytes, LEN, (unsigned)(2 * round + peer));
    }
    return finish();
}
