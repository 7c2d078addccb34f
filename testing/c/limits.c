/* No file descriptors, no memory, no large files: an error each that says so, and everything works again afterwards. */
#include "check.h"
#include <fcntl.h>
#include <sys/resource.h>

static struct rlimit limited(int resource, rlim_t to) {
    struct rlimit before, now;
    getrlimit(resource, &before);
    now = before;
    now.rlim_cur = to;
    CHECK(setrlimit(resource, &now) == 0);
    return before;
}

static rlim_t mapped_bytes(void) {
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) CHECK(!"statm");
    if (statm != NULL) fclose(statm);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* How opening fails with room for so many descriptors: every step of it comes to be the one that fails. */
static void no_descriptors(void) {
    for (rlim_t room = 0; room < 40; room++) {
        int lowest = dup(0);
        close(lowest);
        struct rlimit before = limited(RLIMIT_NOFILE, (rlim_t)lowest + room);
        bcl_port *port;
        int result = bcl_open(NULL, &port);
        int dma = -1;
        void *memory;
        if (result == 0) {
            dma = bcl_dma_alloc(100, &memory);
            CHECK(dma == 0 || dma == BCL_ERR_NO_DESCRIPTORS);
        } else {
            CHECK(result == BCL_ERR_NO_DESCRIPTORS && port == NULL);
        }
        setrlimit(RLIMIT_NOFILE, &before);
        if (dma == 0) CHECK(bcl_dma_free(memory) == 0);
        if (result == 0) CHECK(bcl_close(port) == 0);
        int after = dup(0);
        close(after);
        CHECK(after == lowest);
        if (dma == 0) return;
    }
    CHECK(!"a port opens with 40 descriptors");
}

/* A first message for whose connection there is room for so many descriptors only: it comes through or fails for want of
   them, whichever step of either side is the one that fails, and the next one, with descriptors, comes through. */
static void no_descriptors_for_a_connection(void) {
    bcl_event sent;
    rlim_t room = 0;
    do {
        bcl_port *port = open_port(0), *other = open_port(0);
        int lowest = dup(0);
        close(lowest);
        struct rlimit before = limited(RLIMIT_NOFILE, (rlim_t)lowest + room);
        CHECK(bcl_send(port, address_of(other), 0, "x", 1, 1) == 0);
        sent = next_of(port, BCL_EVENT_SENT);
        setrlimit(RLIMIT_NOFILE, &before);
        if (sent.status != BCL_OK) {
            CHECK(sent.status == BCL_ERR_NO_DESCRIPTORS);
            CHECK(bcl_send(port, address_of(other), 0, "x", 1, 2) == 0);
            CHECK(next_of(port, BCL_EVENT_SENT).status == BCL_OK);
        }
        bcl_event event = next_of(other, BCL_EVENT_MESSAGE);
        CHECK(bcl_release(other, &event) == 0);
        CHECK(bcl_close(port) == 0 && bcl_close(other) == 0);
    } while (sent.status != BCL_OK && ++room < 30);
    CHECK(sent.status == BCL_OK && room > 0);
}

static void no_memory(void) {
    void *memory;
    bcl_port *port;
    struct rlimit before = limited(RLIMIT_AS, mapped_bytes() + (1 << 20));
    CHECK(bcl_dma_alloc(4 << 20, &memory) == BCL_ERR_NO_MEMORY);
    CHECK(bcl_open(NULL, &port) == BCL_ERR_NO_MEMORY);
    setrlimit(RLIMIT_AS, &before);
    CHECK(bcl_open(NULL, &port) == 0);
    CHECK(bcl_dma_alloc(4 << 20, &memory) == 0);
    CHECK(bcl_dma_free(memory) == 0);
    CHECK(bcl_close(port) == 0);
}

static void no_memory_for_a_connection(void) {
    bcl_port *port = open_port(0), *other = open_port(0);
    struct rlimit before = limited(RLIMIT_AS, mapped_bytes());
    CHECK(bcl_send(port, address_of(other), 0, "x", 1, 1) == 0);
    CHECK(next_of(port, BCL_EVENT_SENT).status == BCL_ERR_NO_MEMORY);
    setrlimit(RLIMIT_AS, &before);
    CHECK(bcl_send(port, address_of(other), 0, "x", 1, 2) == 0);
    CHECK(next_of(port, BCL_EVENT_SENT).status == BCL_OK);
    CHECK(bcl_close(port) == 0 && bcl_close(other) == 0);
}

/* What is a file to the kernel only: its limit is an error that says so, and no signal. */
static void no_file_size(void) {
    void *memory;
    bcl_port *port, *other = open_port(0), *third = open_port(0);
    struct rlimit before = limited(RLIMIT_FSIZE, 1 << 16);
    REFUSED(BCL_ERR_NO_MEMORY, bcl_dma_alloc(1 << 20, &memory));
    CHECK(strstr(bcl_last_error(), "ulimit -f") != NULL);
    CHECK(bcl_send(other, address_of(third), 0, "x", 1, 1) == 0);
    CHECK(next_of(other, BCL_EVENT_SENT).status == BCL_ERR_NO_MEMORY);
    limited(RLIMIT_FSIZE, 0);
    REFUSED(BCL_ERR_NO_MEMORY, bcl_open(NULL, &port));
    CHECK(strstr(bcl_last_error(), "ulimit -f") != NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(bcl_dma_alloc(1 << 20, &memory) == 0 && bcl_dma_free(memory) == 0);
    CHECK(bcl_send(other, address_of(third), 0, "x", 1, 2) == 0);
    CHECK(next_of(other, BCL_EVENT_SENT).status == BCL_OK);
    CHECK(bcl_close(other) == 0 && bcl_close(third) == 0);
}

int main(void) {
    check_at_most(60);
    /* Before any port has left the stack of its thread behind for the next one. */
    no_memory();
    no_descriptors();
    no_descriptors_for_a_connection();
    no_memory_for_a_connection();
    no_file_size();
    return check_summary();
}
