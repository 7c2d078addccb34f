/*
 * A background thread of the library dies, because the kernel does not let it wait any more: calls say so, a thread that
 * waits wakes and says so, closing returns, and the process can open another port. [SEM-9.3]
 */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>

enum { SETS_MAX = 8 };

/* The sets that background threads wait on, and those that a port's sleepers do. */
static int find_sets(int sets[SETS_MAX]) {
    char path[64], kind[64];
    int count = 0;
    for (int fd = 0; fd < 200 && count < SETS_MAX; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(path, kind, sizeof kind);
        if (len == 22 && memcmp(kind, "anon_inode:[eventpoll]", 22) == 0) sets[count++] = fd;
    }
    return count;
}

static void *wait_for_ever(void *port) {
    bcl_event event;
    static int result;
    while ((result = bcl_wait(port, BCL_ANY, &event, 1, -1)) > 0) continue;
    return strstr(bcl_last_error(), "background thread") != NULL ? &result : NULL;
}

/* The thread behind the n-th set dies. */
static void orphan(int n, int sets_expected, uint32_t flags, int somebody_waits) {
    int sets[SETS_MAX], result, nothing = open("/dev/null", O_RDWR);
    bcl_port *port = open_port(flags), *other;
    bcl_address nobody = address_of(port);
    bcl_event event;
    pthread_t waiter;
    char buffer[8];
    void *ended = NULL;
    CHECK(find_sets(sets) == sets_expected);
    if (somebody_waits) {
        CHECK(pthread_create(&waiter, NULL, wait_for_ever, port) == 0);
        usleep(50000);
    }
    /* Its next wait fails: what it is to wait on is no such set any more. */
    CHECK(dup2(nothing, sets[n]) == sets[n]);
    close(nothing);
    /* First contact is something to do for either thread. */
    nobody.port = 1;
    do result = bcl_send(port, nobody, BCL_SYSTEM_CHANNEL, "x", 1, BCL_QUIET);
    while (result == 0 && usleep(1000) == 0);
    CHECK(result == BCL_ERR_INTERNAL && strstr(bcl_last_error(), "epoll_wait") != NULL);
    if (somebody_waits) {
        CHECK(pthread_join(waiter, &ended) == 0);
        CHECK(ended != NULL && *(int *)ended == BCL_ERR_INTERNAL);
    }
    while ((result = bcl_poll(port, BCL_ANY, &event, 1)) > 0) continue;
    CHECK(result == BCL_ERR_INTERNAL);
    REFUSED(BCL_ERR_INTERNAL, bcl_wait(port, BCL_ANY, &event, 1, -1));
    REFUSED(BCL_ERR_INTERNAL, bcl_post(port, 1, buffer, sizeof buffer, 1));
    REFUSED(BCL_ERR_INTERNAL, bcl_bind(port, 1, buffer, sizeof buffer, BCL_ACCESS_ALL));

    /* Others are served by a new thread, also while the old port is still there. */
    other = open_port(flags);
    CHECK(bcl_send(other, address_of(other), BCL_SYSTEM_CHANNEL, "y", 1, 1) == 0);
    event = next_of(other, BCL_EVENT_MESSAGE);
    CHECK(event.len == 1 && bcl_release(other, &event) == 0);
    CHECK(bcl_close(port) == 0);
    CHECK(bcl_send(other, nobody, BCL_SYSTEM_CHANNEL, "z", 1, 2) == 0);
    while ((event = next_of(other, BCL_EVENT_SENT)).cookie != 2) continue;
    CHECK(event.status == BCL_ERR_NO_PORT || event.status == BCL_ERR_UNREACHABLE);
    CHECK(bcl_close(other) == 0);
    CHECK(find_sets(sets) == 0);
}

static void both_ways(int n, int sets) {
    orphan(n, sets, 0, 1);
    orphan(n, sets, BCL_ONE_THREAD, 0);
}

int main(void) {
    check_at_most(100);
    setenv("BCL_NODE", "127.0.0.1", 1);
    both_ways(0, 1);
    /* With packets there are two threads, and theirs is the first; the port has a set of its own as well, by two descriptors. */
    setenv("BCL_DEVICE", "udp", 1);
    setenv("BCL_JOB_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 1);
    both_ways(0, 4);
    return check_summary();
}
