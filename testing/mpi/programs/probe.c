/* Messages that are looked at before they are received: the look tells what the receive then gets, and a message that was
   taken by a matched probe is nobody else's. */
#include "check.h"

enum { MESSAGES = 600, TAKEN = 16, MAX_LEN = 70000, TAGS = 5 };

/* On both sides of where libraries change their protocol. */
static int len_of(int number) {
    return number % 4 == 3 ? MAX_LEN - number : number * 13 % 2000;
}

/* All at once, for long ones are complete only when they are received, and the receiver takes several before that. */
static void send_all(void) {
    unsigned char *bytes[MESSAGES];
    MPI_Request requests[MESSAGES];
    for (int number = 0; number < MESSAGES; number++) {
        step("sends message %d", number);
        bytes[number] = memory((size_t)len_of(number));
        fill(bytes[number], (size_t)len_of(number), (unsigned)number);
        MPI_Isend(bytes[number], len_of(number), MPI_BYTE, 1, number % TAGS, MPI_COMM_WORLD, &requests[number]);
    }
    step("waits until all is received");
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int number = 0; number < MESSAGES; number++) free(bytes[number]);
}

static void probe_then_receive(unsigned char *bytes, int blocking) {
    MPI_Status seen, got;
    for (int number = 0; number < MESSAGES; number++) {
        int found = 0;
        step("%s message %d", blocking ? "MPI_Probe of" : "MPI_Iprobe of", number);
        if (blocking)
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &seen);
        else
            while (!found) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &seen);
        expect_status(&seen, 0, number % TAGS, len_of(number));
        MPI_Recv(bytes, len_of(number), MPI_BYTE, seen.MPI_SOURCE, seen.MPI_TAG, MPI_COMM_WORLD, &got);
        expect_status(&got, 0, number % TAGS, len_of(number));
        expect(bytes, (size_t)len_of(number), (unsigned)number);
    }
}

/* Several are taken, then received the other way round. */
static void take_then_receive(unsigned char *bytes) {
    MPI_Message taken[TAKEN];
    MPI_Status status;
    for (int first = 0; first < MESSAGES; first += TAKEN) {
        int last = first + TAKEN < MESSAGES ? first + TAKEN : MESSAGES;
        for (int number = first; number < last; number++) {
            int found = 0;
            step("%s message %d", number % 2 ? "MPI_Improbe of" : "MPI_Mprobe of", number);
            if (number % 2)
                while (!found) MPI_Improbe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &taken[number - first], &status);
            else
                MPI_Mprobe(0, number % TAGS, MPI_COMM_WORLD, &taken[number - first], &status);
            expect_status(&status, 0, number % TAGS, len_of(number));
        }
        for (int number = last - 1; number >= first; number--) {
            MPI_Request request;
            step("MPI_%s of message %d", number % 3 ? "Mrecv" : "Imrecv", number);
            if (number % 3) {
                MPI_Mrecv(bytes, MAX_LEN, MPI_BYTE, &taken[number - first], &status);
            } else {
                MPI_Imrecv(bytes, MAX_LEN, MPI_BYTE, &taken[number - first], &request);
                MPI_Wait(&request, &status);
            }
            expect_status(&status, 0, number % TAGS, len_of(number));
            expect(bytes, (size_t)len_of(number), (unsigned)number);
            REQUIRE(taken[number - first] == MPI_MESSAGE_NULL, "a message that was received has still a handle");
        }
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    if (rank == 0) {
        for (int pass = 0; pass < 3; pass++) send_all();
    } else {
        unsigned char *bytes = memory(MAX_LEN);
        for (int blocking = 0; blocking < 2; blocking++) probe_then_receive(bytes, blocking);
        take_then_receive(bytes);
        free(bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    step("looks when nothing was sent");
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    REQUIRE(!found, "MPI_Iprobe finds a message, and none is left");
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
