/* How many calls were done here, and how many by the MPI library: written at the end if BCL_COLL_REPORT says so. */
#include "collectives.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_ullong calls[CALLS][2];

void count_call(enum call call, bool is_ours) {
    atomic_fetch_add_explicit(&calls[call][is_ours], 1, memory_order_relaxed);
}

void report(void) {
    const char *wanted = getenv("BCL_COLL_REPORT");
    if (!wanted || strcmp(wanted, "1") != 0) return;
    unsigned long long is[CALLS][2];
    for (int call = 0; call < CALLS; call++)
        for (int ours = 0; ours < 2; ours++) is[call][ours] = atomic_load(&calls[call][ours]);
    say("barriers %llu, by the library %llu; broadcasts %llu, %llu; allreduces %llu, %llu", is[BARRIER][1], is[BARRIER][0], is[BROADCAST][1],
        is[BROADCAST][0], is[ALLREDUCE][1], is[ALLREDUCE][0]);
}
