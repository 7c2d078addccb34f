// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Messages: which go into the ring, which are refused ([MCP-4.1], [MCP-4.2]), which have a place already ([MCP-4.6]).
#pragma once
#include "ring.h"

// Packets of a message may be that short ([MCP-4.1]).
#define SHORT_PACKET 1024

// Whether there is no room for a message, of which this is the first packet.
static __always_inline int must_refuse(struct work *w) {
    volatile struct control *control = control_of(w->port);
    if (control && control->refuses_system)
        return 1;
    void *ring = ring_of(w->port);
    if (!ring)
        return 0;
    __u64 len = w->packet.length;
    __u64 need = len <= SHORT_PACKET ? record_len(len) : (len + SHORT_PACKET - 1) / SHORT_PACKET * MIDDLE;
    return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + need > bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2;
}

// The bits of an ACK say of so many whether they have been taken.
#define SELECTIVE 256

// Whether the program is to keep a packet that came early until its turn comes ([MCP-3.2]). A refusal looks at messages in
// their order, and must not find the ring full of those that come after.
__noinline int can_wait(struct work *w, struct connection *c) {
    if (!w || !c)
        return 0;
    volatile struct control *control = control_of(w->port);
    void *ring = ring_of(w->port);
    if (!control || !ring || control->refuses_early || c->is_refusing || w->packet.sequence - c->expected > SELECTIVE)
        return 0;
    return is_quarter_enough(ring, w->payload_len);
}

// Plans for DATA. 0: there is no room.
__noinline int plan_message(struct work *w, struct connection *c) {
    if (!w || !c)
        return 0;
    const struct header *packet = &w->packet;
    struct plan *plan = &w->plan;
    if (!packet->length && !(packet->flags & FIRST)) {
        count(w, COUNT_DISCARDED); // a filler
        return 1;
    }
    if (packet->flags & UNRELIABLE) {
        plan->record = WHOLE;
        return !must_refuse(w);
    }
    if (packet->channel) {
        plan->record = WHOLE;
        return 1;
    }
    if (c->is_refusing && (!(packet->flags & FIRST) || c->refused_message != packet->message)) {
        count(w, COUNT_DISCARDED);
        // The sender is told, once a message.
        plan->answer = packet->flags & FIRST ? ACK : 0;
        return 1;
    }
    if (packet->flags & FIRST && must_refuse(w)) {
        // Messages after this one have been taken.
        if (plan->standing != NEXT || c->ahead)
            return 0;
        count(w, COUNT_REFUSED);
        plan->refuses = 1;
        plan->answer = ACK;
        return 1;
    }
    plan->record = WHOLE;
    plan->accepts = 1; // or nothing was refused before
    return 1;
}

static __always_inline int is_within(__u64 len, __u64 at, __u64 n) { return at <= len && n <= len - at; }

// Plans for BODY: the program may have told where it belongs.
__noinline int plan_body(struct work *w) {
    if (!w)
        return 0;
    const struct header *packet = &w->packet;
    struct plan *plan = &w->plan;
    plan->record = WHOLE;
    volatile struct control *control = control_of(w->port);
    if (!control || !packet->to_connection)
        return 1;
    __u32 count = control->grant_count;
    for (__u32 i = 0; i < GRANTS && i < count; i++) {
        volatile struct grant *grant = &control->grants[i];
        if (grant->connection != packet->to_connection || grant->message != packet->message)
            continue;
        struct window_key key = {.port = w->port, .window = grant->window};
        // Read once: the program may be writing there.
        __u64 place = grant->place, length = grant->length;
        const struct window *window = bpf_map_lookup_elem(&windows, &key);
        if (!window || !window->len || !is_within(length, packet->offset, w->payload_len) ||
            place > window->len || !is_within(window->len - place, packet->offset, w->payload_len))
            return 1;
        plan->record = PLACED;
        plan->effect = WRITE;
        plan->memory = window->memory;
        plan->place = window->base + place + packet->offset;
        return 1;
    }
    return 1;
}
