/*
 * Every system call that the library makes is refused, one after the other, as a sandbox does (seccomp): what two
 * processes do then succeeds all the same, or ends with an error whose text names the call. Nothing hangs, crashes, burns a
 * core, or sleeps much longer than it should. [SEM-9.4]
 *
 * Which calls the library makes is found out first, by a filter that tells this process of each and lets it pass.
 */
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

enum { CALLS_MAX = 512, LONG = 300000, PLAIN = 3, DMA = 4, PATIENCE_MS = 4000, WATCHDOG_S = 20, CPU_MAX_S = 3, NAP_MS = 40 };

/* A call, by the words of which at least one is in the text of the error that names it, separated by '|'. */
typedef struct call {
    long number;
    const char *names;
    /* Why it is not refused, if so. */
    const char *spared;
} call;

#define MEMORY "memory of the C library: malloc and the stacks of threads"
#define THREADS "the C library's locks and threads"
#define OURS "the test's own"

#define CALL(name) {SYS_##name, #name, NULL}
#define SPARED(name, why) {SYS_##name, #name, why}

static const call KNOWN[] = {
    SPARED(mmap, MEMORY), SPARED(munmap, MEMORY), SPARED(mprotect, MEMORY), SPARED(madvise, MEMORY), SPARED(brk, MEMORY),
    SPARED(mremap, MEMORY),
    SPARED(futex, THREADS), SPARED(rt_sigprocmask, THREADS), SPARED(exit, THREADS), SPARED(set_robust_list, THREADS),
    SPARED(rseq, THREADS), SPARED(sigaltstack, THREADS), SPARED(sched_getaffinity, THREADS), SPARED(prctl, THREADS),
    SPARED(gettid, THREADS), SPARED(restart_syscall, THREADS),
    SPARED(close, "what cannot be closed is not given back, whatever the library does"),
    SPARED(getpid, "cannot fail"), SPARED(geteuid, "cannot fail"),
    SPARED(exit_group, OURS), SPARED(clock_nanosleep, OURS),
    {SYS_clone3, "clone|thread", NULL}, {SYS_clone, "clone|thread", NULL},
#ifdef SYS_open /* newer architectures have only the calls that end in "at", and the like */
    CALL(open), CALL(readlink), CALL(mkdir), CALL(unlink), CALL(chmod), CALL(rename), CALL(access), CALL(poll),
    CALL(epoll_wait), {SYS_stat, "stat", NULL}, {SYS_lstat, "stat", NULL},
#endif
    CALL(read), CALL(write), CALL(openat), CALL(lseek), CALL(readlinkat), CALL(fstat), {SYS_newfstatat, "stat", NULL},
    {SYS_statx, "stat", NULL}, CALL(fstatfs), CALL(statfs), CALL(getdents64), CALL(mkdirat), CALL(unlinkat), CALL(fchmod),
    CALL(fchmodat), CALL(renameat), CALL(flock), CALL(fcntl), CALL(dup), CALL(pread64), CALL(ioctl), CALL(faccessat),
    CALL(ppoll), CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), {SYS_eventfd2, "eventfd", NULL},
    {SYS_pipe2, "pipe", NULL}, CALL(memfd_create), CALL(ftruncate), CALL(fallocate), CALL(getrandom), CALL(membarrier),
    CALL(pwritev2), CALL(process_vm_readv), CALL(pidfd_open), CALL(pidfd_send_signal), CALL(sched_yield), CALL(kill),
    CALL(socket), CALL(connect), CALL(bind), CALL(listen), {SYS_accept4, "accept", NULL}, CALL(sendmsg), CALL(recvmsg),
    CALL(sendto), CALL(recvfrom), CALL(sendmmsg), CALL(recvmmsg), CALL(setsockopt), CALL(getsockopt), CALL(getsockname),
    CALL(getpeername), CALL(shutdown), CALL(clock_gettime), CALL(rt_sigtimedwait), CALL(rt_sigaction), CALL(prlimit64),
    CALL(uname), CALL(sysinfo), CALL(umask),
};

static const call *known(long number) {
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (KNOWN[i].number == number) return &KNOWN[i];
    return NULL;
}

/* What the two processes and this one share; no system call is needed for it. */
typedef struct side {
    volatile int done;
    int code;
    char text[600];
} side;

typedef struct meeting {
    volatile int is_open;
    bcl_address server;
    volatile int client_done;
    side sides[2];
} meeting;

static meeting *shared;

static void nap(long ms) {
    struct timespec time = {0, 0};
    time.tv_nsec = ms * 1000000;
    nanosleep(&time, NULL);
}

static int filter_flags(unsigned flags, struct sock_filter *filter, unsigned short len) {
    struct sock_fprog program;
    program.len = len;
    program.filter = filter;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int refuse(long number, int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return filter_flags(0, filter, sizeof filter / sizeof *filter);
}

/* Ends this process with how it fared. */
static void end(side *me, int code, const char *what, const char *why) {
    me->code = code;
    snprintf(me->text, sizeof me->text, "%s: %s", what, why);
    me->done = 1;
    _exit(0);
}

static void must(side *me, const char *what, int result) {
    if (result < 0) end(me, result, what, bcl_last_error());
}

/* The next event of that type, asleep until it comes. */
static bcl_event await(side *me, bcl_port *port, uint32_t type, const char *what) {
    bcl_event event;
    char text[500];
    for (;;) {
        int count = bcl_wait(port, BCL_ANY, &event, 1, PATIENCE_MS);
        must(me, what, count);
        if (count == 0) end(me, 1, what, "nothing comes");
        if (event.status != 0 || event.type == BCL_EVENT_PEER_GONE) {
            bcl_event_text(&event, text, sizeof text);
            end(me, event.status ? event.status : 2, what, text);
        }
        if (event.type == type) return event;
        if (event.type == BCL_EVENT_MESSAGE) must(me, "release", bcl_release(port, &event));
    }
}

static void serve(side *me) {
    static char buffer[LONG], plain[4096];
    bcl_port *port;
    void *dma;
    must(me, "open", bcl_open(NULL, &port));
    must(me, "address", bcl_port_address(port, &shared->server));
    must(me, "dma_alloc", bcl_dma_alloc(4096, &dma));
    must(me, "bind", bcl_bind(port, PLAIN, plain, sizeof plain, BCL_ACCESS_ALL));
    must(me, "bind", bcl_bind(port, DMA, dma, 4096, BCL_ACCESS_ALL));
    must(me, "post", bcl_post(port, 1, buffer, sizeof buffer, 1));
    shared->is_open = 1;
    bcl_event event = await(me, port, BCL_EVENT_MESSAGE, "a request");
    nap(NAP_MS); /* so that the client sleeps */
    must(me, "answer", bcl_send(port, event.peer, BCL_SYSTEM_CHANNEL, "b", 1, BCL_QUIET));
    must(me, "release", bcl_release(port, &event));
    event = await(me, port, BCL_EVENT_RECEIVED, "the long message");
    for (int i = 0; i < PATIENCE_MS && !shared->client_done; i++) bcl_wait(port, BCL_SEND, &event, 1, 1);
    must(me, "close", bcl_close(port));
    end(me, 0, "well", "done");
}

static void ask(side *me) {
    static char data[LONG];
    bcl_port *port;
    must(me, "open", bcl_open(NULL, &port));
    bcl_address server = shared->server;
    must(me, "send", bcl_send(port, server, BCL_SYSTEM_CHANNEL, "a", 1, BCL_QUIET));
    bcl_event event = await(me, port, BCL_EVENT_MESSAGE, "the answer");
    must(me, "release", bcl_release(port, &event));
    must(me, "send", bcl_send(port, server, 1, data, sizeof data, 2));
    await(me, port, BCL_EVENT_SENT, "the long message");
    for (uint16_t window = PLAIN; window <= DMA; window++) {
        must(me, "put", bcl_put(port, server, window, 8, "12345678", 8, 3));
        await(me, port, BCL_EVENT_RMA_DONE, "put");
        must(me, "get", bcl_get(port, server, window, 8, data, 8, 4));
        await(me, port, BCL_EVENT_RMA_DONE, "get");
        if (memcmp(data, "12345678", 8) != 0) end(me, 3, "get", "wrong data");
        memset(data, 0, 8);
    }
    shared->client_done = 1;
    must(me, "close", bcl_close(port));
    end(me, 0, "well", "done");
}

/* Starts one side, behind a filter; `listener` gets the end of one that only looks. */
static pid_t start(int number, void (*act)(side *), long refused, int error) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (refused >= 0 && refuse(refused, error) != 0) _exit(7);
    act(&shared->sides[number]);
    return 0;
}

static double cpu_s(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* Its end, waited for until the watchdog bites. */
static const char *reap(pid_t pid, double *cpu) {
    struct rusage usage;
    int status;
    *cpu = 0;
    for (int i = 0; i < WATCHDOG_S * 200; i++) {
        if (wait4(pid, &status, WNOHANG, &usage) == pid) {
            *cpu = cpu_s(&usage);
            return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "crashes";
        }
        nap(5);
    }
    kill(pid, SIGKILL);
    wait4(pid, &status, 0, &usage);
    *cpu = cpu_s(&usage);
    return "hangs";
}

static int has_named(const side *me, const call *refused) {
    char names[100], *name, *rest = NULL;
    snprintf(names, sizeof names, "%s", refused->names);
    for (name = strtok_r(names, "|", &rest); name; name = strtok_r(NULL, "|", &rest))
        if (strstr(me->text, name)) return 1;
    return 0;
}

static void meet_without(const call *refused, int error, const char *device) {
    const char *ends[2] = {NULL, NULL};
    double cpu[2] = {0, 0};
    memset(shared, 0, sizeof *shared);
    pid_t server = start(0, serve, refused->number, error);
    for (int i = 0; i < WATCHDOG_S * 200 && !shared->is_open && !shared->sides[0].done; i++) nap(5);
    if (shared->is_open) {
        pid_t client = start(1, ask, refused->number, error);
        ends[1] = reap(client, &cpu[1]);
        if (shared->sides[1].code != 0) shared->client_done = 1;
    }
    ends[0] = reap(server, &cpu[0]);
    side *sides = shared->sides;
    int well = sides[0].done && sides[1].done && sides[0].code == 0 && sides[1].code == 0;
    int named = has_named(&sides[0], refused) || has_named(&sides[1], refused);
    int quiet = cpu[0] < CPU_MAX_S && cpu[1] < CPU_MAX_S;
    if (!ends[0] && !ends[1] && (well || named) && quiet) {
        checks_passed++;
        return;
    }
    checks_failed++;
    printf("%s, without %s (%s): server %s (%d, %s), %.1f s of a core; client %s (%d, %s), %.1f s of a core\n", device,
           refused->names, error == EPERM ? "EPERM" : "ENOSYS", ends[0] ? ends[0] : "ends", sides[0].code, sides[0].text, cpu[0],
           ends[1] ? ends[1] : "ends", sides[1].code, sides[1].text, cpu[1]);
}

/* ---------------------------------------------------------------- which calls there are */

static void pass_listener(int socket, int listener) {
    struct msghdr message;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec one;
    memset(&message, 0, sizeof message);
    memset(&control, 0, sizeof control);
    one.iov_base = "l";
    one.iov_len = 1;
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.head), &listener, sizeof listener);
    if (sendmsg(socket, &message, 0) != 1) _exit(8);
}

static int take_listener(int socket) {
    struct msghdr message;
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec one;
    int listener = -1;
    memset(&message, 0, sizeof message);
    one.iov_base = &byte;
    one.iov_len = 1;
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
        memcpy(&listener, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof listener);
    return listener;
}

/* Starts one side whose calls are told of at the descriptor that comes back. All but the one that passes it on. */
static int start_watched(int number, void (*act)(side *), pid_t *pid) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) exit(1);
    *pid = fork();
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* A number that the filter can tell from the library's. */
        filter[3].k = (unsigned)ends[1];
        int listener = filter_flags(SECCOMP_FILTER_FLAG_NEW_LISTENER, filter, sizeof filter / sizeof *filter);
        if (listener < 0) _exit(7);
        pass_listener(ends[1], listener);
        act(&shared->sides[number]);
    }
    close(ends[1]);
    int listener = take_listener(ends[0]);
    close(ends[0]);
    return listener;
}

static void look(int listener, char made[CALLS_MAX]) {
    struct {
        struct seccomp_notif notif;
        char room[200];
    } told;
    struct {
        struct seccomp_notif_resp resp;
        char room[200];
    } answer;
    memset(&told, 0, sizeof told);
    memset(&answer, 0, sizeof answer);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &told.notif) != 0) return;
    if (told.notif.data.nr >= 0 && told.notif.data.nr < CALLS_MAX) made[told.notif.data.nr] = 1;
    answer.resp.id = told.notif.id;
    answer.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer.resp);
}

static void find_calls(char made[CALLS_MAX]) {
    pid_t pids[2] = {0, 0};
    struct pollfd listeners[2];
    int count = 1, ended = 0, status;
    memset(shared, 0, sizeof *shared);
    listeners[0].fd = start_watched(0, serve, &pids[0]);
    while (ended < 2) {
        for (int i = 0; i < count; i++) listeners[i].events = POLLIN;
        poll(listeners, (nfds_t)count, 10);
        for (int i = 0; i < count; i++)
            if (listeners[i].revents & POLLIN) look(listeners[i].fd, made);
        if (count == 1 && shared->is_open) listeners[count++].fd = start_watched(1, ask, &pids[1]);
        while (waitpid(-1, &status, WNOHANG) > 0) ended++;
        if (count == 1 && ended == 1) break;
    }
    for (int i = 0; i < count; i++) close(listeners[i].fd);
    for (int i = 0; i < 2; i++)
        check_that(shared->sides[i].done && shared->sides[i].code == 0, shared->sides[i].text, __FILE__, __LINE__);
}

static void without_each(const char *device) {
    static char made[CALLS_MAX];
    const char *only = getenv("ONLY");
    int count = 0;
    memset(made, 0, sizeof made);
    setenv("BCL_DEVICE", device, 1);
    find_calls(made);
    for (long number = 0; number < CALLS_MAX; number++) {
        const call *its = known(number);
        if (!made[number]) continue;
        if (its == NULL) printf("%s: the library makes system call %ld, which this test does not know\n", device, number);
        CHECK(its != NULL);
        if (its == NULL || its->spared || (only && strcmp(only, its->names) != 0)) continue;
        count++;
        meet_without(its, EPERM, device);
        meet_without(its, ENOSYS, device);
    }
    CHECK(only || count > 20);
}

int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("BCL_NODE", "127.0.0.1", 1);
    setenv("BCL_DEAD_AFTER_MS", "1000", 1);
    setenv("BCL_JOB_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 1);
    without_each("shm");
    without_each("udp");
    return check_summary();
}
