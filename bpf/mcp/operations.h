// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// One-sided operations, the owner's half ([MCP-4.5], [WIRE-11.2], [WIRE-11.3]).
#pragma once
#include "messages.h"

enum status {
    DONE = 0,
    DENIED = 1,
    OUTSIDE = 2,
    NO_WINDOW = 3,
};

// `window` may be none.
static __always_inline __u32 status_of(const struct window *window, __u32 access, __u64 at, __u64 len) {
    if (!window || !window->len)
        return NO_WINDOW;
    if (!(window->access & access))
        return DENIED;
    return is_within(window->len, at, len) ? DONE : OUTSIDE;
}

// Those of the packet's connection.
static __always_inline struct outcomes *outcomes_of(struct work *w) {
    struct connection_key key = {.port = w->port, .id = w->packet.to_connection};
    struct outcomes *all = bpf_map_lookup_elem(&outcomes, &key);
    if (!all) {
        // Found anew, for the same reason as keys lie on the stack.
        struct work *blank = the_only_value(&works);
        if (!blank)
            return 0;
        bpf_map_update_elem(&outcomes, &key, &blank->blank, BPF_NOEXIST);
        all = bpf_map_lookup_elem(&outcomes, &key);
    }
    return all;
}

static __always_inline void plan_effect(struct work *w, const struct window *window, __u32 effect) {
    w->plan.effect = effect;
    w->plan.memory = window->memory;
    w->plan.place = window->base + w->packet.offset;
}

// The owner hears of what has happened.
static __always_inline void plan_notice(struct work *w, const struct window *window, __u64 place) {
    if (!(window->access & ACCESS_NOTIFY))
        return;
    w->plan.record = PLACED;
    w->plan.told = place;
}

// A long PUT begins, whose packets may come in a stream: that is for the program to judge ([MCP-1.6]).
static __always_inline void plan_beginning(struct work *w) {
    volatile struct control *control = control_of(w->port);
    void *ring = ring_of(w->port);
    if (control && ring && control->tells_puts && is_quarter_enough(ring, 0))
        w->plan.record = BARE;
}

static __always_inline void plan_answer(struct work *w, const struct outcome *outcome) {
    w->plan.answer = ANSWER;
    w->plan.status = outcome->status;
    w->plan.found = outcome->value;
}

static __always_inline void plan_put(struct work *w, const struct window *window) {
    const struct header *packet = &w->packet;
    struct outcome *outcome = &w->plan.outcome;
    // Once a piece was refused the others are not looked at: the put has failed as a whole.
    if (outcome->status == DONE)
        outcome->status = status_of(window, ACCESS_PUT, outcome->start, packet->length);
    if (outcome->status == DONE)
        outcome->status = status_of(window, ACCESS_PUT, packet->offset, w->payload_len);
    outcome->is_done = !!(packet->flags & LAST);
    if (outcome->is_done)
        plan_answer(w, outcome);
    if (!window || outcome->status != DONE)
        return;
    plan_effect(w, window, WRITE);
    if (outcome->is_done)
        plan_notice(w, window, outcome->start);
    else if (packet->flags & FIRST && packet->length >= LONG_PUT)
        plan_beginning(w);
}

static __always_inline void plan_atomic(struct work *w, const struct window *window) {
    __u64 offset = w->packet.offset;
    struct outcome *outcome = &w->plan.outcome;
    outcome->is_done = 1;
    outcome->status = status_of(window, ACCESS_ATOMIC, offset, 8);
    if (outcome->status == DONE && offset % 8)
        outcome->status = OUTSIDE;
    plan_answer(w, outcome);
    if (!window || outcome->status != DONE)
        return;
    plan_effect(w, window, *(const __u64 *)w->payload == 1 ? ADD : SWAP);
    plan_notice(w, window, offset);
}

static __always_inline int is_atomic_body(const struct work *w) {
    const __u64 *words = (const __u64 *)w->payload;
    return (words[0] == 1 && !words[2]) || words[0] == 2;
}

// Whether the program lets peers be served from a window ([MCP-6.2]).
static __always_inline int is_offered(__u32 port, __u32 number) {
    volatile struct control *control = control_of(port);
    if (!control || number >= WINDOWS)
        return 0;
    return control->offered[number / 8] >> number % 8 & 1;
}

// The window that the packet is for, if it is entered and offered.
static __always_inline const struct window *window_of(const struct work *w) {
    struct window_key key = {.port = w->port, .window = w->packet.channel};
    return is_offered(w->port, w->packet.channel) ? bpf_map_lookup_elem(&windows, &key) : 0;
}

// Plans for GET, which reads anew each time.
__noinline int plan_get(struct work *w) {
    if (!w)
        return 0;
    const struct window *window = window_of(w);
    if (!window || !(w->packet.flags & PADDED)) {
        w->plan.record = WHOLE; // the program performs it
        return 1;
    }
    w->plan.answer = ANSWER;
    w->plan.status = status_of(window, ACCESS_GET, w->packet.offset, w->packet.length);
    if (w->plan.status == DONE)
        plan_effect(w, window, READ);
    return 1;
}

// Plans for PUT and ATOMIC. 0: there is no room for what has to be remembered.
__noinline int plan_operation(struct work *w) {
    if (!w)
        return 0;
    const struct header *packet = &w->packet;
    struct plan *plan = &w->plan;
    if (packet->kind == ATOMIC && !is_atomic_body(w))
        return 1;
    struct outcomes *all = outcomes_of(w);
    if (!all)
        return 0;
    const struct outcome *known = &all->slots[packet->slot % SLOTS];
    const struct window *window = window_of(w);
    if (known->owner == NOBODY || is_before(known->operation, packet->message)) {
        if (packet->kind == PUT && !(packet->flags & FIRST))
            return 1;
        plan->outcome.operation = packet->message;
        plan->outcome.owner = window ? MCP : PROGRAM;
        plan->outcome.start = packet->offset;
    } else if (known->operation != packet->message) {
        return 1;
    } else {
        plan->outcome = *known;
        if (known->owner == MCP && known->is_done) {
            plan_answer(w, known);
            return 1;
        }
    }
    plan->keeps = 1;
    if (plan->outcome.owner == PROGRAM)
        plan->record = WHOLE;
    else if (packet->kind == PUT)
        plan_put(w, window);
    else
        plan_atomic(w, window);
    return 1;
}
