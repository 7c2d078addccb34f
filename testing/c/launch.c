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

/* One exchange: false when a process has ended instead. */
static int exchange(const int *fds, int size) {
    static unsigned char blobs[MOST][4 + BLOB];
    uint32_t lens[MOST];
    for (int i = 0; i < size; i++) {
        if (!read_all(fds[i], &lens[i], 4) || lens[i] > BLOB || !read_all(fds[i], blobs[i], lens[i])) return 0;
    }
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
