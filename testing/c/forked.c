/*
 * Children, however they are made: they cannot use their parent's port, are told so, and open ones of their own. They keep
 * none of the library's descriptors, and with them no number, no name and no lock. The parent does not notice.
 */
#include "check.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

typedef pid_t make_child(void);

/* Descriptors of this process, without the one that looks. */
static int descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int count = -3; /* it, . and .. */
    if (!folder) return -1;
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static void reap(pid_t child) {
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void end_child(void) {
    fflush(stdout);
    _exit(checks_failed);
}

static pid_t sleeping_child(make_child *make) {
    pid_t child = make();
    if (child == 0) {
        sleep(60);
        _exit(0);
    }
    return child;
}

static void kill_child(pid_t child) {
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

static void all_is_refused(bcl_port *inherited, bcl_address parent) {
    bcl_event event;
    char buffer[8];
    REFUSED(BCL_ERR_FORKED, bcl_send(inherited, parent, 0, "x", 1, 0));
    REFUSED(BCL_ERR_FORKED, bcl_send(inherited, parent, 1, "x", 1, 0));
    REFUSED(BCL_ERR_FORKED, bcl_send_unreliable(inherited, parent, "x", 1));
    REFUSED(BCL_ERR_FORKED, bcl_post(inherited, 1, buffer, sizeof buffer, 0));
    REFUSED(BCL_ERR_FORKED, bcl_put(inherited, parent, 1, 0, "x", 1, 0));
    REFUSED(BCL_ERR_FORKED, bcl_poll(inherited, BCL_ANY, &event, 1));
    REFUSED(BCL_ERR_FORKED, bcl_wait(inherited, BCL_ANY, &event, 1, -1));
    REFUSED(BCL_ERR_FORKED, bcl_close(inherited));
}

/* A port that is used before, during and after the life of a child. */
static void a_child_is_refused(make_child *make, uint32_t flags, int opens_its_own) {
    bcl_port *port = open_port(flags), *peer = open_port(0);
    bcl_address here = address_of(port), there = address_of(peer);
    CHECK(bcl_send(port, there, 0, "before", 6, 1) == 0 && next_of(port, BCL_EVENT_SENT).status == 0);
    bcl_event event = next_of(peer, BCL_EVENT_MESSAGE);
    CHECK(bcl_release(peer, &event) == 0);
    pid_t child = make();
    if (child == 0) {
        check_at_most(30);
        all_is_refused(port, here);
        if (opens_its_own) {
            bcl_port *own = open_port(0);
            CHECK(bcl_send(own, here, 0, "child", 5, 1) == 0 && next_of(own, BCL_EVENT_SENT).status == 0);
            CHECK(bcl_close(own) == 0);
        }
        end_child();
    }
    if (opens_its_own) {
        event = next_of(port, BCL_EVENT_MESSAGE);
        CHECK(event.len == 5 && bcl_release(port, &event) == 0);
        CHECK(next_of(port, BCL_EVENT_PEER_GONE).cause == BCL_CAUSE_CLOSED);
    }
    reap(child);
    for (int i = 0; i < 5; i++)
        CHECK(bcl_send(port, there, 0, "after", 5, 2) == 0 && next_of(port, BCL_EVENT_SENT).status == 0);
    for (int i = 0; i < 5; i++) {
        event = next_of(peer, BCL_EVENT_MESSAGE);
        CHECK(event.len == 5 && memcmp(event.data, "after", 5) == 0 && bcl_release(peer, &event) == 0);
    }
    CHECK(bcl_close(peer) == 0 && bcl_close(port) == 0);
}

static volatile int opening = 1;

static void *open_and_close(void *unused) {
    bcl_port *port;
    while (opening) {
        int status = bcl_open(NULL, &port);
        if (status != 0) return (void *)"a port could not be opened";
        if (bcl_close(port) != 0) return (void *)"a port could not be closed";
    }
    return unused;
}

/* Children that live, forked while another thread is anywhere in bcl_open and bcl_close. */
static void children_keep_nothing(void) {
    enum { CHILDREN = 100 };
    pid_t children[CHILDREN], opener;
    int go[2], own = descriptors() + 2, status;
    pthread_t thread;
    void *trouble;
    CHECK(pipe(go) == 0);
    CHECK(pthread_create(&thread, NULL, open_and_close, NULL) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            char byte;
            CHECK(descriptors() == own);
            close(go[1]);
            if (read(go[0], &byte, 1) != 0) _exit(1);
            end_child();
        }
        usleep(500);
    }
    /* Locks that the parent's other thread held are not the child's. */
    for (int i = 0; i < 20; i++) {
        opener = fork();
        if (opener == 0) {
            check_at_most(30);
            CHECK(bcl_close(open_port(0)) == 0);
            end_child();
        }
        reap(opener);
    }
    opening = 0;
    CHECK(pthread_join(thread, &trouble) == 0 && trouble == NULL);
    CHECK(bcl_close(open_port(0)) == 0);
    close(go[1]);
    for (int i = 0; i < CHILDREN; i++) CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    close(go[0]);
}

/* Over UDP the number is a socket's: it is free again although a child of its owner lives [SEM-1.3]. */
static void a_number_is_free_again(void) {
    bcl_options options = BCL_OPTIONS_INIT;
    bcl_port *port = NULL;
    int up[2];
    char byte;
    options.number = 2000;
    CHECK(setenv("BCL_JOB_KEY", "00112233445566778899aabbccddeeff", 1) == 0 && setenv("BCL_NODE", "127.0.0.2", 1) == 0);
    CHECK(bcl_open(&options, &port) == 0);
    pid_t child = sleeping_child(fork);
    CHECK(bcl_close(port) == 0 && bcl_open(&options, &port) == 0 && bcl_close(port) == 0);
    kill_child(child);
    /* Its owner is killed and its child lives, as long as it holds this pipe. */
    CHECK(pipe(up) == 0);
    pid_t owner = fork();
    if (owner == 0) {
        if (bcl_open(&options, &port) != 0) _exit(1);
        if (sleeping_child(fork) < 0 || write(up[1], "x", 1) != 1) _exit(1);
        sleep(60);
    }
    CHECK(read(up[0], &byte, 1) == 1);
    kill_child(owner);
    CHECK(bcl_open(&options, &port) == 0 && bcl_close(port) == 0);
    CHECK(unsetenv("BCL_JOB_KEY") == 0 && unsetenv("BCL_NODE") == 0);
    close(up[0]);
    close(up[1]);
}

/* A DMA buffer stays its owner's. */
static void a_buffer_is_its_owners(void) {
    char *memory = NULL;
    CHECK(bcl_dma_alloc(4096, (void **)&memory) == 0);
    memory[0] = 1;
    pid_t child = fork();
    if (child == 0) {
        CHECK(memory[0] == 1);
        REFUSED(BCL_ERR_INVALID, bcl_dma_free(memory));
        memory[0] = 2;
        end_child();
    }
    reap(child);
    CHECK(memory[0] == 2 && bcl_dma_free(memory) == 0);
}

int main(void) {
    signal(SIGCHLD, SIG_DFL);
    check_at_most(100);
    for (uint32_t flags = 0; flags <= BCL_ONE_THREAD; flags++) {
        a_child_is_refused(fork, flags, 1);
        a_child_is_refused(_Fork, flags, 0);
    }
    children_keep_nothing();
    a_number_is_free_again();
    a_buffer_is_its_owners();
    return check_summary();
}
