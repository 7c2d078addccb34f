/*
 * bcl_coll.h - collective operations: what a group of processes does together.
 *
 *     bcl_coll_team *team;
 *     bcl_coll *all;
 *     double residual = 0.25;
 *     if (bcl_coll_join("solver", NULL, &team) != 0 || bcl_coll_group(team, NULL, 0, 0, &all) != 0)
 *         fprintf(stderr, "%s\n", bcl_last_error());
 *     bcl_coll_allreduce(all, BCL_ADI_SUM, BCL_ADI_DOUBLE, &residual, 1);
 *     bcl_coll_barrier(all);
 *
 * They stand on a billboard (bbp.h), where a message to many is posted once: a broadcast is one post, whoever reads it, and of a reduction
 * all have the result after one message or two. For short data; long ones go in pieces. Part of libbcl, and used beside bcl.h, whose
 * errors and sentences it has.
 *
 * ERRORS. As in bcl.h: 0 or a negative BCL_ERR_*, and the sentence from bcl_last_error. Of all calls of a group: BCL_ERR_INVALID, BCL_ERR_CLOSED,
 * BCL_ERR_FORKED; BCL_ERR_PEER_GONE if a process has ended that this one waits for; BCL_ERR_PROTOCOL if processes of the group do not call the same in the
 * same order, with the same lengths; between hosts BCL_ERR_UNREACHABLE and BCL_ERR_BUSY, as in bbp.h. What a call that fails was to fill may be
 * filled in part. After one that fails with another code than BCL_ERR_INVALID the group can do nothing more, and calls of the others fail too. [COLL-1.4]
 *
 * OWNERSHIP. A call that returns has copied what was given. Lists and structures are not kept.
 *
 * BLOCKING. All calls of a group but bcl_coll_release wait for the others that they need something of.
 *
 * THREADS. Any number of threads may use a team. One at a time may be in a call of a group; different groups may be in calls at the same
 * time. Cancellation and fork are as of ports, in bcl.h.
 *
 * UNITS. Lengths are bytes, but counts are elements.
 *
 * Names in brackets, as in [COLL-3.1], are rules of spec/collectives.md, which says exactly what a program may rely on.
 */
#ifndef BCL_COLL_H
#define BCL_COLL_H

#include <bbp.h>
#include <bcl.h>
#include <bcl_adi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BCL_COLL_CONTEXT_MAX 16777215 /* greatest context of a group */

/** The processes that do things together, in groups. Only BCL knows what is inside. */
typedef struct bcl_coll_team bcl_coll_team;

/** A group of them. Only BCL knows what is inside. */
typedef struct bcl_coll bcl_coll;

/* -------------------------------------------------------------------------------------------------- groups */

/**
 * Joins a team, which is a billboard that is used for nothing else, and stores it at `team`. `options` are those of bbp_init, and may be
 * NULL: the processes of the job are the members, by rank. Errors as of bbp_init. [COLL-1]
 */
int bcl_coll_join(const char *name, const bbp_options *options, bcl_coll_team **team);

/**
 * Waits until all of the team have joined, `timeout_ms` at most; negative is for ever. Returns 1, or 0 if they have not within the time. Between
 * hosts this is when this host knows of them. BCL_ERR_PEER_GONE: one of them has ended.
 */
int bcl_coll_wait_all(bcl_coll_team *team, int timeout_ms);

/**
 * From now on threads that wait in a call of a group call `call(context)` every 20 to 100 us, and do not sleep longer: for programs that have
 * something else to keep going, such as another communication library. It does not call the team or its groups; several threads may be in it at the same time.
 * BCL_ERR_BUSY: the team has something already, which stays.
 */
int bcl_coll_meanwhile(bcl_coll_team *team, void (*call)(void *context), void *context);

/** Leaves a team. Its groups are released before that. */
int bcl_coll_leave(bcl_coll_team *team);

/**
 * Makes a group of `count` members of a team, in this order, each once, this process among them, and stores it at `group`. With `members` NULL and
 * `count` 0 of all of them. Sends nothing.
 *
 * All of them say the same. Groups that have members in common, and are there at the same time, have different `context`s. [COLL-1.2]
 */
int bcl_coll_group(bcl_coll_team *team, const uint32_t *members, size_t count, uint32_t context, bcl_coll **group);

/** Releases a group. No thread may be in a call of it. Sends nothing. */
int bcl_coll_release(bcl_coll *group);

/** Stores this process's place in the group, from 0, and how many it has. Either place may be NULL. */
int bcl_coll_rank(bcl_coll *group, uint32_t *rank, uint32_t *size);

/* --------------------------------------------------------------------------------------------------- calls */

/** Returns once all of the group have called it. [COLL-3.1] */
int bcl_coll_barrier(bcl_coll *group);

/** Brings `len` bytes of the member of rank `root` to all. The root waits for the others only if it is far ahead. [COLL-3.2] */
int bcl_coll_broadcast(bcl_coll *group, uint32_t root, void *data, size_t len);

/** Brings `len` bytes of each, `own`, to all, one behind the other in the order of ranks, at `all`, which does not overlap `own`. [COLL-3.3] */
int bcl_coll_allgather(bcl_coll *group, const void *own, size_t len, void *all);

/**
 * Combines `count` elements of each, at their places, in the order of ranks; the root's `data` are the result then, and those of others as they
 * were. `function` is one of BCL_ADI_MIN to BCL_ADI_BIT_XOR, and `type` one of BCL_ADI_INT8 and so on. [COLL-3.4]
 */
int bcl_coll_reduce(bcl_coll *group, uint32_t root, uint32_t function, uint32_t type, void *data, size_t count);

/** The same, and all get the result, to the last bit. [COLL-3.4] */
int bcl_coll_allreduce(bcl_coll *group, uint32_t function, uint32_t type, void *data, size_t count);

#ifdef __cplusplus
}
#endif

#endif
