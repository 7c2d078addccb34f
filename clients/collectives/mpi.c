/* The MPI library, as the rest of this object sees it; and what preload.c calls. */
#include "collectives.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world world;
static struct real real;

MPI_Comm comm_of(handle value) {
    return (MPI_Comm)value;
}

MPI_Datatype type_of(handle value) {
    return (MPI_Datatype)value;
}

MPI_Op op_of(handle value) {
    return (MPI_Op)value;
}

int own_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return real.bcast(buffer, count, (handle)type, root, (handle)comm);
}

int own_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return real.allreduce(in, out, count, (handle)type, (handle)op, (handle)comm);
}

void say(const char *format, ...) {
    char line[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    fprintf(stderr, "bcl-coll: rank %d: %s\n", world.rank, line);
}

int wait_ms(void) {
    const char *text = getenv("BCL_COLL_WAIT_MS");
    int value = text ? atoi(text) : 0;
    return value > 0 ? value : 2000;
}

/* Each of these gives the same on all processes that come to it. */
static bool begins(void) {
    const char *setting = getenv("BCL_COLL");
    MPI_Comm parent;
    if (world.size < 2) return false;
    if (world.size > BBP_MEMBERS_MAX) {
        if (world.rank == 0) say("collectives are those of the MPI library: at most %d processes are possible", BBP_MEMBERS_MAX);
        return false;
    }
    /* Names are published for a launcher, not for one of its worlds. */
    if (PMPI_Comm_get_parent(&parent) != MPI_SUCCESS || parent != MPI_COMM_NULL) return false;
    if (setting && strcmp(setting, "all") == 0) return join_team();
    return all_have_it() && join_team();
}

static void initialized(const struct real *theirs) {
    MPI_Errhandler on_world, on_self;
    real = *theirs;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
    PMPI_Comm_group(MPI_COMM_WORLD, &world.group);
    /* What is tried here may fail. */
    PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &on_world);
    PMPI_Comm_get_errhandler(MPI_COMM_SELF, &on_self);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!start_progress() || !begins()) stop_progress();
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, on_world);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, on_self);
    PMPI_Errhandler_free(&on_world);
    PMPI_Errhandler_free(&on_self);
}

static bcl_coll_team *left_last;

static void finalizing(void) {
    left_last = team;
    report();
    if (team) {
        release_communicators();
        stop_progress();
        team = NULL;
    }
    unpublish();
    PMPI_Group_free(&world.group);
}

/* Others need what this process has posted last until they are there as well. */
static void finalized(void) {
    if (left_last) bcl_coll_leave(left_last);
}

int barrier(handle comm, int *result);
int bcast(void *buffer, int64_t count, handle type, int root, handle comm, int *result);
int allreduce(const void *in, void *out, int64_t count, handle type, handle op, handle comm, int *result);

__attribute__((visibility("default"))) const struct hooks bcl_coll_hooks = {
    initialized, finalizing, finalized, barrier, bcast, allreduce,
};
