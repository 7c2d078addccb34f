/*
 * The least launcher: ./launch N PROGRAM... starts N processes with rank, size and the exchange of blobs, and ends
 * with the worst of their exit statuses. It knows the protocol only from the text in crates/face/bcl/src/job.rs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64, BLOB = 65536 };

static int read_all(int fd, void *to, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t got = read(fd, (char *)to + done, len - done);
        if (got <= 0) return 0;
        done += (size_t)got;
    }
    return 1;
}

static void start(int number, int size, int fd, char **program) {
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    setenv("BCL_RANK", text, 1);
    snprintf(text, sizeof text, "%d", size);
    setenv("BCL_SIZE", text, 1);
    snprintf(text, sizeof text, "%d", fd);
    setenv("BCL_LAUNCH_FD", text, 1);
    execv(program[0], program);
    perror(program[0]);
    _exit(127);
}

/* Skips a request, which no launcher has to know, and answers "not supported". */
static int refuse(int fd) {
    static const unsigned char not_supported[4] = {1};
    unsigned char skipped[4096];
    uint32_t len;
    if (!read_all(fd, &len, 4)) return 0;
    for (uint32_t part; len > 0; len -= part) {
        part = len < sizeof skipped ? len : sizeof skipped;
        if (!read_all(fd, skipped, part)) return 0;
    }
    return write(fd, not_supported, 4) == 4;
}

/* A blob, or false when the process has ended instead. */
static int blob(int fd, uint32_t *len, unsigned char *bytes) {
    do {
        if (!read_all(fd, len, 4)) return 0;
    } while (*len >= 0x80000000 && refuse(fd));
    return *len <= BLOB && read_all(fd, bytes, *len);
}

/* One exchange: false when a process has ended instead. */
static int exchange(const int *fds, int size) {
    static unsigned char blobs[MOST][4 + BLOB];
    uint32_t lens[MOST];
    for (int i = 0; i < size; i++)
        if (!blob(fds[i], &lens[i], blobs[i])) return 0;
    for (int to = 0; to < size; to++)
        for (int from = 0; from < size; from++)
            if (write(fds[to], &lens[from], 4) != 4 || write(fds[to], blobs[from], lens[from]) != (ssize_t)lens[from])
                return 0;
    return 1;
}

int main(int argc, char **argv) {
    int fds[MOST], pair[2], size = argc > 2 ? atoi(argv[1]) : 0, worst = 0, status;
    if (size < 1 || size > MOST) return 2;
    for (int i = 0; i < size; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 1;
        fds[i] = pair[0];
        if (fork() == 0) start(i, size, dup(pair[1]), argv + 2);
        close(pair[1]);
    }
    while (exchange(fds, size)) continue;
    while (wait(&status) > 0)
        if (status != 0) worst = 1;
    return worst;
}
