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

// Chooses the answer, and says all in it that the connection decides. Whether it acknowledges all that was taken.
__noinline int settle(struct work *w, struct connection *c) {
    if (!w || !c)
        return 0;
    struct plan *plan = &w->plan;
    struct header *header = &w->reply.header;
    __builtin_memset(header, 0, sizeof *header);
    if (!plan->answer && must_acknowledge(w, c))
        plan->answer = ACK;
    int is_acked = 0;
    header->ack = c->expected;
    switch (plan->answer) {
    case 0:
        return 0;
    case NAK:
        header->message = c->refused_message;
        header->length = NAK_SYSTEM;
        break;
    case ACK:
        if (c->ahead || c->is_refusing) {
            struct ack_body *body = &w->reply.body;
            __builtin_memset(body, 0, sizeof *body);
            select_taken(c, body->selective);
            body->refused_system = c->is_refusing ? c->refused_message : 0;
            body->refuses_system = c->is_refusing;
            plan->answer_len = sizeof *body;
        }
        is_acked = 1;
        break;
    case ANSWER:
        header->channel = w->packet.channel;
        header->slot = w->packet.slot;
        header->offset = plan->outcome.value;
        header->length = plan->outcome.status;
        // fallthrough
    default:
        header->message = w->packet.message;
        header->ack = plain_ack(c);
        is_acked = header->ack == c->expected;
        break;
    }
    if (is_acked)
        c->due = 0;
    return is_acked;
}

// Makes the packet as long as the answer, or an ACK at least as short as it can be.
static __always_inline int resize(struct xdp_md *ctx, struct work *w) {
    int excess = (int)(PAYLOAD_AT + w->plan.answer_len) - (int)w->frame_len;
    if (!excess || !bpf_xdp_adjust_tail(ctx, excess))
        return 1;
    if (w->plan.answer != ACK || !w->plan.answer_len)
        return 0;
    w->plan.answer_len = 0;
    excess = (int)PAYLOAD_AT - (int)w->frame_len;
    return !excess || !bpf_xdp_adjust_tail(ctx, excess);
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

// Makes the packet the answer that `settle` has chosen. 0: it cannot be made.
__noinline int reply(struct xdp_md *ctx, struct work *w, struct connection *c) {
    if (!w || !c)
        return 0;
    struct header *header = &w->reply.header;
    struct nh_key *key = bpf_map_lookup_elem(&jobs, &c->job);
    __u64 hash;
    if (!key || !resize(ctx, w) || !hash_payload(ctx, w, key, &hash))
        return 0;
    header->magic = MAGIC;
    header->version = VERSION;
    header->kind = w->plan.answer;
    header->payload_len = w->plan.answer_len;
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
