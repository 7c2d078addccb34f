/*
 * How many messages of 8 bytes a second go from one process to another: with the port's lock, and without it.
 *
 *     ./rate [N]     sends N messages (1,000,000) each way of opening the port, five times in turn; prints the medians
 */
#define _POSIX_C_SOURCE 199309L
#include <bcl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static void must(int result) {
    if (result >= 0) return;
    fprintf(stderr, "rate: %s\n", bcl_last_error());
    exit(1);
}

static void must_read(int fd, void *into, size_t len) {
    if (read(fd, into, len) != (ssize_t)len) exit(1);
}

static bcl_port *open_port(uint32_t flags) {
    bcl_options options = BCL_OPTIONS_INIT;
    bcl_port *port;
    options.flags = flags;
    must(bcl_open(&options, &port));
    return port;
}

/* The next message, given back at once: who sent it. */
static bcl_address receive(bcl_port *port) {
    bcl_event event;
    for (;;) {
        if (bcl_poll(port, BCL_ANY, &event, 1) != 1) continue;
        must(event.status);
        if (event.type == BCL_EVENT_MESSAGE) break;
    }
    must(bcl_release(port, &event));
    return event.peer;
}

static void send_one(bcl_port *port, bcl_address to, uint64_t number) {
    int result;
    bcl_event event;
    /* The receiver is behind; looking for events makes room once it has caught up. */
    while ((result = bcl_send(port, to, BCL_SYSTEM_CHANNEL, &number, sizeof number, BCL_QUIET)) == BCL_ERR_QUEUE_FULL)
        if (bcl_poll(port, BCL_SEND, &event, 1) == 1) must(event.status);
    must(result);
}

/* Receives `count` messages and says so, twice: once to warm up. */
static void be_receiver(uint32_t flags, uint64_t count, int tell) {
    bcl_port *port = open_port(flags);
    bcl_address address;
    bcl_event event;
    must(bcl_port_address(port, &address));
    if (write(tell, &address, sizeof address) != sizeof address) exit(1);
    for (int run = 0; run < 2; run++) {
        bcl_address from = address;
        for (uint64_t i = 0; i < count; i++) from = receive(port);
        must(bcl_send(port, from, BCL_SYSTEM_CHANNEL, "all", 3, BCL_QUIET));
    }
    do must(bcl_wait(port, BCL_ANY, &event, 1, -1));
    while (event.type != BCL_EVENT_PEER_GONE);
    exit(0);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Messages a second, until the receiver has them all. */
static double measure(uint32_t flags, uint64_t count) {
    int from_child[2], status = 1;
    bcl_address to;
    double begin = 0;
    if (pipe(from_child) != 0) exit(1);
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child == 0) be_receiver(flags, count, from_child[1]);
    must_read(from_child[0], &to, sizeof to);
    bcl_port *port = open_port(flags);
    for (int run = 0; run < 2; run++) {
        begin = seconds();
        for (uint64_t i = 0; i < count; i++) send_one(port, to, i);
        receive(port);
    }
    double rate = (double)count / (seconds() - begin);
    must(bcl_close(port));
    close(from_child[0]), close(from_child[1]);
    if (waitpid(child, &status, 0) != child || status != 0) exit(1);
    return rate;
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    double rates[2][ROUNDS];
    if (count == 0) return fprintf(stderr, "rate: write a number of messages, as in 1000000\n"), 2;
    for (int round = 0; round < ROUNDS; round++) {
        rates[0][round] = measure(0, count);
        rates[1][round] = measure(BCL_ONE_THREAD, count);
    }
    for (int kind = 0; kind < 2; kind++) qsort(rates[kind], ROUNDS, sizeof(double), ascending);
    printf("with the lock      %5.2f M/s\n", rates[0][ROUNDS / 2] / 1e6);
    printf("BCL_ONE_THREAD     %5.2f M/s\n", rates[1][ROUNDS / 2] / 1e6);
    return 0;
}
