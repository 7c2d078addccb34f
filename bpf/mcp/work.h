// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// What belongs to one packet while it is dealt with: a copy that nobody changes, and what was decided. One for each CPU.
#pragma once
#include "tables.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>

// What stands before a packet. It begins 6 bytes in, so that all behind the Ethernet header is aligned.
struct frame {
    __u8 pad[6];
    struct ethhdr eth;
    struct iphdr ip;
    struct udphdr udp;
};
#define FRAME_LEN 42
_Static_assert(sizeof(struct frame) == 6 + FRAME_LEN, "no other padding");

#define PAYLOAD_AT (FRAME_LEN + sizeof(struct header))

// Where a packet stands in its connection ([WIRE-5.2]).
enum standing {
    NEXT,
    EARLY,
    DUPLICATE,
    BEYOND,
    UNSEQUENCED,
};

// What goes into the ring.
enum record {
    NO_RECORD,
    WHOLE,  // the packet
    PLACED, // without payload: that is where it belongs
    BARE,   // without payload: only how far the connection has come
};

// What happens to a window.
enum effect {
    NO_EFFECT,
    WRITE,
    READ,
    ADD,
    SWAP,
};

struct plan {
    __u32 standing;
    __u32 record;
    __u32 effect;
    __u32 memory; // of `effect`
    __u64 place;  // the same, in that memory
    __u64 told;   // the place that a record with PLACED tells
    __u32 answer; // kind of the packet that is sent back, or 0
    __u32 answer_len;
    __u32 status; // of an ANSWER
    __u32 dropped; // there was no room for it
    __u64 found;  // by an ATOMIC, for its ANSWER
    __u32 refuses; // from this packet on
    __u32 accepts; // nothing is refused any more
    __u32 keeps;   // `outcome`
    __u32 waits;   // it came early, and the program keeps it until its turn comes
    struct outcome outcome;
};

struct reply {
    struct frame frame;
    struct header header;
    struct ack_body body;
};

struct work {
    struct header packet;
    __u8 payload[PAYLOAD_MAX + 8]; // and zeros for the check
    struct frame frame;
    __u32 port;
    __u32 payload_len;
    __u32 frame_len;
    __u32 counted; // bits, by enum counter
    __u64 payload_nh;
    struct plan plan;
    struct reply reply;
    struct outcomes blank;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct work);
} works SEC(".maps");

// The same length, of something that is to be copied, so that also a verifier before that of Linux 6.8 sees that it is not
// 0: from `len != 0`, which the compiler makes of any other comparison, such learns nothing.
static __always_inline __u32 not_zero(__u32 len) {
    len--;
    asm volatile("" : "+r"(len));
    return (len & 0x3fff) + 1;
}

static __always_inline void count(struct work *w, enum counter what) { w->counted |= 1u << what; }
