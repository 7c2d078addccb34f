// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// What the interface program knows: the tables that the agent fills, and what the program shares with it. The same
// layouts stand in crates/interface/layout, where a test compares them.
#pragma once
#include "packet.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

// A window's memory is made of such blocks, one value of its map each. They lie in memory without gaps.
#define BLOCK_BITS 16
#define BLOCK (1u << BLOCK_BITS)
#define NH_KEY_LEN 9216

struct port_key {
    __be32 address;
    __u16 udp_port;
    __u16 zero;
};

struct port {
    __u32 index;
};

struct connection_key {
    __u32 port;
    __u32 id;
};

struct connection {
    __u32 lock;
    __u32 job;
    __u64 theirs[2]; // key of what the peer sends
    __u64 ours[2];
    __u32 expected; // the oldest sequence that is missing
    __u32 ahead;    // how many bits of `taken` are set
    __u32 due;      // taken and not acknowledged by us
    __u32 is_refusing;
    __u32 refused_message;
    __u32 refused_sequence;
    __u64 taken[16]; // by sequence modulo 1,024
    // The agent's own, who tells the peer of the port's end ([AGENT-7.3]).
    __u8 peer_address[16];
    __u32 peer_udp_port;
    __u32 peer_id;
};

struct nh_key {
    __u64 words[NH_KEY_LEN / 8];
};

// What is remembered of the last PUT or ATOMIC of a slot, so that it is performed once ([MCP-4.5]).
struct outcome {
    __u32 operation;
    __u8 owner;
    __u8 is_done;
    __u8 status;
    __u8 zero;
    __u64 value;
    __u64 start; // where a PUT began
};

// Who performs it.
enum owner {
    NOBODY, // there was none
    MCP,
    PROGRAM,
};

struct outcomes {
    struct outcome slots[SLOTS];
};

struct window_key {
    __u32 port;
    __u32 window;
};

enum access {
    ACCESS_GET = 1,
    ACCESS_PUT = 2,
    ACCESS_ATOMIC = 4,
    ACCESS_NOTIFY = 8,
};

struct window {
    __u32 memory; // which of `memories`
    __u32 access;
    __u64 base; // where in that memory it begins
    __u64 len;  // 0: it is bound to nothing
};

struct block {
    __u8 bytes[BLOCK];
};

#define GRANTS 16
// Windows that peers may be served from have numbers below this.
#define WINDOWS 4096

struct grant {
    __u32 connection;
    __u32 message;
    __u32 window;
    __u32 zero;
    __u64 place;
    __u64 length;
};

// Written by the port's program, at any time ([MCP-6.2]).
struct control {
    __u32 sleeps;
    __u32 refuses_system;
    __u32 grant_count;
    __u32 refuses_early;
    __u32 tells_puts;
    __u8 reserved[44];
    struct grant grants[GRANTS];
    __u8 unused[448];
    __u8 given_back[1024];
    __u8 offered[WINDOWS / 8];
    __u8 rest[1536];
};
_Static_assert(__builtin_offsetof(struct control, grants) == 64, "[MCP-6.2]");
_Static_assert(__builtin_offsetof(struct control, given_back) == 1024, "[MCP-6.3]");
_Static_assert(__builtin_offsetof(struct control, offered) == 2048, "[MCP-6.2]");
_Static_assert(sizeof(struct control) == 4096, "[MCP-6.2]");

// In the order of [MCP-7.1].
enum counter {
    COUNT_PACKETS,
    COUNT_MALFORMED,
    COUNT_CHECK,
    COUNT_BUSY,
    COUNT_NO_ROOM,
    COUNT_DUPLICATE,
    COUNT_BEYOND_WINDOW,
    COUNT_REFUSED,
    COUNT_DISCARDED,
    COUNT_RECORDS,
    COUNT_PLACED,
    COUNT_READ,
    COUNT_ANSWERS,
    COUNT_PROBE_ANSWERS,
    COUNT_NAKS,
    COUNT_ACKS,
    COUNT_WAKES,
    COUNTERS,
};

struct counters {
    __u64 values[512];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 8192);
    __type(key, struct port_key);
    __type(value, struct port);
} ports SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 65536);
    __type(key, struct connection_key);
    __type(value, struct connection);
} connections SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 64);
    __type(key, __u32);
    __type(value, struct nh_key);
} jobs SEC(".maps");

// By port and connection, made when it is needed first.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 16384);
    __type(key, struct connection_key);
    __type(value, struct outcomes);
} outcomes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 16384);
    __type(key, struct window_key);
    __type(value, struct window);
} windows SEC(".maps");

struct memory {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
    __uint(max_entries, 1);
    __type(key, __u32);
    __uint(value_size, sizeof(struct block));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __array(values, struct memory);
} memories SEC(".maps");

// By port: its ring, its control page, its counters.
struct ring {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 65536);
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 8192);
    __type(key, __u32);
    __array(values, struct ring);
} rings SEC(".maps");

struct control_page {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __uint(value_size, sizeof(struct control));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 8192);
    __type(key, __u32);
    __array(values, struct control_page);
} controls SEC(".maps");

struct counters_page {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __uint(value_size, sizeof(struct counters));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 8192);
    __type(key, __u32);
    __array(values, struct counters_page);
} stats SEC(".maps");

// The value of a map that has one.
static __always_inline void *the_only_value(void *map) {
    __u32 key = 0;
    return map ? bpf_map_lookup_elem(map, &key) : 0;
}

// Keys lie on the stack: a verifier before that of Linux 6.2 takes none that came as an argument of a function.
static __always_inline struct control *control_of(__u32 port) {
    return the_only_value(bpf_map_lookup_elem(&controls, &port));
}

static __always_inline void *ring_of(__u32 port) { return bpf_map_lookup_elem(&rings, &port); }

static __always_inline struct counters *counters_of(__u32 port) {
    return the_only_value(bpf_map_lookup_elem(&stats, &port));
}

static __always_inline struct nh_key *key_of(__u32 job) { return bpf_map_lookup_elem(&jobs, &job); }
