/*
 * Memory that is unmapped, and other memory in its place: what is sent is what is there now. So a look-up that was
 * remembered must not outlive what it found.
 */
#include "check.h"
#include <sys/mman.h>

enum { CHANNEL = 1, LEN = 256 << 10 };
static bcl_port *port, *other;
static unsigned char arrived[LEN];

/* Sends LEN bytes that lie there; returns the byte that arrived everywhere, or -1 if they were not alike. */
static int send_from(const void *memory, const bcl_memory *registered) {
    memset(arrived, 0, LEN);
    CHECK(bcl_post(other, CHANNEL, arrived, LEN, 1) == 0);
    if (registered != NULL)
        CHECK(bcl_send_registered(port, address_of(other), CHANNEL, registered, 0, LEN, 2) == 0);
    else
        CHECK(bcl_send(port, address_of(other), CHANNEL, memory, LEN, 2) == 0);
    int received = 0, sent = 0;
    while (!received || !sent) {
        bcl_event event;
        if (bcl_poll(port, BCL_ANY, &event, 1) == 1 && event.type == BCL_EVENT_SENT) {
            CHECK(event.status == 0);
            sent = 1;
        }
        if (bcl_poll(other, BCL_ANY, &event, 1) == 1 && event.type == BCL_EVENT_RECEIVED) {
            CHECK(event.status == 0 && event.len == LEN);
            received = 1;
        }
    }
    for (size_t i = 1; i < LEN; i++)
        if (arrived[i] != arrived[0]) return -1;
    return arrived[0];
}

static void *map_at(void *address, int fill) {
    int fixed = address != NULL ? MAP_FIXED_NOREPLACE : 0;
    void *memory = mmap(address, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    CHECK(memory != MAP_FAILED && (address == NULL || memory == address));
    if (memory == MAP_FAILED) exit(check_summary());
    memset(memory, fill, LEN);
    return memory;
}

static void ordinary_memory(void) {
    void *memory = map_at(NULL, 'a');
    CHECK(send_from(memory, NULL) == 'a');
    CHECK(munmap(memory, LEN) == 0);
    CHECK(map_at(memory, 'b') == memory);
    CHECK(send_from(memory, NULL) == 'b');
    CHECK(munmap(memory, LEN) == 0);
}

/* A DMA buffer is freed and ordinary memory takes its place, and the other way round. */
static void dma_buffers(void) {
    void *dma;
    CHECK(bcl_dma_alloc(LEN, &dma) == 0);
    memset(dma, 'c', LEN);
    CHECK(send_from(dma, NULL) == 'c');
    CHECK(bcl_dma_free(dma) == 0);
    CHECK(map_at(dma, 'd') == dma);
    CHECK(send_from(dma, NULL) == 'd');
    CHECK(munmap(dma, LEN) == 0);
    /* The kernel gives the place to the next mapping of that size; if not, there is nothing to find out. */
    void *again;
    CHECK(bcl_dma_alloc(LEN, &again) == 0);
    memset(again, 'e', LEN);
    CHECK(send_from(again, NULL) == 'e');
    CHECK(bcl_dma_free(again) == 0);
    CHECK(bcl_dma_alloc(LEN, &dma) == 0);
    memset(dma, 'f', LEN);
    CHECK(send_from(dma, NULL) == 'f');
    CHECK(bcl_dma_free(dma) == 0);
}

/* A buffer that is freed while it is used stays until the operation, or the registration, has ended. */
static void freed_while_in_use(void) {
    void *dma;
    bcl_memory *registered;
    CHECK(bcl_dma_alloc(LEN, &dma) == 0);
    memset(dma, 'g', LEN);
    CHECK(bcl_send(port, address_of(other), CHANNEL, dma, LEN, BCL_QUIET) == 0);
    CHECK(bcl_dma_free(dma) == 0);
    CHECK(mmap(dma, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
    CHECK(bcl_post(other, CHANNEL, arrived, LEN, 3) == 0);
    bcl_event event;
    do CHECK(bcl_poll(port, BCL_ANY, &event, 1) == 0);
    while (bcl_poll(other, BCL_ANY, &event, 1) == 0);
    CHECK(event.type == BCL_EVENT_RECEIVED && event.status == 0 && arrived[0] == 'g' && arrived[LEN - 1] == 'g');
    /* The sender learns of the end, and says nothing, because the send was quiet. */
    for (int i = 0; i < 1000; i++) CHECK(bcl_poll(port, BCL_ANY, &event, 1) == 0);
    CHECK(map_at(dma, 'h') == dma && munmap(dma, LEN) == 0);

    CHECK(bcl_dma_alloc(LEN, &dma) == 0);
    memset(dma, 'i', LEN);
    CHECK(bcl_register(dma, LEN, &registered) == 0);
    CHECK(bcl_dma_free(dma) == 0);
    CHECK(send_from(NULL, registered) == 'i');
    CHECK(bcl_deregister(registered) == 0);
    CHECK(map_at(dma, 'j') == dma && munmap(dma, LEN) == 0);
}

static void a_window_keeps_its_buffer(void) {
    void *dma;
    uint64_t word = 0;
    CHECK(bcl_dma_alloc(LEN, &dma) == 0);
    CHECK(bcl_bind(other, 5, (char *)dma + 4096, 4096, BCL_ACCESS_ALL) == 0);
    CHECK(bcl_dma_free(dma) == 0);
    CHECK(bcl_fetch_add(port, address_of(other), 5, 8, 41, 1) == 0);
    CHECK(next_of(port, BCL_EVENT_RMA_DONE).status == 0);
    CHECK(bcl_get(port, address_of(other), 5, 8, &word, sizeof word, 2) == 0);
    CHECK(next_of(port, BCL_EVENT_RMA_DONE).status == 0 && word == 41);
    CHECK(bcl_unbind(other, 5) == 0);
    CHECK(map_at(dma, 'k') == dma && munmap(dma, LEN) == 0);
}

static void registered_memory(void) {
    bcl_memory *registered;
    void *memory = map_at(NULL, 'l');
    CHECK(bcl_register(memory, LEN, &registered) == 0);
    CHECK(send_from(NULL, registered) == 'l');
    memset(memory, 'm', LEN);
    CHECK(send_from(NULL, registered) == 'm');
    CHECK(bcl_deregister(registered) == 0 && munmap(memory, LEN) == 0);
}

int main(void) {
    check_at_most(60);
    for (uint32_t flags = 0; flags <= BCL_ONE_THREAD; flags++) {
        port = open_port(flags);
        other = open_port(flags);
        CHECK(bcl_send(port, address_of(other), 0, "", 0, 1) == 0 && next_of(port, BCL_EVENT_SENT).status == 0);
        bcl_event event = next_of(other, BCL_EVENT_MESSAGE);
        CHECK(bcl_release(other, &event) == 0);
        for (int turn = 0; turn < 3; turn++) {
            ordinary_memory();
            dma_buffers();
            freed_while_in_use();
            a_window_keeps_its_buffer();
            registered_memory();
        }
        CHECK(bcl_close(port) == 0 && bcl_close(other) == 0);
    }
    return check_summary();
}
