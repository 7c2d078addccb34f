/* A wait that finds its event before it would sleep makes no system call but those that give the core away. */
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { ROUNDS = 2000 };
static bcl_address here, there;
static volatile int trapped;

static void on_trap(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    trapped++;
}

/* Counts the calls of this thread that wake or wait for other threads. */
static void trap_futex(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSYS, &action, NULL) == 0);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static void *answer(void *argument) {
    bcl_port *port = argument;
    bcl_event event;
    for (int i = 0; i < ROUNDS; i++) {
        do {
            if (bcl_wait(port, BCL_ANY, &event, 1, 20000) != 1) return NULL;
        } while (event.type != BCL_EVENT_MESSAGE);
        bcl_release(port, &event);
        bcl_send(port, here, BCL_SYSTEM_CHANNEL, "x", 1, BCL_QUIET);
    }
    return NULL;
}

static void *ask(void *argument) {
    bcl_port *port = argument;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(bcl_send(port, there, BCL_SYSTEM_CHANNEL, "x", 1, BCL_QUIET) == 0);
        bcl_event event = next_of(port, BCL_EVENT_MESSAGE);
        CHECK(bcl_release(port, &event) == 0);
        if (i == ROUNDS / 2) trap_futex();
    }
    CHECK(trapped == 0);
    return NULL;
}

int main(void) {
    pthread_t asker, answerer;
    check_at_most(60);
    bcl_port *port = open_port(0), *other = open_port(0);
    here = address_of(port), there = address_of(other);
    CHECK(pthread_create(&answerer, NULL, answer, other) == 0);
    CHECK(pthread_create(&asker, NULL, ask, port) == 0);
    pthread_join(asker, NULL);
    pthread_join(answerer, NULL);
    CHECK(bcl_close(port) == 0 && bcl_close(other) == 0);
    return check_summary();
}
