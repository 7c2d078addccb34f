/*
 * bcl_reflect.h - reflective memory: a region that each of its members writes and all see.
 *
 *     bcl_reflect *region;
 *     const void *memory;
 *     if (bcl_reflect_join("positions", 1 << 20, 0, 0, NULL, &region) != 0
 *         || bcl_reflect_memory(region, &memory, NULL) != 0)
 *         fprintf(stderr, "%s\n", bcl_last_error());
 *
 * Members are processes of one job, on one host or on several. A member reads with plain loads and writes by calls; what it
 * writes the others find at the same offset: those of its host at once, those of others as soon as the network has brought it there. Nobody takes a lock. As in SCRAMNet, the writes of one member are seen in order, and
 * members that write to the same word at the same time are not ordered. Part of libbcl, and used beside bcl.h, whose errors,
 * options and sentences it has.
 *
 * ERRORS. As in bcl.h: 0 or a negative BCL_ERR_*, and the sentence from bcl_last_error. A call that fails has done nothing.
 *
 * OWNERSHIP. What is written is copied. The memory that is read belongs to the region, and is there until it is left. Strings and
 * structures are not kept.
 *
 * BLOCKING. bcl_reflect_join takes as long as others need who are just making the region, at most 5 seconds; between hosts a second if
 * one of them does not answer, and until what was written is here. bcl_reflect_wait and bcl_reflect_wait_reached take as long as they are
 * told to. Between hosts bcl_reflect_write and bcl_reflect_store wait while others take more slowly than this member writes, which ends when
 * they do or are missed (3 seconds), and bcl_reflect_leave of the last member of a host until others have what was written there, 3 seconds at
 * most. No other call blocks.
 *
 * THREADS. Any number of threads may use a region. Cancellation and fork are as of ports, in bcl.h: in a child the region belongs to the
 * parent, and its memory can be read only.
 *
 * UNITS. Lengths and offsets are bytes, times milliseconds.
 *
 * Names in brackets, as in [REFLECT-3.3], are rules of spec/reflect.md, which says exactly what a program may rely on.
 */
#ifndef BCL_REFLECT_H
#define BCL_REFLECT_H

#include <bcl.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BCL_REFLECT_NAME_MAX 64              /* longest name of a region, bytes */
#define BCL_REFLECT_MEMBERS_MAX 256          /* most members of a region */
#define BCL_REFLECT_LEN_MAX UINT64_C(4294967296) /* longest region, bytes */

/** A region that this process is a member of. Only BCL knows what is inside. */
typedef struct bcl_reflect bcl_reflect;

/* --------------------------------------------------------------------------------------- coming and going */

/**
 * Joins the region `name` of `len` bytes, a multiple of 8, and stores it at `region`. Who comes first makes it, of zeros.
 *
 * `members` is how many there can be, and `member` which of them this process is, from 0. If `members` is 0 both come from the job
 * that the process was started in (BCL_SIZE, BCL_RANK), whatever `member` is. All have to say the same `members` and `len`.
 * `options` may be NULL; of them only the folder and the key count, and the same name under another key is another region. [REFLECT-1]
 *
 * BCL_ERR_BUSY: another process is this member. BCL_ERR_INVALID: an argument is wrong, or not what the others say.
 * BCL_ERR_UNREACHABLE: those who have the region do not hand it over. BCL_ERR_CONFIGURATION, BCL_ERR_FOLDER,
 * BCL_ERR_NO_MEMORY, BCL_ERR_NO_DESCRIPTORS and BCL_ERR_SYSTEM as in bcl_open.
 */
int bcl_reflect_join(const char *name, uint64_t len, uint32_t members, uint32_t member, const bcl_options *options,
                     bcl_reflect **region);

/**
 * The same for a region of several hosts: `hosts` is their addresses, IPv4 or IPv6, separated by commas, the own among them or not, and
 * `address` the one that the others know this host by; NULL if only one of `hosts` is an address of this machine.
 *
 * In a job of `bcl run --hosts`, bcl_reflect_join does so by itself (BCL_HOSTS, BCL_NODE). The hosts exchange UDP datagrams at ports from
 * 28192 to 32735, by IP multicast where it reaches them (BCL_MULTICAST=off: not so), which the job's key authenticates. [REFLECT-8] BCL_ERR_SYSTEM: also if no such port can be had.
 */
int bcl_reflect_join_hosts(const char *name, uint64_t len, uint32_t members, uint32_t member, const char *hosts,
                           const char *address, const bcl_options *options, bcl_reflect **region);

/**
 * Leaves a region. What was written stays for as long as others are there; they learn that this member has left. Threads in
 * bcl_reflect_wait return with BCL_ERR_CLOSED, and no thread may begin a call on the region after this. [REFLECT-1.4]
 */
int bcl_reflect_leave(bcl_reflect *region);

/** Stores which member this process is, and how many there can be. Either place may be NULL. */
int bcl_reflect_member(bcl_reflect *region, uint32_t *member, uint32_t *members);

/* ---------------------------------------------------------------------------------------- reading, writing */

/**
 * Stores where the region lies, aligned to a page, and its length. Either place may be NULL.
 *
 * The memory is to be read only: a store there ends the process by SIGSEGV. Others write at any moment, so read it as volatile or
 * atomic, in aligned pieces of up to 8 bytes, which are whole. Who has seen a word by bcl_reflect_load, or by a load that
 * acquires, sees by later loads what the same member wrote before it. [REFLECT-3]
 */
int bcl_reflect_memory(bcl_reflect *region, const void **memory, uint64_t *len);

/**
 * Writes `len` bytes. Returns when the members of this host see them. BCL_ERR_INVALID beyond the end. [REFLECT-3.3]
 *
 * Between hosts also BCL_ERR_UNREACHABLE, if the process that sends for all of this host is stopped, and BCL_ERR_BUSY, if another process has
 * become this member on another host while that could not be reached; with these a part may have been written.
 */
int bcl_reflect_write(bcl_reflect *region, uint64_t offset, const void *data, size_t len);

/** Writes the word of 8 bytes at `offset`, a multiple of 8: what to tell others with that something has been written. */
int bcl_reflect_store(bcl_reflect *region, uint64_t offset, uint64_t value);

/** Stores the word of 8 bytes at `offset`, a multiple of 8, at `value`. What is read after it is no older. */
int bcl_reflect_load(bcl_reflect *region, uint64_t offset, uint64_t *value);

/** Copies `len` bytes to `data`, words whole, but not all of them of the same moment. */
int bcl_reflect_read(bcl_reflect *region, uint64_t offset, void *data, size_t len);

/**
 * Waits until the word at `offset`, a multiple of 8, is not `value_before`, and stores what it is at `value`, which may be NULL.
 *
 * `timeout_ms` negative: for ever. Returns 1 if the word is another, 0 if the time is over, BCL_ERR_PEER_GONE if a member has ended
 * of which bcl_reflect_news has not told yet. Polls without a system call, and sleeps if nothing comes. [REFLECT-4]
 */
int bcl_reflect_wait(bcl_reflect *region, uint64_t offset, uint64_t value_before, uint64_t *value, int timeout_ms);

/** Stores where what this member has written ends so far: what to wait for with bcl_reflect_wait_reached. 0 in a region of one host. */
int bcl_reflect_written(bcl_reflect *region, uint64_t *position);

/**
 * Waits until so many members, this one among them, have all that this one had written at `position`; 0 is all that are known to be
 * there, and who ends meanwhile is not waited for. Stores at `reached`, which may be NULL, how many have it.
 *
 * `timeout_ms` negative: for ever. Returns 1 if those are enough, 0 if the time is over. Errors as of bcl_reflect_write. [REFLECT-9.3]
 */
int bcl_reflect_wait_reached(bcl_reflect *region, uint64_t position, uint32_t members, uint32_t *reached, int timeout_ms);

/* ----------------------------------------------------------------------------------------------- members */

enum { /* life of bcl_reflect_life */
    BCL_REFLECT_NEVER = 0, /* nobody has joined as it */
    BCL_REFLECT_THERE = 1, /* it is there */
    BCL_REFLECT_GONE = 2   /* it was there; cause says how it ended */
};

/** What is known of a member. */
typedef struct bcl_reflect_life {
    uint32_t member;
    uint32_t life;        /* BCL_REFLECT_NEVER, ..._THERE, ..._GONE */
    uint32_t cause;       /* BCL_CAUSE_*, of ..._GONE */
    int32_t cause_detail; /* exit status or signal */
} bcl_reflect_life;

/** Stores at `life` what is known of a member. BCL_ERR_INVALID if the region has no such member. */
int bcl_reflect_ask(bcl_reflect *region, uint32_t member, bcl_reflect_life *life);

/**
 * Stores at `life` a member that has come or ended since this process has joined, and that it was not told of yet. Returns 1, or 0 if
 * there is none. One that has come and ended again may be told once only. [REFLECT-5.2]
 */
int bcl_reflect_news(bcl_reflect *region, bcl_reflect_life *life);

#ifdef __cplusplus
}
#endif

#endif
