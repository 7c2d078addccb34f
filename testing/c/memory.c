/*
 * Memory that the kernel reads for nobody but its owner, and memory that is not there: where the kernel copies, a long message
 * from it, or into it, arrives whole or ends on both sides with BCL_ERR_FAULT. Nobody dies, and the ports go on.
 */
#include "check.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { CHANNEL = 1, LEN = 3 << 20 };
static bcl_port *port, *other;

static unsigned char *map(int fd) {
    int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, kind, fd, 0);
    CHECK(memory != MAP_FAILED);
    if (memory == MAP_FAILED) exit(check_summary());
    return memory;
}

/* Of which the last page is not there. */
static unsigned char *map_with_a_hole(void) {
    unsigned char *memory = map(-1);
    CHECK(munmap(memory + LEN - 4096, 4096) == 0);
    return memory;
}

/* A file that was as long when it was mapped. */
static unsigned char *map_of_a_truncated_file(void) {
    int fd = memfd_create("file", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, LEN) == 0);
    unsigned char *memory = map(fd);
    CHECK(ftruncate(fd, LEN / 2) == 0 && close(fd) == 0);
    return memory;
}

/* NULL where there is no such memory (CONFIG_SECRETMEM, RLIMIT_MEMLOCK). */
static unsigned char *map_secret(void) {
    int fd = (int)syscall(SYS_memfd_secret, 0);
    if (fd < 0) return NULL;
    void *memory = MAP_FAILED;
    if (ftruncate(fd, LEN) == 0) memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Sends `len` bytes from one place to another, both of which are as wished. */
static void expect(int status, const void *from, void *to, size_t len) {
    CHECK(bcl_post(other, CHANNEL, to, len, 1) == 0);
    CHECK(bcl_send(port, address_of(other), CHANNEL, from, len, 2) == 0);
    int received = 0, sent = 0;
    while (!received || !sent) {
        bcl_event event;
        if (bcl_poll(port, BCL_ANY, &event, 1) == 1 && event.type == BCL_EVENT_SENT) {
            CHECK(event.status == status);
            sent = 1;
        }
        if (bcl_poll(other, BCL_ANY, &event, 1) == 1 && event.type == BCL_EVENT_RECEIVED) {
            CHECK(event.status == status);
            received = 1;
        }
    }
    if (status == 0) CHECK(memcmp(from, to, len) == 0);
}

int main(void) {
    check_at_most(100);
    setenv("BCL_COPY", "single", 1);
    port = open_port(0);
    other = open_port(0);
    unsigned char *from = map(-1), *to = map(-1);
    for (size_t i = 0; i < LEN; i++) from[i] = (unsigned char)(i * 7 + i / 4096);
    expect(0, from, to, LEN);

    expect(BCL_ERR_FAULT, map_with_a_hole(), to, LEN);
    expect(BCL_ERR_FAULT, map_of_a_truncated_file(), to, LEN);
    expect(BCL_ERR_FAULT, (void *)4096, to, 100000);
    expect(BCL_ERR_FAULT, from, map_with_a_hole(), LEN);
    expect(BCL_ERR_FAULT, from, map_of_a_truncated_file(), LEN);
    expect(BCL_ERR_FAULT, from, (void *)4096, 100000);
    memset(to, 0, LEN);
    expect(0, from, to, LEN);

    unsigned char *secret = map_secret();
    if (secret == NULL) {
        printf("there is no memfd_secret here: %s\n", strerror(errno));
    } else {
        memcpy(secret, from, LEN);
        memset(to, 0, LEN);
        expect(0, secret, to, LEN);
        memset(secret, 0, LEN);
        expect(0, from, secret, LEN);
        CHECK(munmap(secret + LEN - 4096, 4096) == 0);
        expect(BCL_ERR_FAULT, secret, to, LEN);
    }
    memset(to, 0, LEN);
    expect(0, from, to, LEN);
    CHECK(bcl_close(port) == 0 && bcl_close(other) == 0);
    return check_summary();
}
