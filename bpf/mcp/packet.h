// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// What a packet looks like on its way (spec/wire.md, [WIRE-1.4] and [WIRE-2]). Numbers are little-endian, as this
// machine's are.
#pragma once
#include <linux/types.h>

#define MAGIC 0x4342
#define VERSION 1
#define PAYLOAD_MAX 8896
#define LONG_SYSTEM_MAX 24576
#define PUSHED_MAX 65536
#define READ_MAX 65536
// [MCP-4.5]
#define LONG_PUT 16384
#define SLOTS 64
// [WIRE-1.1]
#define UDP_PORT_OFFSET 20000
#define PORTS 8191

enum kind {
    HELLO = 1,
    WELCOME = 2,
    CONFIRM = 3,
    DATA = 4,
    RTS = 5,
    CTS = 6,
    BODY = 7,
    FIN = 8,
    PUT = 9,
    GET = 10,
    ATOMIC = 11,
    ANSWER = 12,
    ACK = 13,
    NAK = 14,
    REFUSE = 15,
    PROBE = 16,
    PROBE_ANSWER = 17,
    CLOSE = 18,
    PIECE = 19,
    GONE = 20,
};

#define KIND_BIT(kind) (1u << (kind))
#define SEQUENCED_KINDS                                                                                                \
    (KIND_BIT(DATA) | KIND_BIT(RTS) | KIND_BIT(CTS) | KIND_BIT(BODY) | KIND_BIT(FIN) | KIND_BIT(PUT) | KIND_BIT(GET) | \
     KIND_BIT(ATOMIC) | KIND_BIT(CLOSE))

enum flag {
    FIRST = 1,
    LAST = 2,
    UNRELIABLE = 4,
    NOTIFY = 8,
    RETRANSMIT = 16,
    ACK_NOW = 32,
    PADDED = 64,
    IMMEDIATE = 128,
    DIRECT = 256,
};

struct header {
    __u16 magic;
    __u8 version;
    __u8 kind;
    __u16 flags;
    __u16 payload_len;
    __u32 to_connection;
    __u32 from_connection;
    __u16 from_port;
    __u16 to_port;
    __u16 channel;
    __u8 rail;
    __u8 zero;
    __u32 sequence;
    __u32 ack;
    __u32 message;
    __u16 slot;
    __u16 group;
    __u64 offset;
    __u64 length;
    __u64 check;
};
_Static_assert(sizeof(struct header) == 64, "the header has 64 bytes");

// Payload of an ACK ([WIRE-2.8]).
struct ack_body {
    __u64 selective[4];
    __u32 refused_system;
    __u32 refused_normal;
    __u32 delay_ns;
    __u8 refuses_system;
    __u8 refuses_normal;
    __u16 away_us;
};
_Static_assert(sizeof(struct ack_body) == 48, "such a payload has 48 bytes");

static __always_inline int is_sequenced(const struct header *packet) {
    return (SEQUENCED_KINDS >> (packet->kind & 31) & 1) && !(packet->flags & UNRELIABLE);
}

// Whether a number of those that go on at 0 is before another.
static __always_inline int is_before(__u32 a, __u32 b) { return (__s32)(a - b) < 0; }
