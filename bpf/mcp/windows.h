// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Memory of windows: what is done to it, once everything has been decided.
//
// The verifier wants to see that a copy ends inside its block, but does not relate a length to a place. Far from the
// block's end no length can be wrong; close to it a copy is made of pieces whose lengths are powers of two.
#pragma once
#include "sequence.h"

static __always_inline int move(struct xdp_md *ctx, __u32 at, void *memory, __u32 len, const int to_memory) {
    return to_memory ? bpf_xdp_load_bytes(ctx, at, memory, len) : bpf_xdp_store_bytes(ctx, at, memory, len);
}

// One step of a copy by powers of two. Places are counted from the end: so the verifier has the same to remember whether
// the step was made or not, and need not look at all that can follow for both.
#define STEP(size)                                                                                                     \
    if (len >= (size)) {                                                                                               \
        __u32 in = end - len;                                                                                          \
        if (in > BLOCK - (size) || move(ctx, at_end - len, block->bytes + in, (size), to_memory))                      \
            return 0;                                                                                                  \
        len -= (size);                                                                                                 \
        asm volatile("" : "+r"(len)); /* or the compiler counts from the beginning after all */                        \
    }

static __always_inline int move_part(struct xdp_md *ctx, struct block *block, __u32 in, __u32 at, __u32 len,
                                     const int to_memory) {
    if (!block || !len)
        return 0;
    len = not_zero(len);
    if (len > PAYLOAD_MAX)
        return 0;
    if (in <= BLOCK - PAYLOAD_MAX)
        return !move(ctx, at, block->bytes + in, len, to_memory);
    __u32 end = in + len, at_end = at + len;
    STEP(8192)
    STEP(4096)
    STEP(2048)
    STEP(1024)
    STEP(512)
    STEP(256)
    STEP(128)
    STEP(64)
    STEP(32)
    STEP(16)
    STEP(8)
    STEP(4)
    STEP(2)
    STEP(1)
    return 1;
}

__noinline int write_block(struct xdp_md *ctx, struct block *block, __u32 in, __u32 at, __u32 len) {
    return move_part(ctx, block, in, at, len, 1);
}

__noinline int read_block(struct xdp_md *ctx, struct block *block, __u32 in, __u32 at, __u32 len) {
    return move_part(ctx, block, in, at, len, 0);
}

static __always_inline struct block *block_at(__u32 memory, __u64 place) {
    void *blocks = bpf_map_lookup_elem(&memories, &memory);
    __u32 index = place >> BLOCK_BITS;
    return blocks ? bpf_map_lookup_elem(blocks, &index) : 0;
}

// Between the payload of the packet and memory, which may be that of two blocks.
static __always_inline int move_all(struct xdp_md *ctx, __u32 memory, __u64 place, __u32 len, const int to_memory) {
    if (!len)
        return 1;
    __u32 in = place & (BLOCK - 1);
    __u32 first = in + len > BLOCK ? BLOCK - in : len;
    struct block *block = block_at(memory, place);
    if (!block ||
        !(to_memory ? write_block(ctx, block, in, PAYLOAD_AT, first) : read_block(ctx, block, in, PAYLOAD_AT, first)))
        return 0;
    if (first == len)
        return 1;
    block = block_at(memory, place + first);
    if (!block)
        return 0;
    return to_memory ? write_block(ctx, block, 0, PAYLOAD_AT + first, len - first)
                     : read_block(ctx, block, 0, PAYLOAD_AT + first, len - first);
}

static __always_inline int change_word(struct work *w) {
    struct plan *plan = &w->plan;
    struct block *block = block_at(plan->memory, plan->place);
    if (!block)
        return 0;
    __u64 *word = (__u64 *)(block->bytes + (plan->place & (BLOCK - 8)));
    const __u64 *operands = (const __u64 *)w->payload + 1;
    plan->found = plan->effect == ADD ? __sync_fetch_and_add(word, operands[0])
                                      : __sync_val_compare_and_swap(word, operands[0], operands[1]);
    plan->outcome.value = plan->found;
    return 1;
}

// 0: the agent's tables do not fit each other.
static __always_inline int affect(struct xdp_md *ctx, struct work *w) {
    struct plan *plan = &w->plan;
    switch (plan->effect) {
    case WRITE:
        count(w, COUNT_PLACED);
        return move_all(ctx, plan->memory, plan->place, w->payload_len, 1);
    case READ:
        count(w, COUNT_READ);
        plan->answer_len = w->payload_len;
        return move_all(ctx, plan->memory, plan->place, w->payload_len, 0);
    case ADD:
    case SWAP:
        count(w, COUNT_PLACED);
        return change_word(w);
    default:
        return 1;
    }
}

static __always_inline int keep_outcome(struct work *w) {
    struct connection_key key = {.port = w->port, .id = w->packet.to_connection};
    struct outcomes *all = bpf_map_lookup_elem(&outcomes, &key);
    if (all)
        all->slots[w->packet.slot % SLOTS] = w->plan.outcome;
    return !!all;
}

// Does what was planned, as far as it concerns windows and the connection.
__noinline int perform(struct xdp_md *ctx, struct work *w, struct connection *c) {
    if (!w || !c)
        return 0;
    struct plan *plan = &w->plan;
    if (!affect(ctx, w) || (plan->keeps && !keep_outcome(w)))
        return 0;
    if (plan->refuses) {
        c->is_refusing = 1;
        c->refused_message = w->packet.message;
        c->refused_sequence = w->packet.sequence;
    } else if (plan->accepts) {
        c->is_refusing = 0;
    }
    if (plan->standing != UNSEQUENCED)
        take(c, plan->standing, w->packet.sequence);
    return 1;
}
