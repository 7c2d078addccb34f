/* Checks that count. Each program prints its failures and, last, "passed N failed M" for run.sh. */
#ifndef CHECK_H
#define CHECK_H

#include <bcl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int checks_passed, checks_failed;

/* The checks are counted by one thread at a time. */
static inline void check_that(int holds, const char *what, const char *file, int line) {
    if (holds) {
        checks_passed++;
    } else {
        checks_failed++;
        printf("%s:%d: %s; last error: %s\n", file, line, what, bcl_last_error());
    }
}

#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

/* A call fails with this code, says why, and starts nothing. */
#define REFUSED(code, call) check_that((call) == (code) && bcl_last_error()[0] != 0, #call " is " #code, __FILE__, __LINE__)

static inline int check_summary(void) {
    printf("passed %d failed %d\n", checks_passed, checks_failed);
    return checks_failed != 0;
}

/* A watchdog instead of a hang. */
static inline void check_at_most(unsigned seconds) {
    alarm(seconds);
}

static inline bcl_port *open_port(uint32_t flags) {
    bcl_options options = BCL_OPTIONS_INIT;
    bcl_port *port = NULL;
    options.flags = flags;
    if (bcl_open(&options, &port) != 0) {
        printf("cannot open a port: %s\npassed %d failed %d\n", bcl_last_error(), checks_passed, checks_failed + 1);
        exit(1);
    }
    return port;
}

static inline bcl_address address_of(bcl_port *port) {
    bcl_address address = {0, 0, 0};
    CHECK(bcl_port_address(port, &address) == 0);
    return address;
}

/* The next event of that type; others are released and dropped. */
static inline bcl_event next_of(bcl_port *port, uint32_t type) {
    bcl_event event;
    do {
        memset(&event, 0, sizeof event);
        if (bcl_wait(port, BCL_ANY, &event, 1, 20000) != 1) {
            printf("no event of type %u in 20 s: %s\n", type, bcl_last_error());
            checks_failed++;
            exit(check_summary());
        }
        if (event.type != type && event.type == BCL_EVENT_MESSAGE) bcl_release(port, &event);
    } while (event.type != type);
    return event;
}

#endif
