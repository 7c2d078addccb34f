// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// The check of a packet: NH over the payload, SipHash-2-4 over the header and that ([WIRE-3.1], [WIRE-3.2]).
#pragma once
#include "work.h"

#define WORDS_MAX (PAYLOAD_MAX / 8)

// Two words of 32 bits of the payload, with those of the key.
#define PRODUCT(m, k) ((__u64)(__u32)((m)[0] + (k)[0]) * (__u32)((m)[1] + (k)[1]))

// Of the payload in `w`, behind which lie zeros up to a multiple of 8.
__noinline __u64 nh(struct work *w, struct nh_key *key, __u32 len) {
    if (!w || !key || len > PAYLOAD_MAX)
        return 0;
    const __u32 *m = (const __u32 *)w->payload;
    const __u32 *k = (const __u32 *)key->words;
    __u32 words = (len + 7) / 8;
    __u64 sum = 0;
    __u32 i = 0;
    // Verifiers up to that of Linux 6.1 do not see that `i` stays below a number that is not constant, so that it is held
    // against one that is as well, which the compiler would leave out if it knew how long payloads are.
    asm volatile("" : "+r"(words));
    for (; i + 8 <= words && i + 8 <= WORDS_MAX; i += 8) {
        sum += PRODUCT(m + 2 * i, k + 2 * i);
        sum += PRODUCT(m + 2 * i + 2, k + 2 * i + 2);
        sum += PRODUCT(m + 2 * i + 4, k + 2 * i + 4);
        sum += PRODUCT(m + 2 * i + 6, k + 2 * i + 6);
        sum += PRODUCT(m + 2 * i + 8, k + 2 * i + 8);
        sum += PRODUCT(m + 2 * i + 10, k + 2 * i + 10);
        sum += PRODUCT(m + 2 * i + 12, k + 2 * i + 12);
        sum += PRODUCT(m + 2 * i + 14, k + 2 * i + 14);
    }
    for (; i < words && i < WORDS_MAX; i++)
        sum += PRODUCT(m + 2 * i, k + 2 * i);
    return sum;
}

#define ROTATED(x, bits) ((x) << (bits) | (x) >> (64 - (bits)))
#define ROUND()                                                                                                        \
    do {                                                                                                               \
        a += b;                                                                                                        \
        b = ROTATED(b, 13) ^ a;                                                                                        \
        a = ROTATED(a, 32);                                                                                            \
        c += d;                                                                                                        \
        d = ROTATED(d, 16) ^ c;                                                                                        \
        a += d;                                                                                                        \
        d = ROTATED(d, 21) ^ a;                                                                                        \
        c += b;                                                                                                        \
        b = ROTATED(b, 17) ^ c;                                                                                        \
        c = ROTATED(c, 32);                                                                                            \
    } while (0)
#define ABSORB(word)                                                                                                   \
    do {                                                                                                               \
        __u64 absorbed = (word);                                                                                       \
        d ^= absorbed;                                                                                                 \
        ROUND();                                                                                                       \
        ROUND();                                                                                                       \
        a ^= absorbed;                                                                                                 \
    } while (0)

// The check of a header whose payload has this hash.
__noinline __u64 check_of(struct header *header, __u64 payload_nh, __u64 key0, __u64 key1) {
    if (!header)
        return 0;
    const __u64 *words = (const __u64 *)header;
    __u64 a = key0 ^ 0x736f6d6570736575;
    __u64 b = key1 ^ 0x646f72616e646f6d;
    __u64 c = key0 ^ 0x6c7967656e657261;
    __u64 d = key1 ^ 0x7465646279746573;
    for (int i = 0; i < 7; i++)
        ABSORB(words[i]);
    ABSORB(payload_nh);
    ABSORB((__u64)sizeof *header << 56);
    c ^= 0xff;
    ROUND();
    ROUND();
    ROUND();
    ROUND();
    return a ^ b ^ c ^ d;
}

// Whether the packet in `w` is its connection's. Keeps the hash of the payload for an answer that repeats it.
static __always_inline int is_right(struct work *w, struct connection *c) {
    struct nh_key *key = key_of(c->job);
    if (!key)
        return 0;
    w->payload_nh = nh(w, key, w->payload_len);
    return check_of(&w->packet, w->payload_nh, c->theirs[0], c->theirs[1]) == w->packet.check;
}
