// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// What the port's program is told: records in its ring ([MCP-6]).
#pragma once
#include "replies.h"
#include "windows.h"

// Lengths of records, with the 8 bytes that the kernel puts before each ([MCP-6.1]).
#define KERNEL_HEAD 8
#define SMALL 256
#define MIDDLE 2048
#define LARGE 9216

#define IS_PLACED 1
#define IS_ACKED 2
#define IS_EARLY 4
#define IS_BARE 8

struct record_head {
    __u8 source[16]; // IPv4 as ::ffff:a.b.c.d
    __u16 source_port;
    __u16 flags;
    __u32 payload_len;
    __u32 ack;
    __u32 place;
    struct header packet;
};
_Static_assert(sizeof(struct record_head) == 96, "[MCP-6.1]");

#define ROOM(size) ((size) - KERNEL_HEAD - sizeof(struct record_head))

static __always_inline __u32 record_len(__u64 payload_len) {
    return payload_len <= ROOM(SMALL) ? SMALL : payload_len <= ROOM(MIDDLE) ? MIDDLE : LARGE;
}

// Whether not more than a quarter of the ring is used with one record more.
static __always_inline int is_quarter_enough(void *ring, __u64 payload_len) {
    __u64 used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + record_len(payload_len);
    return used <= bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 4;
}

// Somebody who falls asleep now looks into the ring once more before, and finds the record ([MCP-6.5]).
static __always_inline void wake_sleeper(struct work *w, void *ring) {
    volatile struct control *control = control_of(w->port);
    if (!control || !control->sleeps)
        return;
    void *nothing = bpf_ringbuf_reserve(ring, 8, 0);
    if (!nothing)
        return;
    bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
    count(w, COUNT_WAKES);
}

static __always_inline void fill(struct record_head *head, struct work *w, struct connection *c, __u32 payload_len,
                                 __u32 flags) {
    __builtin_memset(head->source, 0, 10);
    head->source[10] = 0xff;
    head->source[11] = 0xff;
    __builtin_memcpy(head->source + 12, &w->frame.ip.saddr, 4);
    head->source_port = bpf_ntohs(w->frame.udp.source);
    head->flags = flags;
    head->payload_len = payload_len;
    head->ack = plain_ack(c);
    head->place = w->plan.told;
    __builtin_memcpy(&head->packet, &w->packet, sizeof head->packet);
}

static __always_inline __u32 flags_of_record(const struct plan *plan) {
    switch (plan->record) {
    case PLACED:
        return IS_PLACED;
    case BARE:
        return IS_BARE;
    default:
        return plan->waits ? IS_EARLY : 0;
    }
}

// Does what was planned for a packet, with a record of `size` bytes. 0: there is no room.
static __always_inline int perform_and_tell(struct xdp_md *ctx, struct work *w, struct connection *c, void *ring,
                                            const __u32 size) {
    __u32 len = w->plan.record == WHOLE ? w->payload_len : 0;
    struct record_head *head = bpf_ringbuf_reserve(ring, size - KERNEL_HEAD, 0);
    if (!head)
        return 0;
    if (len) {
        // `record_len` has chosen the size so that it fits; the verifier is to see it.
        __u32 copied = not_zero(len);
        if (copied > ROOM(size) || bpf_xdp_load_bytes(ctx, PAYLOAD_AT, head + 1, copied))
            goto no_room;
    }
    if (!perform(ctx, w, c))
        goto no_room;
    __u32 flags = flags_of_record(&w->plan) | (choose_answer(ctx, w, c) ? IS_ACKED : 0);
    fill(head, w, c, len, flags);
    bpf_ringbuf_submit(head, BPF_RB_NO_WAKEUP);
    count(w, COUNT_RECORDS);
    wake_sleeper(w, ring);
    return 1;
no_room:
    bpf_ringbuf_discard(head, BPF_RB_NO_WAKEUP);
    return 0;
}

// Does what was planned for a packet, with all that belongs to it. 0: there is no room, and nothing was done.
static __always_inline int carry_out(struct xdp_md *ctx, struct work *w, struct connection *c) {
    // What waits for this one in the program's hands can be dealt with now.
    if (w->plan.record == NO_RECORD && w->plan.standing == NEXT && c->ahead)
        w->plan.record = BARE;
    if (w->plan.record == NO_RECORD) {
        if (!perform(ctx, w, c))
            return 0;
        choose_answer(ctx, w, c);
        return 1;
    }
    void *ring = ring_of(w->port);
    if (!ring)
        return 0;
    switch (record_len(w->plan.record == WHOLE ? w->payload_len : 0)) {
    case SMALL:
        return perform_and_tell(ctx, w, c, ring, SMALL);
    case MIDDLE:
        return perform_and_tell(ctx, w, c, ring, MIDDLE);
    default:
        return perform_and_tell(ctx, w, c, ring, LARGE);
    }
}
