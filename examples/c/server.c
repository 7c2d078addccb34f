/*
 * A server that has other things to watch besides BCL: it waits for requests and for signals with one epoll.
 *
 *     ./server              prints its address, answers each system message in capitals, ends on SIGINT or SIGTERM
 *     ./client ADDRESS hello
 */
#define _GNU_SOURCE
#include <bcl.h>
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

static void must(int result, const char *why) {
    if (result >= 0) return;
    fprintf(stderr, "server: %s\n", why);
    exit(1);
}

static int signals_to_watch(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void watch(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl failed");
}

static void answer(bcl_port *port, bcl_event *request) {
    char reply[BCL_SYSTEM_MAX];
    for (uint64_t i = 0; i < request->len; i++)
        reply[i] = (char)toupper(((const unsigned char *)request->data)[i]);
    /* The reply is copied before bcl_send returns. A client that is gone does not concern the others. */
    must(bcl_send(port, request->peer, BCL_SYSTEM_CHANNEL, reply, request->len, BCL_QUIET), bcl_last_error());
    must(bcl_release(port, request), bcl_last_error());
}

/* Takes events until there are none: only then does the descriptor become unreadable. */
static void serve(bcl_port *port) {
    bcl_event events[16];
    int count;
    while ((count = bcl_poll(port, BCL_ANY, events, 16)) > 0)
        for (int i = 0; i < count; i++)
            if (events[i].type == BCL_EVENT_MESSAGE) answer(port, &events[i]);
    must(count, bcl_last_error());
}

int main(void) {
    bcl_options options = BCL_OPTIONS_INIT;
    bcl_port *port;
    bcl_address address;
    char text[BCL_ADDRESS_TEXT_LEN];
    int requests;

    options.flags = BCL_ONE_THREAD;
    int signals = signals_to_watch();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    must(epoll, "epoll_create1 failed");
    must(bcl_open(&options, &port), bcl_last_error());
    must(bcl_fd(port, &requests), bcl_last_error());
    watch(epoll, signals);
    watch(epoll, requests);
    must(bcl_port_address(port, &address), bcl_last_error());
    must(bcl_address_format(address, text, sizeof text), bcl_last_error());
    puts(text);
    fflush(stdout);

    for (;;) {
        struct epoll_event ready;
        if (epoll_wait(epoll, &ready, 1, -1) != 1) continue;
        if (ready.data.fd == signals) break;
        serve(port);
    }
    must(bcl_close(port), bcl_last_error());
    puts("bye");
    return 0;
}
