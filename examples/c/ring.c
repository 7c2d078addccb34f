/*
 * Large messages round a ring: each process sends 16 MiB to the next and receives as much from the one before.
 *
 *     bcl run -n 4 ./ring      or alone: ./ring, which sends to itself
 */
#define _POSIX_C_SOURCE 199309L
#include <bcl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANNEL = 1, ROUNDS = 20, SENT = 1, RECEIVED = 2 };
static const size_t LEN = 16 << 20;

static void must(int result) {
    if (result >= 0) return;
    fprintf(stderr, "ring: %s\n", bcl_last_error());
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits until both the message out and the message in are complete. */
static void wait_for_both(bcl_port *port) {
    for (unsigned done = 0; done != (SENT | RECEIVED);) {
        bcl_event event;
        must(bcl_wait(port, BCL_ANY, &event, 1, -1));
        if (event.status != BCL_OK || event.type == BCL_EVENT_PEER_GONE) {
            char text[256];
            must(bcl_event_text(&event, text, sizeof text));
            fprintf(stderr, "ring: %s\n", text);
            exit(1);
        }
        if (event.type == BCL_EVENT_SENT || event.type == BCL_EVENT_RECEIVED) done |= (unsigned)event.cookie;
    }
}

static void check(const unsigned char *bytes, unsigned char expected) {
    for (size_t i = 0; i < LEN; i += 4096)
        if (bytes[i] != expected) {
            fprintf(stderr, "ring: byte %zu is %u instead of %u\n", i, bytes[i], expected);
            exit(1);
        }
}

int main(void) {
    uint32_t rank, size;
    bcl_port *port;
    bcl_address mine, *all;
    void *out, *in;

    must(bcl_job_rank(&rank));
    must(bcl_job_size(&size));
    must(bcl_open(NULL, &port));
    must(bcl_port_address(port, &mine));
    all = calloc(size, sizeof *all);
    if (all == NULL) return 1;
    must(bcl_job_exchange(&mine, sizeof mine, all));
    bcl_address next = all[(rank + 1) % size];
    uint32_t previous = (rank + size - 1) % size;

    /* From a DMA buffer the receiver copies directly. */
    must(bcl_dma_alloc(LEN, &out));
    must(bcl_dma_alloc(LEN, &in));
    double start = now();
    for (unsigned round = 0; round < ROUNDS; round++) {
        memset(out, (int)(rank + round) & 255, LEN);
        must(bcl_post(port, CHANNEL, in, LEN, RECEIVED));
        must(bcl_send(port, next, CHANNEL, out, LEN, SENT));
        wait_for_both(port);
        check(in, (unsigned char)(previous + round));
    }
    double seconds = now() - start;
    /* Everybody is done before anybody goes. */
    must(bcl_job_exchange(&mine, sizeof mine, all));
    printf("process %u of %u: %.0f MB/s\n", rank, size, ROUNDS * (double)LEN / 1e6 / seconds);
    must(bcl_close(port));
    must(bcl_dma_free(in));
    must(bcl_dma_free(out));
    free(all);
    return 0;
}
