/*
 * A sender that runs itself anew by execve while its long message waits for a buffer. Whoever posts the buffer then must
 * not get bytes of the new program for those of the message: the message is withdrawn, or ends with the peer [SEM-7.4].
 * Built once more without PIE, so that the new program has memory at the same addresses.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { LEN = 1 << 20, CHANNEL = 1 };
static char data[LEN] = {'N'}, into[LEN];

/* What the sender becomes: a program that looks the same and holds other data. */
static int become_new(void) {
    memset(data, 'N', LEN);
    sleep(60);
    return 0;
}

/* The sender: says what it sends, then becomes the new program. */
static void send_and_exec(const char *program, bcl_address to, char fill) {
    bcl_port *port = open_port(0);
    bcl_event event;
    memset(data, fill, LEN);
    if (bcl_send(port, to, CHANNEL, data, LEN, 1) != 0 || bcl_send(port, to, 0, "sent", 4, 2) != 0) _exit(8);
    while (bcl_wait(port, BCL_SEND, &event, 1, 10000) > 0 && event.cookie != 2) continue;
    execl("/proc/self/exe", program, "new", (char *)NULL);
    _exit(9);
}

static int all_are(char wanted) {
    for (int i = 0; i < LEN; i++)
        if (into[i] != wanted) return 0;
    return 1;
}

static void wait_us(long delay_us) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < delay_us);
}

static void one_round(const char *program, long delay_us) {
    bcl_port *port = open_port(0);
    bcl_address here = address_of(port);
    int alive[2], posted = 1, status;
    char byte;
    CHECK(pipe(alive) == 0);
    pid_t sender = fork();
    if (sender == 0) {
        /* Closes when the new program begins. */
        if (fcntl(alive[1], F_SETFD, FD_CLOEXEC) != 0) _exit(7);
        close(alive[0]);
        send_and_exec(program, here, 'A');
    }
    close(alive[1]);
    bcl_event event = next_of(port, BCL_EVENT_MESSAGE);
    CHECK(bcl_release(port, &event) == 0);
    CHECK(read(alive[0], &byte, 1) == 0);
    close(alive[0]);
    wait_us(delay_us);
    memset(into, 0, LEN);
    CHECK(bcl_post(port, CHANNEL, into, LEN, 5) == 0);
    /* The peer's end comes in any case, and before it what ends with it. */
    do CHECK(bcl_wait(port, BCL_RECV, &event, 1, 20000) == 1);
    while (event.type != BCL_EVENT_PEER_GONE && event.type != BCL_EVENT_RECEIVED);
    if (event.type == BCL_EVENT_RECEIVED) {
        posted = 0;
        CHECK(event.status == BCL_ERR_PEER_GONE);
        next_of(port, BCL_EVENT_PEER_GONE);
    }
    kill(sender, SIGKILL);
    CHECK(waitpid(sender, &status, 0) == sender && WIFSIGNALED(status));
    /* A message of somebody who stays meets the buffer that was left, or a new one. */
    bcl_port *other = open_port(0);
    if (!posted) CHECK(bcl_post(port, CHANNEL, into, LEN, 5) == 0);
    memset(data, 'B', LEN);
    CHECK(bcl_send(other, here, CHANNEL, data, LEN, 1) == 0);
    bcl_event items[8];
    for (int received = 0; !received;) {
        int count = bcl_poll(port, BCL_ANY, items, 8);
        CHECK(count >= 0);
        for (int i = 0; i < count; i++)
            if (items[i].type == BCL_EVENT_RECEIVED) received = 1, event = items[i];
        if (bcl_poll(other, BCL_ANY, items, 8) < 0) break;
    }
    CHECK(event.status == 0 && event.len == LEN && all_are('B'));
    CHECK(bcl_close(other) == 0 && bcl_close(port) == 0);
}

int main(int argc, char **argv) {
    static const long delays_us[] = {0, 0, 0, 100, 300, 1000, 5000, 100000};
    if (argc > 1) return become_new();
    check_at_most(100);
    for (size_t i = 0; i < sizeof delays_us / sizeof *delays_us; i++) one_round(argv[0], delays_us[i]);
    return check_summary();
}
