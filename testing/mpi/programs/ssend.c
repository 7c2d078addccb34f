/* A synchronous send is complete when its receive has begun, and not when the message has merely arrived. */
#include "check.h"

enum { ROUNDS = 50, LOOKS = 200, MESSAGE = 1, ARRIVED = 2, RECEIVE = 3 };

static const int lens[] = {0, 8, 1000, 20000, 1 << 20};

static void send_one(unsigned char *buffer, int len, unsigned seed) {
    MPI_Request request;
    int complete = 0;
    fill(buffer, (size_t)len, seed);
    MPI_Issend(buffer, len, MPI_BYTE, 1, MESSAGE, MPI_COMM_WORLD, &request);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, ARRIVED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int look = 0; look < LOOKS; look++) {
        MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
        REQUIRE(!complete, "MPI_Issend is complete, and nobody receives yet");
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, RECEIVE, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive_one(unsigned char *buffer, int len, unsigned seed) {
    MPI_Status status;
    MPI_Probe(0, MESSAGE, MPI_COMM_WORLD, &status);
    expect_status(&status, 0, MESSAGE, len);
    MPI_Send(NULL, 0, MPI_BYTE, 0, ARRIVED, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, RECEIVE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, len, MPI_BYTE, 0, MESSAGE, MPI_COMM_WORLD, &status);
    expect_status(&status, 0, MESSAGE, len);
    expect(buffer, (size_t)len, seed);
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    unsigned char *buffer = memory(1 << 20);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t size = 0; size < sizeof lens / sizeof *lens; size++) {
            step("round %d, %d bytes", round, lens[size]);
            (rank == 0 ? send_one : receive_one)(buffer, lens[size], (unsigned)round);
        }
    }
    free(buffer);
    return finish();
}
