/* Between preload.c, which knows no MPI library's header, and the object for the library of the program, which is compiled with one. */
#ifndef HOOKS_H
#define HOOKS_H

#include <stdint.h>

/* A communicator, datatype or operation: an int in one ABI, a pointer in the other. It is handed on as it came, in a register of its own. */
typedef uintptr_t handle;

/* The library's own functions. Those with long counts are NULL if it has none. */
struct real {
    int (*init)(int *argc, char ***argv);
    int (*init_thread)(int *argc, char ***argv, int required, int *provided);
    int (*finalize)(void);
    int (*barrier)(handle comm);
    int (*bcast)(void *buffer, int count, handle type, int root, handle comm);
    int (*bcast_c)(void *buffer, int64_t count, handle type, int root, handle comm);
    int (*allreduce)(const void *in, void *out, int count, handle type, handle op, handle comm);
    int (*allreduce_c)(const void *in, void *out, int64_t count, handle type, handle op, handle comm);
};

/* What the object for an ABI has, under the name `bcl_coll_hooks`. Calls store what MPI shall return at `result` and return 1, or return 0: the
   library is to do it. */
struct hooks {
    void (*initialized)(const struct real *real);
    /* Around MPI_Finalize. */
    void (*finalizing)(void);
    void (*finalized)(void);
    int (*barrier)(handle comm, int *result);
    int (*bcast)(void *buffer, int64_t count, handle type, int root, handle comm, int *result);
    int (*allreduce)(const void *in, void *out, int64_t count, handle type, handle op, handle comm, int *result);
};

#endif
