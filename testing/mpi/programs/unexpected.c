/* 100,000 messages that nobody has asked for yet: received in order, by tag in reverse order, and by wildcards. */
#include "check.h"

/* By tag fewer: a library that looks for them one by one would look for minutes. */
enum { MESSAGES = 100000, REVERSED = 10000, MAX_LEN = 200, ALL_SENT = 9 };

static MPI_Comm markers;

static int len_of(int number) {
    return number % (MAX_LEN + 1);
}

/* None has to wait for its receive. The marker comes after all of them, on a communicator of its own: who has it has them all,
   unexpected. */
static void send_all(int count, int tagged) {
    unsigned char *bytes = memory((size_t)count * MAX_LEN);
    MPI_Request *requests = memory(sizeof *requests * (size_t)count);
    for (int number = 0; number < count; number++) {
        unsigned char *message = bytes + (size_t)number * MAX_LEN;
        step("sends message %d of %d, %s", number, count, tagged ? "each with its tag" : "all with one tag");
        fill(message, (size_t)len_of(number), (unsigned)number);
        MPI_Isend(message, len_of(number), MPI_BYTE, 1, tagged ? number : 1, MPI_COMM_WORLD, &requests[number]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, ALL_SENT, markers);
    step("waits until all %d are received", count);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(bytes), free(requests);
}

static void await_all(void) {
    step("waits until all is sent");
    MPI_Recv(NULL, 0, MPI_BYTE, 0, ALL_SENT, markers, MPI_STATUS_IGNORE);
}

static void receive(int source, int asked_tag, int number, int tag) {
    unsigned char bytes[MAX_LEN];
    MPI_Status status;
    MPI_Recv(bytes, MAX_LEN, MPI_BYTE, source, asked_tag, MPI_COMM_WORLD, &status);
    expect_status(&status, 0, tag, len_of(number));
    expect(bytes, (size_t)len_of(number), (unsigned)number);
}

static void receive_all(void) {
    await_all();
    for (int number = 0; number < MESSAGES; number++) {
        step("receives message %d in order", number);
        receive(0, 1, number, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    await_all();
    for (int number = REVERSED - 1; number >= 0; number--) {
        step("receives message %d by its tag, in reverse order", number);
        receive(0, number, number, number);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    await_all();
    for (int number = 0; number < MESSAGES; number++) {
        step("receives message %d by wildcards", number);
        receive(MPI_ANY_SOURCE, MPI_ANY_TAG, number, number);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &markers);
    if (rank == 0) {
        send_all(MESSAGES, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        send_all(REVERSED, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        send_all(MESSAGES, 1);
    } else {
        receive_all();
    }
    MPI_Comm_free(&markers);
    return finish();
}
