/* A message with bytes, and a receive without room for any: MPI_ERR_TRUNCATE, and the next message comes as if nothing had been.
   Apart from the other truncations, for libfabric's tcp loses its way here and there only. */
#include "check.h"

enum { ROUNDS = 500, LEN = 100, NO_ROOM = 1, READY = 2 };

static void receive(int number) {
    MPI_Request request;
    int class, got = -1;
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, NO_ROOM, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD);
    int result = MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(result != MPI_SUCCESS, "the receive succeeded");
    MPI_Error_class(result, &class);
    REQUIRE(class == MPI_ERR_TRUNCATE, "the error is of class %d instead of MPI_ERR_TRUNCATE, %d", class, MPI_ERR_TRUNCATE);
    result = MPI_Recv(&got, 1, MPI_INT, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REQUIRE(result == MPI_SUCCESS && got == number, "the message after it is %d instead of %d", got, number);
}

int main(int argc, char **argv) {
    unsigned char bytes[LEN] = {0};
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < ROUNDS; round++) {
        step("round %d", round);
        if (rank == 1) {
            receive(round);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(bytes, 1 + round % LEN, MPI_BYTE, 1, NO_ROOM, MPI_COMM_WORLD);
            MPI_Send(&round, 1, MPI_INT, 1, READY, MPI_COMM_WORLD);
        }
    }
    return finish();
}
