// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Fault injector for tests and benchmarks: what a bad network does to the packets that arrive at an interface.
//
//   xdp.frags    loss and corruption, of each packet as it was on the wire
//   tc           duplication and lateness, behind it
//   tc/back      gives packets that were late to the interface that they were meant for
//
// Only UDP and TCP suffer, so that hosts find each other. What happens to a packet depends on the seed and on how many
// came before it. A late packet leaves through `detour`, at whose far end a process holds it back (testing/src/netns).
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// In this order in testing/src/netns/injector.rs; rates in packets of a million.
struct settings {
    __u64 seed;
    __u32 loss_ppm;
    __u32 corruption_ppm;
    __u32 duplication_ppm;
    __u32 lateness_ppm;
    __u32 detour; // interface to which a late packet is sent
    __u32 target; // interface to which `back` gives it
};

struct counters {
    __u64 seen;
    __u64 lost;
    __u64 corrupted;
    __u64 duplicated;
    __u64 late;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct settings);
} settings SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct counters);
} counters SEC(".maps");

// Of a packet that comes by a second time.
#define HAD_ITS_TURN 0xfa017ed

#define PPM 1000000
#define HEADERS_MAX (sizeof(struct ethhdr) + sizeof(struct ipv6hdr) + sizeof(struct tcphdr))

static const __u32 the_only = 0;

// SplitMix64: the number that belongs to a packet, or the one after it.
static __always_inline __u64 scrambled(__u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static __always_inline __u64 random_of(const struct settings *set, __u64 packet) {
    return scrambled(set->seed + (packet + 1) * 0x9e3779b97f4a7c15);
}

static __always_inline int happens(__u64 *random, __u32 rate_ppm) {
    *random = scrambled(*random + 0x9e3779b97f4a7c15);
    return *random % PPM < rate_ppm;
}

// Where the payload of a UDP or TCP packet begins, 0 for any other. All headers lie in `data`, which is a copy.
static __always_inline __u32 payload_offset(const __u8 *data, __u32 len) {
    const struct ethhdr *eth = (void *)data;
    __u32 at = sizeof *eth;
    __u8 protocol;
    if (eth->h_proto == bpf_htons(ETH_P_IP)) {
        const struct iphdr *ip = (void *)(data + at);
        protocol = ip->protocol;
        at += sizeof *ip; // options are not sent by anyone here
    } else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
        const struct ipv6hdr *ip = (void *)(data + at);
        protocol = ip->nexthdr;
        at += sizeof *ip;
    } else {
        return 0;
    }
    if (protocol == IPPROTO_UDP)
        at += sizeof(struct udphdr);
    else if (protocol == IPPROTO_TCP)
        at += sizeof(struct tcphdr);
    else
        return 0;
    return at <= len ? at : 0;
}

// Turns one bit of the payload. Between the ends of a veth nobody fills in or looks at the checksum of UDP and TCP, so
// nothing below the program under test notices.
static __always_inline void corrupt(struct xdp_md *ctx, __u32 from, __u32 len, __u64 random) {
    __u8 byte;
    __u32 at = from + (__u32)(random >> 32) % (len - from);
    if (bpf_xdp_load_bytes(ctx, at, &byte, 1))
        return;
    byte ^= 1 << (random & 7);
    bpf_xdp_store_bytes(ctx, at, &byte, 1);
}

SEC("xdp.frags")
int arrive(struct xdp_md *ctx) {
    __u8 headers[HEADERS_MAX] = {};
    struct settings *set = bpf_map_lookup_elem(&settings, &the_only);
    struct counters *count = bpf_map_lookup_elem(&counters, &the_only);
    if (!set || !count)
        return XDP_ABORTED;
    __u32 len = bpf_xdp_get_buff_len(ctx);
    // Of a packet shorter than all headers together the rest stays zero.
    __u32 copied = len < HEADERS_MAX ? len : HEADERS_MAX;
    if (copied < sizeof(struct ethhdr) || bpf_xdp_load_bytes(ctx, 0, headers, copied))
        return XDP_PASS;
    __u32 payload = payload_offset(headers, len);
    if (!payload)
        return XDP_PASS;
    __u64 random = random_of(set, __sync_fetch_and_add(&count->seen, 1));
    if (happens(&random, set->loss_ppm)) {
        __sync_fetch_and_add(&count->lost, 1);
        return XDP_DROP;
    }
    if (happens(&random, set->corruption_ppm) && payload < len) {
        __sync_fetch_and_add(&count->corrupted, 1);
        corrupt(ctx, payload, len, scrambled(random));
    }
    return XDP_PASS;
}

SEC("tc")
int pass(struct __sk_buff *skb) {
    __u8 headers[HEADERS_MAX] = {};
    struct settings *set = bpf_map_lookup_elem(&settings, &the_only);
    struct counters *count = bpf_map_lookup_elem(&counters, &the_only);
    if (!set || !count)
        return TC_ACT_SHOT;
    if (skb->mark == HAD_ITS_TURN) {
        skb->mark = 0;
        return TC_ACT_OK;
    }
    __u32 copied = skb->len < HEADERS_MAX ? skb->len : HEADERS_MAX;
    if (copied < sizeof(struct ethhdr) || bpf_skb_load_bytes(skb, 0, headers, copied))
        return TC_ACT_OK;
    if (!payload_offset(headers, skb->len))
        return TC_ACT_OK;
    __u64 random = random_of(set, __sync_fetch_and_add(&count->seen, 1));
    if (happens(&random, set->duplication_ppm)) {
        __sync_fetch_and_add(&count->duplicated, 1);
        skb->mark = HAD_ITS_TURN;
        bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
        skb->mark = 0;
    }
    if (happens(&random, set->lateness_ppm)) {
        __sync_fetch_and_add(&count->late, 1);
        return bpf_redirect(set->detour, 0);
    }
    return TC_ACT_OK;
}

SEC("tc/back")
int back(struct __sk_buff *skb) {
    struct settings *set = bpf_map_lookup_elem(&settings, &the_only);
    if (!set)
        return TC_ACT_SHOT;
    skb->mark = HAD_ITS_TURN;
    return bpf_redirect(set->target, BPF_F_INGRESS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
