/* Receives are canceled while messages come for them: each message is received exactly once, by a receive that was too late to
   be canceled or by the next one. */
#include "check.h"

enum { ROUNDS = 3000, LEN = 3000, QUEUE = 8, MESSAGE = 1, READY = 2 };

/* Says whether it was, and that with the data of a message if not. */
static int canceled(MPI_Request *request, const unsigned char *bytes, int len, unsigned seed) {
    MPI_Status status;
    int was;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &was);
    if (!was) {
        expect_status(&status, 0, MESSAGE, len);
        expect(bytes, (size_t)len, seed);
    }
    return was;
}

/* Nothing was sent: it has to succeed, and what is sent later is for others. */
static void without_a_message(void) {
    unsigned char bytes[LEN];
    MPI_Request request;
    step("cancels what nothing is sent to");
    if (rank == 1) {
        MPI_Irecv(bytes, LEN, MPI_BYTE, 0, MESSAGE, MPI_COMM_WORLD, &request);
        REQUIRE(canceled(&request, bytes, LEN, 0), "a receive was not canceled, and nothing had been sent");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void races(void) {
    unsigned char bytes[LEN];
    MPI_Request request;
    MPI_Status status;
    int late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int len = round % LEN;
        step("race %d, %d lost", round, late);
        if (rank == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            fill(bytes, (size_t)len, (unsigned)round);
            MPI_Send(bytes, len, MPI_BYTE, 1, MESSAGE, MPI_COMM_WORLD);
            continue;
        }
        MPI_Irecv(bytes, LEN, MPI_BYTE, 0, MESSAGE, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD);
        for (volatile int pause = 0; pause < round * 37 % 20000; pause++) {}
        if (canceled(&request, bytes, len, (unsigned)round)) {
            MPI_Recv(bytes, LEN, MPI_BYTE, 0, MESSAGE, MPI_COMM_WORLD, &status);
            expect_status(&status, 0, MESSAGE, len);
            expect(bytes, (size_t)len, (unsigned)round);
        } else {
            late++;
        }
    }
}

/* Every second of a queue of receives is canceled: messages go to the others, in order. */
static void out_of_a_queue(void) {
    static unsigned char bytes[QUEUE][LEN];
    MPI_Request requests[QUEUE];
    MPI_Status status;
    step("cancels every second of a queue");
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int place = 1; place < QUEUE; place += 2) {
            fill(bytes[0], LEN, (unsigned)place);
            MPI_Send(bytes[0], LEN, MPI_BYTE, 1, MESSAGE, MPI_COMM_WORLD);
        }
        return;
    }
    for (int place = 0; place < QUEUE; place++)
        MPI_Irecv(bytes[place], LEN, MPI_BYTE, MPI_ANY_SOURCE, MESSAGE, MPI_COMM_WORLD, &requests[place]);
    for (int place = 0; place < QUEUE; place += 2)
        REQUIRE(canceled(&requests[place], bytes[place], LEN, 0), "receive %d was not canceled, and nothing had been sent", place);
    MPI_Send(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD);
    for (int place = 1; place < QUEUE; place += 2) {
        MPI_Wait(&requests[place], &status);
        expect_status(&status, 0, MESSAGE, LEN);
        expect(bytes[place], LEN, (unsigned)place);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    without_a_message();
    races();
    out_of_a_queue();
    return finish();
}
