/* All ranks send to all others at once, and receive from anybody with any tag: from each sender in the order in which it sent,
   for a receive of both wildcards matches the first message of whoever it takes. */
#include "check.h"

enum { MESSAGES = 1500, WINDOW = 32, MAX_LEN = 100000, TAGS = 7 };

/* The number of the message, then its contents. */
struct message {
    int number;
    unsigned char bytes[MAX_LEN];
};

/* Mostly small, some of another protocol; sender and receiver both know it. */
static int len_of(int sender, int number) {
    unsigned drawn = (unsigned)(sender * 7919 + number) * 2654435761u >> 16;
    return drawn % 50 == 0 ? (int)(drawn * 3 % MAX_LEN) : (int)(drawn % 600);
}

static int tag_of(int sender, int number) {
    return (sender + number * 5) % TAGS;
}

static void check(const struct message *message, const MPI_Status *status, int *next) {
    int source = status->MPI_SOURCE, number = next[source]++;
    REQUIRE(message->number == number, "message %d of rank %d came when %d was next", message->number, source, number);
    int len = len_of(source, number);
    expect_status(status, source, tag_of(source, number), len + (int)sizeof(int));
    expect(message->bytes, (size_t)len, (unsigned)(source * MESSAGES + number));
}

static void post(struct message *message, MPI_Request *request) {
    MPI_Irecv(message, sizeof *message, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request);
}

/* Sends the next message to each other rank, when the one before in its place has gone. */
static void send_next(struct message *outgoing, MPI_Request *requests, int number) {
    int slot = number % WINDOW, len = len_of(rank, number);
    MPI_Request *to_all = requests + slot * ranks;
    MPI_Waitall(ranks, to_all, MPI_STATUSES_IGNORE);
    outgoing[slot].number = number;
    fill(outgoing[slot].bytes, (size_t)len, (unsigned)(rank * MESSAGES + number));
    for (int peer = 0; peer < ranks; peer++) {
        if (peer == rank) continue;
        MPI_Isend(&outgoing[slot], len + (int)sizeof(int), MPI_BYTE, peer, tag_of(rank, number), MPI_COMM_WORLD, &to_all[peer]);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    struct message *outgoing = memory(WINDOW * sizeof *outgoing), *incoming = memory(WINDOW * sizeof *incoming);
    MPI_Request *sends = memory(sizeof *sends * (size_t)(WINDOW * ranks)), receives[WINDOW];
    int *next = calloc((size_t)ranks, sizeof *next);
    int expected = MESSAGES * (ranks - 1), received = 0, posted = 0, sent = 0;
    for (int index = 0; index < WINDOW * ranks; index++) sends[index] = MPI_REQUEST_NULL;
    while (posted < WINDOW && posted < expected) post(&incoming[posted], &receives[posted]), posted++;

    while (received < expected) {
        step("has sent %d and received %d", sent, received);
        if (sent < MESSAGES) send_next(outgoing, sends, sent++);
        /* In the order in which they were posted, in which messages are matched to them too. */
        for (int turn = 0; turn < ranks - 1 && received < expected; turn++) {
            int slot = received % WINDOW;
            MPI_Status status;
            MPI_Wait(&receives[slot], &status);
            check(&incoming[slot], &status, next);
            received++;
            if (posted < expected) post(&incoming[slot], &receives[slot]), posted++;
        }
    }
    MPI_Waitall(WINDOW * ranks, sends, MPI_STATUSES_IGNORE);
    free(outgoing), free(incoming), free(sends), free(next);
    /* What rank 0 says that it took is what all took. */
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
