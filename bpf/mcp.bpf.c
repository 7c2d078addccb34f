// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// The interface program, or MCP (message control program, as the papers call the one on a network card): the receiver's
// half of the protocol for the ports that the agent has entered, done before the kernel's network code sees the packet
// (spec/interface.md). Read from here:
//
//   mcp/packet.h      what a packet looks like              mcp/tables.h    what the agent enters, and what is shared
//   mcp/work.h        one packet while it is dealt with     mcp/rules.h     which fields fit each other
//   mcp/check.h       NH and SipHash                        mcp/sequence.h  what has been taken; the lock
//   mcp/messages.h    what is planned for messages          mcp/operations.h  and for PUT, GET and ATOMIC
//   mcp/ring.h        a plan is carried out and told        mcp/windows.h   what it does to memory
//   mcp/replies.h     the answer
//
// A packet is copied, looked at and checked; then a plan is made, under the connection's lock; then all of it is done, or,
// if there is no room, nothing. Functions that are not static are verified once, however often they are called.
#include <linux/bpf.h>

#include "mcp/messages.h"
#include "mcp/operations.h"
#include "mcp/replies.h"
#include "mcp/ring.h"
#include "mcp/rules.h"
#include "mcp/sequence.h"

#define MORE_FRAGMENTS_OR_OFFSET 0x3fff
#define PACKET_MAX (sizeof(struct header) + PAYLOAD_MAX)
// Of these the port's socket takes care ([MCP-1.2]).
#define KINDS_LEFT_ALONE                                                                                               \
    (KIND_BIT(HELLO) | KIND_BIT(WELCOME) | KIND_BIT(CONFIRM) | KIND_BIT(REFUSE) | KIND_BIT(PIECE) | KIND_BIT(GONE))
// When they come early these are dealt with at once, or kept by the program ([MCP-3.2]).
#define KINDS_WITHOUT_ORDER (KIND_BIT(CTS) | KIND_BIT(FIN) | KIND_BIT(BODY))
#define KINDS_THAT_CAN_WAIT (KIND_BIT(DATA) | KIND_BIT(RTS))

// Bytes of the datagram in the frame, 0 if this is nothing for us ([MCP-1.1]).
static __always_inline __u32 datagram_len(const struct work *w) {
    const struct iphdr *ip = &w->frame.ip;
    __u32 ip_len = bpf_ntohs(ip->tot_len), udp_len = bpf_ntohs(w->frame.udp.len);
    __u32 port = bpf_ntohs(w->frame.udp.dest);
    if (w->frame.eth.h_proto != bpf_htons(ETH_P_IP) || ip->version != 4 || ip->ihl != 5 || ip->protocol != IPPROTO_UDP)
        return 0;
    if (port <= UDP_PORT_OFFSET || port > UDP_PORT_OFFSET + PORTS || ip->frag_off & bpf_htons(MORE_FRAGMENTS_OR_OFFSET))
        return 0;
    if (ip_len != udp_len + sizeof *ip || ip_len + sizeof(struct ethhdr) > w->frame_len)
        return 0;
    if (udp_len < sizeof(struct udphdr) + sizeof(struct header) || ip_checksum(ip))
        return 0;
    return udp_len - sizeof(struct udphdr);
}

static __always_inline const struct port *port_of(const struct work *w) {
    struct port_key key = {.address = w->frame.ip.daddr, .udp_port = bpf_ntohs(w->frame.udp.dest)};
    return bpf_map_lookup_elem(&ports, &key);
}

// Copies the packet, with zeros behind it; of what is longer than any packet the header, to see whose it is.
static __always_inline int copy_packet(struct xdp_md *ctx, struct work *w, __u32 len) {
    __u32 copied = not_zero(len <= PACKET_MAX ? len : sizeof(struct header));
    if (copied > PACKET_MAX || bpf_xdp_load_bytes(ctx, FRAME_LEN, &w->packet, copied))
        return 0;
    w->payload_len = len - sizeof(struct header);
    *(__u64 *)((__u8 *)&w->packet + copied) = 0;
    return 1;
}

// The entered connection that the packet says it is for.
static __always_inline struct connection *connection_of(const struct work *w) {
    const struct header *packet = &w->packet;
    if (packet->magic != MAGIC || packet->version != VERSION)
        return 0;
    if (packet->kind <= GONE && KINDS_LEFT_ALONE >> packet->kind & 1)
        return 0;
    if (packet->payload_len < w->payload_len)
        return 0; // several that came as one
    if (packet->to_port != bpf_ntohs(w->frame.udp.dest) - UDP_PORT_OFFSET)
        return 0;
    struct connection_key key = {.port = w->port, .id = packet->to_connection};
    return bpf_map_lookup_elem(&connections, &key);
}

// Whether the program has taken the connection back ([MCP-6.3]).
static __always_inline int is_given_back(const struct work *w) {
    volatile struct control *control = control_of(w->port);
    return !control || control->given_back[w->packet.to_connection % sizeof control->given_back];
}

// Decides what a packet leads to. 0: there is no room for it.
static __always_inline int make_plan(struct work *w, struct connection *c) {
    const struct header *packet = &w->packet;
    __u32 bit = KIND_BIT(packet->kind & 31);
    if (w->plan.standing == EARLY && !(bit & KINDS_WITHOUT_ORDER)) {
        if (!(bit & KINDS_THAT_CAN_WAIT) || !can_wait(w, c))
            return 0;
        w->plan.waits = 1;
    }
    switch (packet->kind) {
    case DATA:
        return plan_message(w, c);
    case BODY:
        return plan_body(w);
    case PUT:
    case ATOMIC:
        return plan_operation(w);
    case GET:
        return plan_get(w);
    case PROBE:
        w->plan.answer = PROBE_ANSWER;
        w->plan.answer_len = w->payload_len;
        // fallthrough
    default:
        w->plan.record = WHOLE;
        return 1;
    }
}

// All that a packet leads to but the answer itself.
static __always_inline void deal_with(struct xdp_md *ctx, struct work *w, struct connection *c) {
    __u32 standing = is_sequenced(&w->packet) ? standing_of(c, w->packet.sequence) : UNSEQUENCED;
    w->plan.standing = standing;
    if (standing == DUPLICATE)
        count(w, COUNT_DUPLICATE);
    else if (standing == BEYOND)
        count(w, COUNT_BEYOND_WINDOW);
    else if (make_plan(w, c) && carry_out(ctx, w, c))
        return;
    else {
        w->counted &= ~(1u << COUNT_DISCARDED); // which is counted as it is planned
        count(w, COUNT_NO_ROOM);
    }
    // Nothing has been done. What is said all the same?
    if (w->plan.answer != PROBE_ANSWER)
        w->plan.answer = 0;
    w->plan.dropped = standing == EARLY || standing == NEXT;
    choose_answer(ctx, w, c);
}

static __always_inline int handle(struct xdp_md *ctx, struct work *w, struct connection *c) {
    if (is_given_back(w))
        return XDP_PASS;
    count(w, COUNT_PACKETS);
    if (!is_well_formed(w)) {
        count(w, COUNT_MALFORMED);
        return XDP_DROP;
    }
    if (!is_right(w, c)) {
        count(w, COUNT_CHECK);
        return XDP_DROP;
    }
    if (!lock(c)) {
        count(w, COUNT_BUSY);
        return XDP_DROP;
    }
    // Once more, so that nothing changes what the agent reads after it was given back.
    if (is_given_back(w)) {
        unlock(c);
        return XDP_PASS;
    }
    deal_with(ctx, w, c);
    unlock(c);
    return w->plan.answer && reply(ctx, w, c) ? XDP_TX : XDP_DROP;
}

static __always_inline void publish_counts(const struct work *w) {
    struct counters *counters = counters_of(w->port);
    if (!counters)
        return;
    __u32 counted = w->counted;
    for (int i = 0; i < COUNTERS; i++)
        if (counted >> i & 1)
            __sync_fetch_and_add(&counters->values[i], 1);
}

SEC("xdp.frags")
int mcp(struct xdp_md *ctx) {
    struct work *w = the_only_value(&works);
    if (!w || bpf_xdp_load_bytes(ctx, 0, &w->frame.eth, FRAME_LEN))
        return XDP_PASS;
    w->frame_len = bpf_xdp_get_buff_len(ctx);
    __u32 len = datagram_len(w);
    if (!len)
        return XDP_PASS;
    const struct port *port = port_of(w);
    if (!port || !copy_packet(ctx, w, len))
        return XDP_PASS;
    w->port = port->index;
    struct connection *c = connection_of(w);
    if (!c)
        return XDP_PASS;
    w->counted = 0;
    __builtin_memset(&w->plan, 0, sizeof w->plan);
    int action = handle(ctx, w, c);
    if (action != XDP_PASS)
        publish_counts(w);
    return action;
}

char _license[] SEC("license") = "Dual BSD/GPL";
