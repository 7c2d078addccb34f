/* A message longer than the buffer of its receive is the error MPI_ERR_TRUNCATE; nothing is written behind the buffer, and the
   next message comes as if nothing had been. */
#include "check.h"

enum { MAX_LEN = 1 << 20, TOO_LONG = 1, NEXT = 2, ROUNDS = 20 };

static const struct { int sent, room; } cases[] = {{2, 1}, {100, 99}, {5000, 8}, {60000, 59999}, {MAX_LEN, 1000}};

static void receive(unsigned char *buffer, int sent, int room, int expected, unsigned seed) {
    MPI_Status status;
    int class = MPI_SUCCESS, result;
    memset(buffer, 0xee, MAX_LEN);
    if (expected) {
        /* Its receive is there before or after the message. */
        MPI_Request request;
        MPI_Irecv(buffer, room, MPI_BYTE, 0, TOO_LONG, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 0, NEXT, MPI_COMM_WORLD);
        result = MPI_Wait(&request, &status);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, 0, NEXT, MPI_COMM_WORLD);
        MPI_Probe(0, TOO_LONG, MPI_COMM_WORLD, &status);
        result = MPI_Recv(buffer, room, MPI_BYTE, 0, TOO_LONG, MPI_COMM_WORLD, &status);
    }
    REQUIRE(result != MPI_SUCCESS, "the receive succeeded");
    MPI_Error_class(result, &class);
    REQUIRE(class == MPI_ERR_TRUNCATE, "the error is of class %d instead of MPI_ERR_TRUNCATE, %d", class, MPI_ERR_TRUNCATE);
    for (int at = room; at < MAX_LEN; at++)
        REQUIRE(buffer[at] == 0xee, "byte %d was written, the buffer has only %d", at, room);
    result = MPI_Recv(buffer, MAX_LEN, MPI_BYTE, 0, NEXT, MPI_COMM_WORLD, &status);
    REQUIRE(result == MPI_SUCCESS, "the receive after it fails, too");
    expect_status(&status, 0, NEXT, sent);
    expect(buffer, (size_t)sent, seed);
}

static void send(unsigned char *buffer, int sent, unsigned seed) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, NEXT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fill(buffer, (size_t)sent, seed);
    /* Whether the sender hears of it is up to the library. */
    MPI_Send(buffer, sent, MPI_BYTE, 1, TOO_LONG, MPI_COMM_WORLD);
    int result = MPI_Send(buffer, sent, MPI_BYTE, 1, NEXT, MPI_COMM_WORLD);
    REQUIRE(result == MPI_SUCCESS, "the send after it fails, too");
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char *buffer = memory(MAX_LEN);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
            int sent = cases[index].sent, room = cases[index].room, expected = round % 2;
            step("%d bytes for %d, %s", sent, room, expected ? "receive first" : "message first");
            if (rank == 0)
                send(buffer, sent, (unsigned)round);
            else
                receive(buffer, sent, room, expected, (unsigned)round);
        }
    }
    free(buffer);
    return finish();
}
