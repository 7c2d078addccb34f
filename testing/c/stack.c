/*
 * How much of a thread's stack the library uses, in bytes: a stack is filled with a pattern, a thread does all kinds of
 * things on it, and what is left of the pattern tells. bcl.h promises 64 KiB; builds with debug assertions need more.
 */
#include "check.h"
#include <pthread.h>
#include <sys/mman.h>

enum { LEN = 300000, STACK = 1 << 20, LONGEST = 96 << 10, FILL = 0xA5 };
static char from[LEN], to[LEN];

/* Until an event of that type has come to one of two ports of this thread, both of which get on meanwhile. */
static void await(bcl_port *port, bcl_port *other, uint32_t type) {
    for (;;) {
        bcl_event event;
        if (bcl_poll(other, BCL_SEND, &event, 1) < 0) CHECK(!"the other port works");
        if (bcl_poll(port, BCL_ANY, &event, 1) != 1) continue;
        CHECK(event.status == 0);
        if (event.type == BCL_EVENT_MESSAGE) CHECK(bcl_release(port, &event) == 0);
        if (event.type == type) return;
    }
}

static void *work(void *device) {
    setenv("BCL_DEVICE", device, 1);
    bcl_port *port = open_port(0), *other = open_port(0);
    bcl_address peer = address_of(other);
    bcl_event event;
    char text[400];
    CHECK(bcl_bind(other, 0, to, LEN, BCL_ACCESS_ALL) == 0);
    for (int round = 0; round < 5; round++) {
        CHECK(bcl_send(port, peer, BCL_SYSTEM_CHANNEL, from, 1000, 1) == 0);
        await(other, port, BCL_EVENT_MESSAGE);
        CHECK(bcl_post(other, 1, to, LEN, 2) == 0);
        CHECK(bcl_send(port, peer, 1, from, LEN, 3) == 0);
        await(other, port, BCL_EVENT_RECEIVED);
        CHECK(bcl_put(port, peer, 0, 0, from, LEN, 4) == 0);
        await(port, other, BCL_EVENT_RMA_DONE);
        CHECK(bcl_get(port, peer, 0, 0, from, LEN, 5) == 0);
        await(port, other, BCL_EVENT_RMA_DONE);
        CHECK(bcl_wait(port, BCL_ANY, &event, 1, 1) >= 0);
        CHECK(bcl_peer_text(port, peer, text, sizeof text) == 0);
    }
    CHECK(bcl_close(port) == 0 && bcl_close(other) == 0);
    return NULL;
}

static void measure(const char *device) {
    unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    CHECK(stack != MAP_FAILED);
    if (stack == MAP_FAILED) return;
    memset(stack, FILL, STACK);
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, STACK) == 0);
    CHECK(pthread_create(&thread, &attributes, work, (void *)(size_t)device) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    size_t left = 0;
    while (left < STACK && stack[left] == FILL) left++;
    printf("%s: %zu bytes of stack\n", device, STACK - left);
    CHECK(STACK - left < LONGEST);
    CHECK(munmap(stack, STACK) == 0);
}

int main(void) {
    check_at_most(100);
    setenv("BCL_NODE", "127.0.0.1", 1);
    setenv("BCL_JOB_KEY", "00112233445566778899aabbccddeeff", 1);
    measure("shm");
    measure("udp");
    return check_summary();
}
