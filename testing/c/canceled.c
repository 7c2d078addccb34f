/*
 * A thread that is to be canceled, and calls BCL all the same: no call is interrupted, none ends the process, and the
 * thread ends at its own next cancellation point. [SEM-8.3]
 *
 * Cancellation is on only inside the calls, so that nothing but a call could act on it; it is pending from the start.
 */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { LONG = 300000, WINDOW = 3, CHANNEL = 7 };

static int off, ignored;

static int switched_back(int result) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &off);
    if (off != PTHREAD_CANCEL_ENABLE) CHECK(!"cancellation is as it was before the call");
    return result;
}

/* A call, with cancellation on. */
#define IN(call) (pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored), switched_back(call))

/* As next_of, one event at a time, by bcl_wait or by bcl_poll alone. */
static bcl_event next_in(bcl_port *port, uint32_t type, int polls) {
    bcl_event event;
    int count;
    do {
        memset(&event, 0, sizeof event);
        while ((count = polls ? IN(bcl_poll(port, BCL_ANY, &event, 1)) : IN(bcl_wait(port, BCL_ANY, &event, 1, 20000))) == 0)
            continue;
        if (count != 1) {
            printf("no event of type %u: %s\n", type, bcl_last_error());
            checks_failed++;
            exit(check_summary());
        }
        if (event.type != type && event.type == BCL_EVENT_MESSAGE) CHECK(IN(bcl_release(port, &event)) == 0);
    } while (event.type != type);
    return event;
}

/* The other process: answers each system message, then has a window and long messages, and does not know of any of this. */
static void serve(int to_parent, int kept) {
    static char buffer[LONG], window[4096];
    bcl_port *port = open_port(0);
    bcl_address self = address_of(port);
    bcl_event event;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(kept);
    if (bcl_bind(port, WINDOW, window, sizeof window, BCL_ACCESS_ALL) != 0) _exit(1);
    for (int i = 0; i < 100; i++) bcl_post(port, CHANNEL, buffer, sizeof buffer, 0);
    if (write(to_parent, &self, sizeof self) != sizeof self) _exit(1);
    for (;;) {
        if (bcl_wait(port, BCL_ANY, &event, 1, -1) < 0) _exit(1);
        if (event.type != BCL_EVENT_MESSAGE) continue;
        bcl_send(port, event.peer, BCL_SYSTEM_CHANNEL, event.data, (size_t)event.len, BCL_QUIET);
        bcl_release(port, &event);
    }
}

static pid_t start_server(bcl_address *address) {
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    pid_t pid = fork();
    if (pid == 0) serve(pipes[1], pipes[0]);
    close(pipes[1]);
    CHECK(read(pipes[0], address, sizeof *address) == sizeof *address);
    close(pipes[0]);
    return pid;
}

/* Everything that can be asked of a port, with a peer that is killed while its messages lie here. */
static void use(uint32_t flags, int polls, pid_t server, bcl_address peer) {
    static char data[LONG];
    bcl_options options = BCL_OPTIONS_INIT;
    bcl_port *port = NULL;
    bcl_address self;
    bcl_memory *memory = NULL;
    bcl_event event;
    void *dma = NULL;
    char text[200];
    size_t len;
    int fd;
    options.flags = flags;
    if (IN(bcl_open(&options, &port)) != 0) {
        printf("cannot open a port: %s\n", bcl_last_error());
        checks_failed++;
        return;
    }
    CHECK(IN(bcl_port_address(port, &self)) == 0);
    CHECK(IN(bcl_dma_alloc(LONG, &dma)) == 0);
    CHECK(IN(bcl_register(dma, LONG, &memory)) == 0);
    CHECK(IN(bcl_bind(port, WINDOW, data, sizeof data, BCL_ACCESS_ALL)) == 0);

    /* First contact, by a system message. */
    CHECK(IN(bcl_send(port, peer, BCL_SYSTEM_CHANNEL, "x", 1, BCL_QUIET)) == 0);
    event = next_in(port, BCL_EVENT_MESSAGE, polls);
    CHECK(event.len == 1 && IN(bcl_release(port, &event)) == 0);
    CHECK(IN(bcl_unreliable_max(port, peer, &len)) == 0);
    CHECK(IN(bcl_send_unreliable(port, peer, "u", 1)) == 0);
    CHECK(IN(bcl_peer_text(port, peer, text, sizeof text)) == 0);
    CHECK(IN(bcl_send(port, peer, CHANNEL, data, sizeof data, 2)) == 0);
    CHECK(next_in(port, BCL_EVENT_SENT, polls).status == 0);
    CHECK(IN(bcl_send_registered(port, peer, CHANNEL, memory, 0, LONG, 3)) == 0);
    CHECK(next_in(port, BCL_EVENT_SENT, polls).status == 0);
    CHECK(IN(bcl_put(port, peer, WINDOW, 0, data, 100, 4)) == 0);
    CHECK(next_in(port, BCL_EVENT_RMA_DONE, polls).status == 0);
    CHECK(IN(bcl_get(port, peer, WINDOW, 0, dma, 100, 5)) == 0);
    CHECK(next_in(port, BCL_EVENT_RMA_DONE, polls).status == 0);
    CHECK(IN(bcl_fetch_add(port, peer, WINDOW, 0, 1, 6)) == 0);
    CHECK(next_in(port, BCL_EVENT_RMA_DONE, polls).status == 0);
    CHECK(IN(bcl_compare_swap(port, peer, WINDOW, 0, 1, 2, 7)) == 0);
    CHECK(next_in(port, BCL_EVENT_RMA_DONE, polls).status == 0);

    /* First contacts that come of other calls, with nobody and with oneself. */
    bcl_address nobody = self;
    nobody.port = 1;
    CHECK(IN(bcl_send(port, nobody, CHANNEL, data, 10, 13)) == 0);
    /* On a busy machine the news that there is nobody may be here first. */
    int cancel_status = IN(bcl_cancel_send(port, nobody, 13));
    CHECK(cancel_status == 0 || cancel_status == BCL_ERR_NOT_FOUND);
    int sent_status = next_in(port, BCL_EVENT_SENT, polls).status;
    CHECK(sent_status == (cancel_status == 0 ? BCL_ERR_CANCELED : BCL_ERR_NO_PORT));
    CHECK(IN(bcl_post(port, CHANNEL, dma, LONG, 8)) == 0);
    CHECK(IN(bcl_send(port, self, CHANNEL, data, 20000, 9)) == 0);
    CHECK(next_in(port, BCL_EVENT_RECEIVED, polls).status == 0);
    CHECK(IN(bcl_post(port, CHANNEL, data, 10, 10)) == 0);
    CHECK(IN(bcl_cancel_post(port, CHANNEL, 10)) == 0);
    CHECK(IN(bcl_fetch_add(port, nobody, WINDOW, 0, 1, 11)) == 0);
    CHECK(next_in(port, BCL_EVENT_RMA_DONE, polls).status != 0);

    /* A wait in vain, asleep; a buffer whose last owner is an operation; a peer that dies; a message that outlives it. */
    while (IN(bcl_wait(port, BCL_ANY, &event, 1, 50)) > 0) continue;
    CHECK(IN(bcl_send(port, peer, CHANNEL, dma, LONG, 12)) == 0);
    CHECK(IN(bcl_deregister(memory)) == 0);
    CHECK(IN(bcl_dma_free(dma)) == 0);
    CHECK(next_in(port, BCL_EVENT_SENT, polls).status == 0);
    CHECK(IN(bcl_send(port, peer, BCL_SYSTEM_CHANNEL, "last", 4, BCL_QUIET)) == 0);
    bcl_event last = next_in(port, BCL_EVENT_MESSAGE, polls);
    kill(server, SIGKILL);
    /* Who waits for something finds out sooner. */
    CHECK(IN(bcl_send(port, peer, BCL_SYSTEM_CHANNEL, "there?", 6, BCL_QUIET)) == 0);
    CHECK(next_in(port, BCL_EVENT_PEER_GONE, polls).cause != BCL_CAUSE_NONE);
    CHECK(IN(bcl_release(port, &last)) == 0);
    CHECK(IN(bcl_fd(port, &fd)) == 0);
    CHECK(IN(bcl_poll(port, BCL_ANY, &event, 1)) >= 0);
    CHECK(IN(bcl_unbind(port, WINDOW)) == 0);
    CHECK(IN(bcl_close(port)) == 0);
}

typedef struct session {
    uint32_t flags;
    int polls, went_on;
    pid_t server;
    bcl_address peer;
    char got[8];
} session;

static void *canceled(void *argument) {
    session *its = argument;
    uint32_t number;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
    pthread_cancel(pthread_self());
    use(its->flags, its->polls, its->server, its->peer);
    CHECK(IN(bcl_job_rank(&number)) == 0 && number == 0);
    CHECK(IN(bcl_job_size(&number)) == 0 && number == 1);
    CHECK(IN(bcl_job_exchange("job", 4, its->got)) == 0);
    its->went_on = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
    pthread_testcancel(); /* its own next one */
    its->went_on = 2;
    return NULL;
}

static void sessions(int count) {
    for (int i = 0; i < count; i++) {
        session its = {0, 0, 0, 0, {0, 0, 0}, ""};
        pthread_t thread;
        void *ended = NULL;
        int status;
        its.flags = i & 1 ? BCL_ONE_THREAD : 0;
        its.polls = (i + 1) & 2;
        its.server = start_server(&its.peer);
        CHECK(pthread_create(&thread, NULL, canceled, &its) == 0);
        CHECK(pthread_join(thread, &ended) == 0);
        CHECK(ended == PTHREAD_CANCELED && its.went_on == 1 && strcmp(its.got, "job") == 0);
        waitpid(its.server, &status, 0);
    }
}

int main(void) {
    check_at_most(100);
    setenv("BCL_DEAD_AFTER_MS", "500", 1);
    sessions(4);
    /* The same by packets, which the tests' own network lets the loopback carry. */
    setenv("BCL_DEVICE", "udp", 1);
    setenv("BCL_NODE", "127.0.0.1", 1);
    setenv("BCL_JOB_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 1);
    sessions(2);
    return check_summary();
}
