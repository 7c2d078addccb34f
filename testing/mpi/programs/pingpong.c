/* Messages of each length around each power of two go to and fro, and arrive whole, with nothing written behind them. */
#include "check.h"

enum { MAX_LEN = 4 << 20, ROUNDS = 3, GUARD = 64, TAG = 5 };

static void turn(int len, int round, unsigned char *buffer) {
    int peer = 1 - rank;
    unsigned there = 2u * (unsigned)(len + round), back = there + 1;
    MPI_Status status;
    for (int leg = 0; leg < 2; leg++) {
        unsigned seed = leg ? back : there;
        if (rank == leg) {
            fill(buffer, (size_t)len, seed);
            MPI_Send(buffer, len, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        } else {
            memset(buffer, 0xee, (size_t)len + GUARD);
            MPI_Recv(buffer, MAX_LEN, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
            expect_status(&status, peer, TAG, len);
            expect(buffer, (size_t)len, seed);
            for (int at = len; at < len + GUARD; at++)
                REQUIRE(buffer[at] == 0xee, "byte %d was written, the message has only %d", at, len);
        }
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    unsigned char *buffer = memory(MAX_LEN + GUARD);
    for (int round = 0; round < ROUNDS; round++) {
        step("round %d, no bytes", round);
        turn(0, round, buffer);
        for (int power = 1; power <= MAX_LEN; power *= 2) {
            for (int len = power - 1; len <= power + 1 && len <= MAX_LEN; len++) {
                step("round %d, %d bytes", round, len);
                turn(len, round, buffer);
            }
        }
    }
    free(buffer);
    return finish();
}
