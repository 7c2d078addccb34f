/* 32 threads on one port: nothing lost, nothing twice; and a port that closes under threads that wait. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 32, MESSAGES = 500, CHANNEL = 1 };
static bcl_port *port;
static bcl_address self;
static unsigned char seen_sent[THREADS * MESSAGES], seen_message[THREADS * MESSAGES];
static unsigned sent, messages, complaints;

static void complain(int holds) {
    if (!holds) __atomic_add_fetch(&complaints, 1, __ATOMIC_RELAXED);
}

static void take(bcl_event *event) {
    uint32_t number;
    if (event->type == BCL_EVENT_SENT) {
        complain(event->status == 0);
        complain(__atomic_add_fetch(&seen_sent[event->cookie], 1, __ATOMIC_RELAXED) == 1);
        __atomic_add_fetch(&sent, 1, __ATOMIC_RELAXED);
    } else if (event->type == BCL_EVENT_MESSAGE) {
        memcpy(&number, event->data, sizeof number);
        complain(event->len == sizeof number && event->immediate == ~(uint64_t)number);
        complain(__atomic_add_fetch(&seen_message[number], 1, __ATOMIC_RELAXED) == 1);
        complain(bcl_release(port, event) == 0);
        __atomic_add_fetch(&messages, 1, __ATOMIC_RELAXED);
    }
}

static int all_done(void) {
    const unsigned all = THREADS * MESSAGES;
    return __atomic_load_n(&sent, __ATOMIC_RELAXED) == all && __atomic_load_n(&messages, __ATOMIC_RELAXED) == all;
}

static void *talk(void *argument) {
    uint32_t first = *(uint32_t *)argument * MESSAGES;
    bcl_event events[8];
    int count;
    for (uint32_t i = first; i < first + MESSAGES; i++) {
        int result;
        while ((result = bcl_send_immediate(port, self, BCL_SYSTEM_CHANNEL, &i, sizeof i, ~(uint64_t)i, i)) == BCL_ERR_QUEUE_FULL) {
            count = bcl_poll(port, BCL_ANY, events, 8);
            for (int e = 0; e < count; e++) take(&events[e]);
        }
        complain(result == 0);
    }
    while (!all_done()) {
        count = bcl_wait(port, BCL_ANY, events, 8, 20);
        complain(count >= 0);
        for (int e = 0; e < count; e++) take(&events[e]);
    }
    return NULL;
}

static void *wait_for_ever(void *argument) {
    bcl_event event;
    (void)argument;
    int result;
    /* The connection with itself is news; after that nothing comes but the end. */
    while ((result = bcl_wait(port, BCL_ANY, &event, 1, -1)) == 1) continue;
    complain(result == BCL_ERR_CLOSED && strstr(bcl_last_error(), "closed") != NULL);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS];
    check_at_most(100);
    port = open_port(0);
    self = address_of(port);
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, talk, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(sent == THREADS * MESSAGES && messages == THREADS * MESSAGES);

    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, wait_for_ever, NULL) == 0);
    usleep(200000);
    CHECK(bcl_close(port) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(complaints == 0);
    return check_summary();
}
