// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Which sequenced packets have been taken ([MCP-3], [WIRE-5.2]), and the lock under which that changes ([MCP-2]).
#pragma once
#include "work.h"

#define WINDOW 1024
#define WORDS (WINDOW / 64)
#define TRIES 4096

__noinline int lock(struct connection *c) {
    if (!c)
        return 0;
    for (int i = 0; i < TRIES; i++)
        if (!__sync_val_compare_and_swap(&c->lock, 0, 1))
            return 1;
    return 0;
}

static __always_inline void unlock(struct connection *c) { __sync_lock_test_and_set(&c->lock, 0); }

static __always_inline int was_taken(const struct connection *c, __u32 sequence) {
    return c->taken[sequence / 64 % WORDS] >> (sequence % 64) & 1;
}

static __always_inline __u32 standing_of(const struct connection *c, __u32 sequence) {
    __s32 distance = sequence - c->expected;
    if (distance == 0)
        return NEXT;
    if (distance < 0)
        return DUPLICATE;
    if (distance >= WINDOW)
        return BEYOND;
    return was_taken(c, sequence) ? DUPLICATE : EARLY;
}

// The oldest missing packet has come: goes on beyond all that have come before it.
__noinline int advance(struct connection *c) {
    if (!c)
        return 0;
    __u32 expected = c->expected + 1, ahead = c->ahead;
    for (int i = 0; i < WINDOW && ahead; i++) {
        __u64 *word = &c->taken[expected / 64 % WORDS];
        __u64 bit = 1ull << (expected % 64);
        if (!(*word & bit))
            break;
        *word &= ~bit;
        ahead--;
        expected++;
    }
    c->expected = expected;
    c->ahead = ahead;
    return 0;
}

// Takes a packet of the connection's peer.
static __always_inline void take(struct connection *c, __u32 standing, __u32 sequence) {
    if (standing == NEXT) {
        advance(c);
    } else {
        c->taken[sequence / 64 % WORDS] |= 1ull << (sequence % 64);
        c->ahead++;
    }
    c->due++;
}

// What packets say that cannot tell what is refused ([WIRE-9.5]).
static __always_inline __u32 plain_ack(const struct connection *c) {
    if (c->is_refusing && is_before(c->refused_sequence, c->expected))
        return c->refused_sequence;
    return c->expected;
}
