/* What the files of an object for one ABI have of each other. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include "hooks.h"

#include <bcl_coll.h>
#include <mpi.h>
#include <stdbool.h>

/* ---------------------------------------------------------------------------------------- mpi.c: the library */

/* This process in MPI_COMM_WORLD. */
struct world {
    int rank, size;
    MPI_Group group;
};
extern struct world world;

/* The library's own collectives, with its own types. */
int own_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int own_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
MPI_Comm comm_of(handle value);
MPI_Datatype type_of(handle value);
MPI_Op op_of(handle value);

/* How long others are waited for in MPI_Init. */
int wait_ms(void);

/* Writes a line of this rank to stderr. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* ------------------------------------------------------------------------------------- together.c: who has this */

/* Whether all processes of the world have this library, on which they agree; called by each that has it, and by those who have it only. */
bool all_have_it(void);

/* Takes back what was published for that. */
void unpublish(void);

/* -------------------------------------------------------------------------------------------- team.c: the team */

/* What all processes do alike, as rank 0 has it. */
struct agreed {
    char key[65];
    int64_t broadcast_max, allreduce_max;
};
extern struct agreed agreed;

/* NULL as long as there is none. */
extern bcl_coll_team *team;

/* Joins the team of the world, with all others. False: nobody has a team. */
bool join_team(void);

/* ---------------------------------------------------------------------------------------- progress.c: progress */

/* From start to stop, `progress` has the library do all that there is to do. */
bool start_progress(void);
void progress(void *unused);
void stop_progress(void);

/* ------------------------------------------------------------------------------ communicator.c: communicators */

struct communicator {
    bcl_coll *group; /* NULL: the library's own collectives */
    int size;
    uint32_t context;
    struct communicator *next, **before;
};

bool prepare_communicators(void);

/* That of a communicator, or NULL if it is none. The first time that all of its members ask for it they agree on one. */
struct communicator *communicator_of(MPI_Comm comm);

/* Releases the groups of all. */
void release_communicators(void);

/* --------------------------------------------------------------------------------- types.c: elements, functions */

void prepare_types(void);

/* That of bcl_adi.h, or 0. Types that are found lie one behind another without gaps. */
uint32_t element_of(MPI_Datatype type);

/* That of bcl_adi.h that does the same with elements of this type, or 0. */
uint32_t function_of(MPI_Op op, uint32_t element);

/* -------------------------------------------------------------------------------------------- report.c: counts */

enum call { BARRIER, BROADCAST, ALLREDUCE, CALLS };

/* A call was done here, or left to the library. */
void count_call(enum call call, bool is_ours);

/* Tells of them, if that is wanted. */
void report(void);

#endif
