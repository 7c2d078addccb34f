/*
 * Messages gathered from pieces of memory and scattered to others, however these lie: on every way that a message can
 * take, the bytes arrive in order, and nothing beside the pieces is touched. A piece that is not memory ends the message
 * on both sides, and nobody.
 */
#include "check.h"
#include <sys/mman.h>

enum { CHANNEL = 3, LEN = 600000, GAP = 16, GUARD = 0xa5 };
static bcl_port *port, *other;
static unsigned char sent[LEN], arena_from[LEN + GAP * (BCL_PIECES_MAX + 1)], arena_to[sizeof arena_from];
static uint64_t seed = 1;

static uint32_t below(uint32_t bound) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % bound;
}

/* Lays `len` bytes out in `count` pieces of lengths by chance, with gaps between them. */
static void lay_out(unsigned char *arena, struct iovec *pieces, int count, size_t len) {
    size_t at = GAP, left = len;
    memset(arena, GUARD, sizeof arena_from);
    for (int i = 0; i < count; i++) {
        size_t most = left < 2 * len / (size_t)count ? left : 2 * len / (size_t)count;
        size_t part = i == count - 1 ? left : below(4) == 0 ? 0 : below((uint32_t)most + 1);
        pieces[i].iov_base = arena + at;
        pieces[i].iov_len = part;
        at += part + GAP;
        left -= part;
    }
}

static void copy_into(const struct iovec *pieces, int count, const unsigned char *data) {
    for (int i = 0; i < count; i++) {
        memcpy(pieces[i].iov_base, data, pieces[i].iov_len);
        data += pieces[i].iov_len;
    }
}

/* The first `len` bytes of the pieces are these, and everything else in the arena is as it was. */
static int holds(unsigned char *arena, const struct iovec *pieces, int count, const unsigned char *data, size_t len) {
    for (int i = 0; i < count; i++) {
        size_t part = pieces[i].iov_len < len ? pieces[i].iov_len : len;
        if (memcmp(pieces[i].iov_base, data, part) != 0) return 0;
        memset(pieces[i].iov_base, GUARD, part);
        data += part;
        len -= part;
    }
    for (size_t i = 0; i < sizeof arena_to; i++) {
        if (arena[i] != GUARD) return 0;
    }
    return len == 0;
}

/* Both ends of one message. */
static void finish(int status, size_t len, uint64_t immediate) {
    int is_received = 0, is_sent = 0;
    while (!is_received || !is_sent) {
        bcl_event event;
        if (bcl_poll(port, BCL_ANY, &event, 1) == 1 && event.type == BCL_EVENT_SENT) {
            CHECK(event.status == status && event.cookie == 2 && event.len == len);
            is_sent = 1;
        }
        if (bcl_poll(other, BCL_ANY, &event, 1) == 1 && event.type == BCL_EVENT_RECEIVED) {
            CHECK(event.status == status && event.cookie == 1 && event.len == len && event.immediate == immediate);
            is_received = 1;
        }
    }
}

static void exchange(size_t len, size_t room, int from_count, int to_count, int post_late) {
    struct iovec from[BCL_PIECES_MAX], to[BCL_PIECES_MAX];
    lay_out(arena_from, from, from_count, len);
    lay_out(arena_to, to, to_count, room);
    copy_into(from, from_count, sent);
    uint64_t immediate = below(3);
    bcl_event event;
    if (!post_late) CHECK(bcl_postv(other, CHANNEL, to, to_count, 1) == 0);
    CHECK(bcl_sendv(port, address_of(other), CHANNEL, from, from_count, immediate, 2) == 0);
    /* Nothing comes of the message; the connection, where it is the first one, may come up late. */
    for (int i = 0; post_late && i < 200; i++)
        CHECK(bcl_poll(other, BCL_RECV, &event, 1) == 0 || event.type == BCL_EVENT_PEER_UP);
    if (post_late) CHECK(bcl_postv(other, CHANNEL, to, to_count, 1) == 0);
    /* The tables are the program's again at once. */
    struct iovec to_copy[BCL_PIECES_MAX];
    memcpy(to_copy, to, sizeof to_copy);
    memset(from, 0xff, sizeof from);
    memset(to, 0xff, sizeof to);
    finish(len > room ? BCL_ERR_TRUNCATED : 0, len, immediate);
    CHECK(holds(arena_to, to_copy, to_count, sent, len > room ? 0 : len) || len > room);
}

static void on_all_lengths(void) {
    static const size_t lens[] = {0, 1, 40, 48, 49, 1400, 3000, 8192, 8193, 70000, LEN};
    static const int counts[] = {1, 2, 3, 16, BCL_PIECES_MAX};
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        for (size_t from = 0; from < 5; from++) {
            for (size_t to = 0; to < 5; to++) {
                size_t room = lens[i] + (below(2) ? below((uint32_t)(LEN - lens[i]) + 1) : 0);
                exchange(lens[i], room, counts[from], counts[to], (int)below(2));
            }
        }
        if (lens[i] > 0) exchange(lens[i], lens[i] - 1, 5, 5, (int)below(2));
    }
}

static void on_the_system_channel(void) {
    struct iovec from[7];
    lay_out(arena_from, from, 7, 5000);
    copy_into(from, 7, sent);
    CHECK(bcl_sendv(port, address_of(other), BCL_SYSTEM_CHANNEL, from, 7, 77, BCL_QUIET) == 0);
    bcl_event event = next_of(other, BCL_EVENT_MESSAGE);
    CHECK(event.len == 5000 && event.immediate == 77 && memcmp(event.data, sent, 5000) == 0);
    CHECK(bcl_release(other, &event) == 0);
    lay_out(arena_from, from, 7, BCL_SYSTEM_MAX + 1);
    REFUSED(BCL_ERR_INVALID, bcl_sendv(port, address_of(other), BCL_SYSTEM_CHANNEL, from, 7, 0, 0));
}

/* A page that is not there, in the middle of others, at either end; the kernel finds it where it copies. */
static void with_a_hole(void) {
    unsigned char *memory = mmap(NULL, 12 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && munmap(memory + 5 * 4096, 4096) == 0);
    struct iovec whole[] = {{arena_from, 20000}, {arena_to, 20000}};
    struct iovec broken[] = {{arena_from, 20000}, {memory + 4 * 4096, 3 * 4096}, {arena_to, 20000 - 3 * 4096}};
    for (int is_sender = 0; is_sender < 2; is_sender++) {
        CHECK(bcl_postv(other, CHANNEL, is_sender ? whole : broken, is_sender ? 2 : 3, 1) == 0);
        CHECK(bcl_sendv(port, address_of(other), CHANNEL, is_sender ? broken : whole, is_sender ? 3 : 2, 0, 2) == 0);
        finish(BCL_ERR_FAULT, 40000, 0);
    }
    munmap(memory, 12 * 4096);
}

static void bad_tables(void) {
    bcl_address to = address_of(other);
    struct iovec pieces[] = {{sent, 10}, {NULL, 0}, {sent, 10}};
    CHECK(bcl_sendv(port, to, CHANNEL, NULL, 0, 0, BCL_QUIET) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_sendv(port, to, CHANNEL, pieces, -1, 0, 0));
    REFUSED(BCL_ERR_INVALID, bcl_sendv(port, to, CHANNEL, pieces, BCL_PIECES_MAX + 1, 0, 0));
    REFUSED(BCL_ERR_INVALID, bcl_sendv(port, to, CHANNEL, NULL, 1, 0, 0));
    REFUSED(BCL_ERR_INVALID, bcl_sendv(NULL, to, CHANNEL, pieces, 3, 0, 0));
    REFUSED(BCL_ERR_INVALID, bcl_postv(other, CHANNEL, pieces, -1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_postv(other, CHANNEL, NULL, 2, 0));
    REFUSED(BCL_ERR_INVALID, bcl_postv(other, BCL_SYSTEM_CHANNEL, pieces, 3, 0));
    pieces[1].iov_len = 1;
    REFUSED(BCL_ERR_INVALID, bcl_sendv(port, to, CHANNEL, pieces, 3, 0, 0));
    struct iovec endless[] = {{sent, SIZE_MAX / 2}, {sent, SIZE_MAX / 2}};
    REFUSED(BCL_ERR_INVALID, bcl_sendv(port, to, CHANNEL, endless, 2, 0, 0));
    struct iovec small = {arena_to, 0};
    CHECK(bcl_postv(other, CHANNEL, &small, 1, 1) == 0);
    CHECK(next_of(other, BCL_EVENT_RECEIVED).len == 0);
}

static bcl_port *open_by(uint32_t device, uint32_t copy) {
    bcl_options options = BCL_OPTIONS_INIT;
    bcl_port *opened = NULL;
    options.device = device;
    options.copy = copy;
    CHECK(bcl_open(&options, &opened) == 0);
    if (opened == NULL) exit(check_summary());
    return opened;
}

int main(void) {
    static const uint32_t ways[][2] = {
        {BCL_DEVICE_SHM, BCL_COPY_SINGLE}, {BCL_DEVICE_SHM, BCL_COPY_STREAM},
        {BCL_DEVICE_SHM, BCL_COPY_AUTO}, {BCL_DEVICE_UDP, BCL_COPY_AUTO}};
    check_at_most(100);
    for (size_t i = 0; i < LEN; i++) sent[i] = (unsigned char)(i * 7 + i / 4096) | 1;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        port = open_by(ways[way][0], ways[way][1]);
        other = open_by(ways[way][0], ways[way][1]);
        on_all_lengths();
        on_the_system_channel();
        if (way == 0) with_a_hole();
        bad_tables();
        CHECK(bcl_close(port) == 0);
        CHECK(bcl_close(other) == 0);
    }
    return check_summary();
}
