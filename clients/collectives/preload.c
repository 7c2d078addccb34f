/*
 * libbcl-coll.so, for LD_PRELOAD: takes MPI_Barrier, MPI_Bcast and MPI_Allreduce of a program over, whichever MPI library it has.
 *
 * It depends on nothing, for it is loaded into the shells and launchers of a job as well. When a program calls MPI_Init, the object for the ABI of
 * its library is loaded from the folder of this one; as long as there is none, and for whatever it does not want, the library's own functions are
 * called.
 */
#define _GNU_SOURCE
#include "hooks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct real real;
static const struct hooks *hooks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Where a library lies that is loaded but not for everybody to see: an interpreter has loaded it for a module of its. */
static const char *const sonames[] = {"libmpi.so.12", "libmpi.so.40", "libmpich.so.12"};

static void *library(void) {
    void *found = NULL, *init = dlsym(RTLD_NEXT, "PMPI_Init");
    Dl_info info;
    if (init && dladdr(init, &info)) found = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NOW | RTLD_GLOBAL);
    /* Seen by all from now on, so that the object of its ABI finds it. */
    for (size_t i = 0; !found && i < sizeof sonames / sizeof *sonames; i++)
        found = dlopen(sonames[i], RTLD_NOLOAD | RTLD_NOW | RTLD_GLOBAL);
    return found;
}

static void *function(void *mpi, const char *name) {
    void *found = dlsym(mpi, name);
    /* A library that is linked into the program has no name of its own, and dlsym finds this one first. */
    Dl_info own, theirs;
    if (found && dladdr(found, &theirs) && dladdr(&real, &own) && own.dli_fbase == theirs.dli_fbase) found = NULL;
    return found;
}

static void find(void) {
    void *mpi = library();
    if (!mpi || !function(mpi, "PMPI_Init")) {
        fprintf(stderr, "bcl-coll: the MPI library of this program is not found among what it has loaded: start it without LD_PRELOAD\n");
        exit(1);
    }
    *(void **)&real.init = function(mpi, "PMPI_Init");
    *(void **)&real.init_thread = function(mpi, "PMPI_Init_thread");
    *(void **)&real.finalize = function(mpi, "PMPI_Finalize");
    *(void **)&real.barrier = function(mpi, "PMPI_Barrier");
    *(void **)&real.bcast = function(mpi, "PMPI_Bcast");
    *(void **)&real.bcast_c = function(mpi, "PMPI_Bcast_c");
    *(void **)&real.allreduce = function(mpi, "PMPI_Allreduce");
    *(void **)&real.allreduce_c = function(mpi, "PMPI_Allreduce_c");
}

static const struct real *the_real(void) {
    pthread_once(&once, find);
    return &real;
}

/* Once MPI is there. What fails here fails for this process alone, and the others learn that it takes no part. */
static void begin(void) {
    char path[4096];
    const char *setting = getenv("BCL_COLL"), *slash;
    Dl_info own;
    if (hooks || (setting && strcmp(setting, "off") == 0)) return;
    if (!dladdr(&real, &own) || !(slash = strrchr(own.dli_fname, '/'))) return;
    const char *abi = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") ? "openmpi" : "mpich";
    snprintf(path, sizeof path, "%.*s/libbcl-coll-%s.so", (int)(slash - own.dli_fname), own.dli_fname, abi);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object) hooks = dlsym(object, "bcl_coll_hooks");
    if (!hooks) {
        fprintf(stderr, "bcl-coll: collectives are those of the MPI library: %s\n", dlerror());
        return;
    }
    hooks->initialized(the_real());
}

int MPI_Init(int *argc, char ***argv) {
    int status = the_real()->init(argc, argv);
    if (status == 0) begin();
    return status;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int status = the_real()->init_thread(argc, argv, required, provided);
    if (status == 0) begin();
    return status;
}

int MPI_Finalize(void) {
    if (hooks) hooks->finalizing();
    int status = the_real()->finalize();
    if (hooks) hooks->finalized();
    return status;
}

int MPI_Barrier(handle comm) {
    int result;
    if (hooks && hooks->barrier(comm, &result)) return result;
    return the_real()->barrier(comm);
}

int MPI_Bcast(void *buffer, int count, handle type, int root, handle comm) {
    int result;
    if (hooks && hooks->bcast(buffer, count, type, root, comm, &result)) return result;
    return the_real()->bcast(buffer, count, type, root, comm);
}

int MPI_Bcast_c(void *buffer, int64_t count, handle type, int root, handle comm) {
    int result;
    if (hooks && hooks->bcast(buffer, count, type, root, comm, &result)) return result;
    return the_real()->bcast_c(buffer, count, type, root, comm);
}

int MPI_Allreduce(const void *in, void *out, int count, handle type, handle op, handle comm) {
    int result;
    if (hooks && hooks->allreduce(in, out, count, type, op, comm, &result)) return result;
    return the_real()->allreduce(in, out, count, type, op, comm);
}

int MPI_Allreduce_c(const void *in, void *out, int64_t count, handle type, handle op, handle comm) {
    int result;
    if (hooks && hooks->allreduce(in, out, count, type, op, comm, &result)) return result;
    return the_real()->allreduce_c(in, out, count, type, op, comm);
}

/* What Open MPI's bindings for Fortran call. */
#define ALSO(name) __attribute__((alias(#name))) extern __typeof__(name) P##name
ALSO(MPI_Init);
ALSO(MPI_Init_thread);
ALSO(MPI_Finalize);
ALSO(MPI_Barrier);
ALSO(MPI_Bcast);
ALSO(MPI_Allreduce);
