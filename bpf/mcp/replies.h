// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Which answer a packet gets, and turning the packet round to be it ([MCP-5]).
#pragma once
#include "check.h"
#include "sequence.h"

#include <bpf/bpf_endian.h>
#include <linux/in.h>

// Acknowledged together ([MCP-5.3]).
#define TOGETHER 8
#define NAK_SYSTEM 1
#define TIME_TO_LIVE 64
#define DONT_FRAGMENT 0x4000

// For the payload of ACK: 256 bits of `taken`, from the one behind the oldest missing.
static __always_inline void select_taken(const struct connection *c, __u64 selective[4]) {
    __u32 from = c->expected + 1;
    __u32 shift = from % 64;
    for (__u32 i = 0; i < 4; i++) {
        __u64 low = c->taken[(from / 64 + i) % WORDS];
        __u64 high = c->taken[(from / 64 + i + 1) % WORDS];
        selective[i] = shift ? low >> shift | high << (64 - shift) : low;
    }
}

static __always_inline int must_acknowledge(const struct work *w, const struct connection *c) {
    if (w->plan.standing == UNSEQUENCED)
        return 0;
    return w->packet.flags & (ACK_NOW | RETRANSMIT) || w->plan.standing != NEXT || c->ahead || c->due >= TOGETHER;
}

// Makes the packet as long as the answer.
static __always_inline int resize(struct xdp_md *ctx, const struct work *w) {
    int excess = (int)(PAYLOAD_AT + w->plan.answer_len) - (int)w->frame_len;
    return !excess || !bpf_xdp_adjust_tail(ctx, excess);
}

// An ACK that says all that there is to say. Where a packet cannot be made longer, one that does not would say that a
// refused message was delivered: a NAK then ([MCP-5.3]).
static __always_inline int acknowledge(struct xdp_md *ctx, struct work *w, const struct connection *c) {
    struct header *header = &w->reply.header;
    struct ack_body *body = &w->reply.body;
    header->message = w->plan.dropped ? w->packet.sequence : 0;
    header->length = w->plan.dropped;
    if (!c->ahead && !c->is_refusing)
        return resize(ctx, w);
    __builtin_memset(body, 0, sizeof *body);
    select_taken(c, body->selective);
    body->refused_system = c->is_refusing ? c->refused_message : 0;
    body->refuses_system = c->is_refusing;
    w->plan.answer_len = sizeof *body;
    if (resize(ctx, w))
        return 1;
    w->plan.answer_len = 0;
    if (c->is_refusing) {
        w->plan.answer = NAK;
        header->message = c->refused_message;
        header->length = NAK_SYSTEM;
    }
    return resize(ctx, w);
}

// Chooses the answer, and says all in it that the connection decides. All of the packet has been read: it gets the
// answer's length. Whether all that was taken is acknowledged.
__noinline int choose_answer(struct xdp_md *ctx, struct work *w, struct connection *c) {
    if (!w || !c)
        return 0;
    struct plan *plan = &w->plan;
    struct header *header = &w->reply.header;
    if (!plan->answer && must_acknowledge(w, c))
        plan->answer = ACK;
    if (!plan->answer)
        return 0;
    __builtin_memset(header, 0, sizeof *header);
    int is_sent;
    if (plan->answer == ACK) {
        header->ack = c->expected;
        is_sent = acknowledge(ctx, w, c);
    } else {
        header->ack = plain_ack(c);
        header->message = w->packet.message;
        is_sent = resize(ctx, w);
    }
    if (plan->answer == ANSWER) {
        header->channel = w->packet.channel;
        header->slot = w->packet.slot;
        header->offset = plan->found;
        header->length = plan->status;
    }
    if (!is_sent)
        plan->answer = 0;
    if (!is_sent || plan->answer == NAK || header->ack != c->expected)
        return 0;
    c->due = 0;
    return 1;
}

// The hash of the answer's payload. That of a GET stands in the packet, where the window may not change it any more.
static __always_inline int hash_payload(struct xdp_md *ctx, struct work *w, struct nh_key *key, __u64 *hash) {
    __u32 len = w->plan.answer_len;
    *hash = 0;
    if (!len)
        return 1;
    if (w->plan.answer == PROBE_ANSWER) {
        *hash = w->payload_nh;
        return 1;
    }
    if (w->plan.answer == ACK) {
        __builtin_memcpy(w->payload, &w->reply.body, sizeof w->reply.body);
        *hash = nh(w, key, sizeof w->reply.body);
        return 1;
    }
    // Zeros stand behind it already, for the packet's own payload was as long.
    len = not_zero(len);
    if (len > PAYLOAD_MAX || bpf_xdp_load_bytes(ctx, PAYLOAD_AT, w->payload, len))
        return 0;
    *hash = nh(w, key, len);
    return 1;
}

static __always_inline __u16 ip_checksum(const struct iphdr *ip) {
    const __u16 *words = (const __u16 *)ip;
    __u32 sum = 0;
    for (int i = 0; i < 10; i++)
        sum += words[i];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum;
}

static __always_inline void turn_round(struct work *w) {
    const struct frame *from = &w->frame;
    struct frame *to = &w->reply.frame;
    __u32 udp_len = sizeof to->udp + sizeof(struct header) + w->plan.answer_len;
    __builtin_memcpy(to->eth.h_dest, from->eth.h_source, ETH_ALEN);
    __builtin_memcpy(to->eth.h_source, from->eth.h_dest, ETH_ALEN);
    to->eth.h_proto = from->eth.h_proto;
    __builtin_memset(&to->ip, 0, sizeof to->ip);
    to->ip.version = 4;
    to->ip.ihl = 5;
    to->ip.tot_len = bpf_htons(sizeof to->ip + udp_len);
    to->ip.frag_off = bpf_htons(DONT_FRAGMENT);
    to->ip.ttl = TIME_TO_LIVE;
    to->ip.protocol = IPPROTO_UDP;
    to->ip.saddr = from->ip.daddr;
    to->ip.daddr = from->ip.saddr;
    to->ip.check = ip_checksum(&to->ip);
    to->udp.source = from->udp.dest;
    to->udp.dest = from->udp.source;
    to->udp.len = bpf_htons(udp_len);
    to->udp.check = 0;
}

static __always_inline void count_answer(struct work *w) {
    switch (w->plan.answer) {
    case ANSWER:
        count(w, COUNT_ANSWERS);
        break;
    case PROBE_ANSWER:
        count(w, COUNT_PROBE_ANSWERS);
        break;
    case NAK:
        count(w, COUNT_NAKS);
        break;
    default:
        count(w, COUNT_ACKS);
    }
}

// Makes the packet the answer that `choose_answer` has chosen. 0: it cannot be made.
__noinline int reply(struct xdp_md *ctx, struct work *w, struct connection *c) {
    if (!w || !c)
        return 0;
    struct header *header = &w->reply.header;
    struct nh_key *key = key_of(c->job);
    __u64 hash;
    if (!key || !hash_payload(ctx, w, key, &hash))
        return 0;
    header->magic = MAGIC;
    header->version = VERSION;
    header->kind = w->plan.answer;
    header->payload_len = w->plan.answer_len;
    header->rail = w->packet.rail;
    header->to_connection = w->packet.from_connection;
    header->from_connection = w->packet.to_connection;
    header->from_port = w->packet.to_port;
    header->to_port = w->packet.from_port;
    header->check = check_of(header, hash, c->ours[0], c->ours[1]);
    turn_round(w);
    __u32 is_long = header->kind == ACK && w->plan.answer_len;
    __u32 len = PAYLOAD_AT + (is_long ? sizeof w->reply.body : 0);
    if (bpf_xdp_store_bytes(ctx, 0, &w->reply.frame.eth, len))
        return 0;
    count_answer(w);
    return 1;
}
