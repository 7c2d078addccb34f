/*
 * bbp.h - the BillBoard Protocol: messages that are posted once and read by many.
 *
 *     bbp *board;
 *     bbp_message message;
 *     char text[64];
 *     if (bbp_init("work", NULL, &board) != 0)
 *         fprintf(stderr, "%s\n", bcl_last_error());
 *     bbp_mcast(board, NULL, 0, "begin", 5, -1);
 *     bbp_recv(board, BBP_ANY, text, sizeof text, &message, -1);
 *
 * Members are processes of one job, on one host or on several. A member posts a message in a place that only it writes, and toggles a
 * flag for each member that it is for; who has read it toggles one of its own. So nobody takes a lock, a multicast costs little more than
 * one message, and messages of one member to another arrive in the order in which they were posted. After "Low-Latency Message Passing
 * on Workstation Clusters using SCRAMNet". Part of libbcl, and used beside bcl.h, whose errors, options and sentences it has; it stands
 * on bcl_reflect.h.
 *
 * ERRORS. As in bcl.h: a negative BCL_ERR_*, and the sentence from bcl_last_error. A call that fails has posted nothing and lost no
 * message. Of all calls: BCL_ERR_INVALID, BCL_ERR_CLOSED, BCL_ERR_FORKED; between hosts also BCL_ERR_UNREACHABLE, if the process that sends for all of
 * this host is stopped, and BCL_ERR_BUSY, if another process has become this member on another host while that could not be reached.
 *
 * OWNERSHIP. What is posted is copied, and what is received is a copy. Strings and structures are not kept.
 *
 * BLOCKING. Calls with `timeout_ms` wait so long at most; negative is for ever, 0 is not to wait. bbp_init takes as long as
 * bcl_reflect_join. No other call blocks.
 *
 * THREADS. Any number of threads may use a board. Those that post take turns, and so do those that receive, but not while they wait.
 * Cancellation and fork are as of ports, in bcl.h.
 *
 * UNITS. Lengths are bytes, times milliseconds.
 *
 * Names in brackets, as in [BBP-3.3], are rules of spec/billboard.md, which says exactly what a program may rely on.
 */
#ifndef BBP_H
#define BBP_H

#include <bcl.h>
#include <bcl_reflect.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BBP_NAME_MAX 59                   /* longest name of a board, bytes */
#define BBP_MEMBERS_MAX 256               /* most members of a board */
#define BBP_DATA 262144                   /* room for each member's messages, if nothing is said */
#define BBP_DATA_MAX UINT64_C(1073741824) /* most room */
#define BBP_ANY UINT32_MAX                /* in place of a member: whichever has a message */

/** A billboard that this process is a member of. Only BCL knows what is inside. */
typedef struct bbp bbp;

/* --------------------------------------------------------------------------------------- coming and going */

/** Settings of bbp_init. Start from BBP_OPTIONS_INIT, with which the processes of a job of `bcl run` are the members, by rank. */
typedef struct bbp_options {
    size_t size;                /* sizeof(bbp_options); set by BBP_OPTIONS_INIT, so that the structure can grow */
    uint32_t members;           /* how many there can be; 0: this process's job says, and which of them this is (BCL_SIZE, BCL_RANK) */
    uint32_t member;            /* which of them this process is, from 0 */
    uint64_t data;              /* room for each member's messages that not all have read, and so the longest: a multiple of 64; 0: BBP_DATA */
    const char *hosts;          /* addresses of the hosts that members are on, with commas; NULL: those of the job, else this host only */
    const char *address;        /* the one that the others know this host by; NULL: the one of `hosts` that is this machine's */
    const bcl_options *options; /* of them only the folder and the key count; NULL: as the environment says */
} bbp_options;

#define BBP_OPTIONS_INIT {sizeof(bbp_options), 0, 0, 0, NULL, NULL, NULL}

/**
 * Joins the board `name`, and stores it at `board`. `options` may be NULL, which is BBP_OPTIONS_INIT. All members have to say the same
 * `members` and `data`. Others need not be there: what is posted for them waits until they come. [BBP-1]
 *
 * BCL_ERR_BUSY: another process is this member. BCL_ERR_INVALID: an argument is wrong, or not what the others say. Others as of
 * bcl_reflect_join.
 */
int bbp_init(const char *name, const bbp_options *options, bbp **board);

/**
 * Leaves a board. What was posted stays for those it is for, as long as others are there; they learn that this member has left. Threads that
 * wait return with BCL_ERR_CLOSED, and no thread may begin a call on the board after this.
 */
int bbp_finalize(bbp *board);

/** Stores which member this process is, and how many there can be. Either place may be NULL. */
int bbp_member(bbp *board, uint32_t *member, uint32_t *members);

/* ----------------------------------------------------------------------------------------------- messages */

/**
 * Posts a message of `len` bytes for the member `to`, and returns 0 once it is posted. Waits while there is no room. [BBP-3]
 *
 * BCL_ERR_AGAIN: there is no room within the time, as the sentence says because of whom. BCL_ERR_PEER_GONE: the member has ended.
 */
int bbp_send(bbp *board, uint32_t to, const void *data, size_t len, int timeout_ms);

/**
 * The same for `count` members at once: one message, which each of them reads. With `to` NULL, and `count` 0, for all others that have not
 * ended.
 *
 * BCL_ERR_PEER_GONE: one of those in `to` has ended, and nothing was posted.
 */
int bbp_mcast(bbp *board, const uint32_t *to, size_t count, const void *data, size_t len, int timeout_ms);

/** A message that has been received, or is there to be. */
typedef struct bbp_message {
    uint32_t from;     /* who has posted it */
    uint32_t reserved; /* zero */
    uint64_t len;      /* its length */
} bbp_message;

/**
 * Takes the next message of the member `from`, or with BBP_ANY of whichever has one, of several in turn, into `buffer`, and stores at
 * `message`, which may be NULL, whose it is and how long. Returns 1, or 0 if there is none within the time. [BBP-3.4]
 *
 * BCL_ERR_TRUNCATED: it is longer than `room`, and stays; `message` tells its length. BCL_ERR_PEER_GONE: there is no message, and `from` has ended, or with BBP_ANY
 * bbp_event has still to tell of somebody who has. BCL_ERR_PROTOCOL: a member has written something that makes no sense, which is passed over.
 */
int bbp_recv(bbp *board, uint32_t from, void *buffer, size_t room, bbp_message *message, int timeout_ms);

/** Tells of the message that bbp_recv would take, which stays where it is. Returns 1, or 0 if there is none within the time; errors as there. */
int bbp_msgavail(bbp *board, uint32_t from, bbp_message *message, int timeout_ms);

/** Waits until all that this process has posted has been read, but by those who have ended. Returns 1, or 0 if it has not within the time. */
int bbp_flush(bbp *board, int timeout_ms);

/* ------------------------------------------------------------------------------------------------- members */

/** A member that has come or ended. */
typedef struct bbp_change {
    bcl_reflect_life member; /* which, and how; as of bcl_reflect.h */
    uint32_t taken_back;     /* so many messages that were posted for it here, and that it has not read, were taken back */
    uint32_t reserved;       /* zero */
} bbp_change;

/**
 * Stores at `change` a member that has come or ended since this process has joined, and that it was not told of yet. Returns 1, or 0 if
 * there is none. [BBP-4]
 */
int bbp_event(bbp *board, bbp_change *change);

/** Stores at `life` what is known of a member. BCL_ERR_INVALID if the board has no such member. */
int bbp_ask(bbp *board, uint32_t member, bcl_reflect_life *life);

#ifdef __cplusplus
}
#endif

#endif
