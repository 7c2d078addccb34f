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

static __always_inline __u32 status_of(const struct window *window, __u32 access, __u64 at, __u64 len) {
    if (window->memory == NO_MEMORY)
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
        bpf_map_update_elem(&outcomes, &key, &w->blank, BPF_NOEXIST);
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
static __always_inline void plan_notice(struct work *w, const struct window *window) {
    if (!(window->access & ACCESS_NOTIFY))
        return;
    w->plan.record = PLACED;
    w->plan.told = w->plan.outcome.start;
}

// `outcome` is what is known of it, or what a first piece makes known.
static __always_inline void plan_put(struct work *w, const struct window *window) {
    const struct header *packet = &w->packet;
    struct outcome *outcome = &w->plan.outcome;
    // Once a piece was refused the others are not looked at: the put has failed as a whole.
    if (outcome->status == DONE)
        outcome->status = status_of(window, ACCESS_PUT, outcome->start, packet->length);
    if (outcome->status == DONE)
        outcome->status = status_of(window, ACCESS_PUT, packet->offset, w->payload_len);
    if (outcome->status == DONE)
        plan_effect(w, window, WRITE);
    if (!(packet->flags & LAST))
        return;
    outcome->is_done = 1;
    w->plan.answer = ANSWER;
    if (outcome->status == DONE)
        plan_notice(w, window);
}

static __always_inline void plan_atomic(struct work *w, const struct window *window) {
    __u64 offset = w->packet.offset;
    struct outcome *outcome = &w->plan.outcome;
    outcome->is_done = 1;
    outcome->status = status_of(window, ACCESS_ATOMIC, offset, 8);
    if (outcome->status == DONE && offset % 8)
        outcome->status = OUTSIDE;
    w->plan.answer = ANSWER;
    if (outcome->status != DONE)
        return;
    plan_effect(w, window, *(const __u64 *)w->payload == 1 ? ADD : SWAP);
    plan_notice(w, window);
}

static __always_inline void plan_get(struct work *w, const struct window *window) {
    struct outcome *outcome = &w->plan.outcome;
    outcome->is_done = 1;
    outcome->status = status_of(window, ACCESS_GET, w->packet.offset, w->packet.length);
    w->plan.answer = ANSWER;
    if (outcome->status == DONE)
        plan_effect(w, window, READ);
}

static __always_inline int is_atomic_body(const struct work *w) {
    const __u64 *words = (const __u64 *)w->payload;
    return (words[0] == 1 && !words[2]) || words[0] == 2;
}

// Plans for PUT, GET and ATOMIC. 0: there is no room for what has to be remembered.
__noinline int plan_operation(struct work *w) {
    if (!w)
        return 0;
    const struct header *packet = &w->packet;
    struct plan *plan = &w->plan;
    struct window_key key = {.port = w->port, .window = packet->channel};
    const struct window *window = bpf_map_lookup_elem(&windows, &key);
    if (!window || (packet->kind == GET && !(packet->flags & PADDED))) {
        plan->record = WHOLE; // the program performs it
        return 1;
    }
    struct outcomes *all = outcomes_of(w);
    if (!all)
        return 0;
    struct outcome *known = &all->slots[packet->slot % SLOTS];
    int is_known = known->is_known && !is_before(known->operation, packet->message);
    if (is_known) {
        if (known->operation != packet->message)
            return 1;
        plan->outcome = *known;
        if (known->is_done && packet->kind != GET) {
            plan->answer = ANSWER;
            return 1;
        }
    }
    if (packet->kind == PUT && !is_known && !(packet->flags & FIRST))
        return 1;
    if (packet->kind == ATOMIC && !is_atomic_body(w))
        return 1;
    plan->keeps = 1;
    if (packet->kind != PUT || !is_known) {
        plan->outcome.operation = packet->message;
        plan->outcome.is_known = 1;
        plan->outcome.is_done = 0;
        plan->outcome.status = DONE;
        plan->outcome.value = 0;
        plan->outcome.start = packet->offset;
    }
    if (packet->kind == PUT)
        plan_put(w, window);
    else if (packet->kind == ATOMIC)
        plan_atomic(w, window);
    else
        plan_get(w, window);
    return 1;
}
