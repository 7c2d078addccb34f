// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Which values fields may have, by what the packet says: crates/protocol/wire/src/rules.rs once more ([WIRE-2.2] to [WIRE-2.10]).
#pragma once
#include "work.h"

#define ANY_FLAGS (RETRANSMIT | ACK_NOW | DIRECT)
#define FRAGMENT_FLAGS (ANY_FLAGS | FIRST | LAST)
#define OPERATION_KINDS (KIND_BIT(PUT) | KIND_BIT(GET) | KIND_BIT(ATOMIC) | KIND_BIT(ANSWER))

static __always_inline __u32 flags_of(__u32 kind) {
    switch (kind) {
    case DATA:
        return FRAGMENT_FLAGS | UNRELIABLE | IMMEDIATE;
    case BODY:
        return FRAGMENT_FLAGS;
    case PUT:
        return FRAGMENT_FLAGS | NOTIFY;
    case GET:
        return ANY_FLAGS | PADDED;
    default:
        return ANY_FLAGS;
    }
}

static __always_inline int fits_data(const struct header *p, __u64 len) {
    __u64 place = p->flags & IMMEDIATE ? 0 : p->offset;
    __u64 end = place + len;
    __u32 ends = p->flags & (FIRST | LAST);
    __u32 expected = (place ? 0 : FIRST) | (end == p->length ? LAST : 0);
    if (!p->length && !place && !len && ends != (FIRST | LAST) && !(p->flags & IMMEDIATE))
        expected = 0; // a filler ([WIRE-2.5])
    if (p->length > (p->channel ? PUSHED_MAX : LONG_SYSTEM_MAX) || end < place || end > p->length)
        return 0;
    if (!len && p->length)
        return 0;
    return ends == expected && (ends == (FIRST | LAST) || !(p->flags & UNRELIABLE));
}

static __always_inline int fits_kind(const struct header *p, __u64 len) {
    __u64 end = p->offset + len;
    int ends = end >= p->offset; // and is not beyond all numbers
    switch (p->kind) {
    case DATA:
        return fits_data(p, len);
    case BODY:
        return p->channel && ends && end <= p->length;
    case PUT:
        return (len || !p->length) && len <= p->length && ends;
    case GET:
        return p->length <= READ_MAX && len == (p->flags & PADDED ? p->length : 0);
    case ATOMIC:
        return len == 24;
    case ANSWER:
        return p->length <= 3;
    case ACK:
        return !len || len == sizeof(struct ack_body);
    case RTS:
        return p->channel && !len;
    case CTS:
    case CLOSE:
        return !len;
    case FIN:
        return p->length <= 4 && !len;
    case NAK:
        return (p->length == 1 || p->length == 2) && !len;
    case PROBE:
    case PROBE_ANSWER:
        return 1;
    default:
        return 0; // no such kind; those of set-up have not come this far
    }
}

__noinline int is_well_formed(struct work *w) {
    if (!w)
        return 0;
    const struct header *p = &w->packet;
    __u32 kind = p->kind & 31;
    if (p->kind != kind || p->payload_len != w->payload_len || w->payload_len > PAYLOAD_MAX)
        return 0;
    if (p->zero || p->rail > 1 || p->group || !p->from_port || !p->to_port)
        return 0;
    if (p->sequence && !is_sequenced(p))
        return 0;
    if (p->slot >= (KIND_BIT(kind) & OPERATION_KINDS ? SLOTS : 1))
        return 0;
    if (p->flags & ~flags_of(kind))
        return 0;
    return fits_kind(p, w->payload_len);
}
