/* Messages whose sender has finalized before they are received: they are received all the same, however late that is. */
#include "check.h"

enum { MESSAGES = 20000, LEN = 100, TAG = 1, LATE_S = 5 };

static void send_all(void) {
    unsigned char *bytes = memory((size_t)MESSAGES * LEN);
    MPI_Request *requests = memory(sizeof *requests * MESSAGES);
    for (int number = 0; number < MESSAGES; number++) {
        step("sends message %d", number);
        fill(bytes + (size_t)number * LEN, LEN, (unsigned)number);
        MPI_Isend(bytes + (size_t)number * LEN, LEN, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[number]);
    }
    step("waits until all are sent");
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    free(bytes), free(requests);
}

static void receive_all(void) {
    step("does something else");
    sleep(LATE_S);
    for (int number = 0; number < MESSAGES; number++) {
        step("receives message %d", number);
        unsigned char bytes[LEN];
        MPI_Status status;
        MPI_Recv(bytes, LEN, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
        expect_status(&status, 0, TAG, LEN);
        expect(bytes, LEN, (unsigned)number);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    if (rank == 0) send_all();
    else receive_all();
    return finish();
}
