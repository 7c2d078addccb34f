/* What stands for a communicator: a group of the team, if all of its members are in that. */
#include "collectives.h"

#include <pthread.h>
#include <stdlib.h>

/* A context is the rank in the world of a communicator's first member, and a number that this has given. So members of several communicators agree
   on each without agreeing on all: nobody waits for others that agree on another one. */
enum { NUMBERS = 1 << 16 };
static const uint32_t none = UINT32_MAX;
static bool is_taken[NUMBERS];
static uint32_t next_number;

static int keyval = MPI_KEYVAL_INVALID;
static struct communicator *communicators;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t take_context(void) {
    uint32_t context = none;
    pthread_mutex_lock(&lock);
    /* In turn, so that one comes again as late as possible. */
    for (int i = 0; i < NUMBERS && context == none; i++) {
        uint32_t number = next_number++ % NUMBERS;
        if (!is_taken[number]) {
            is_taken[number] = true;
            context = (uint32_t)world.rank * NUMBERS + number;
        }
    }
    pthread_mutex_unlock(&lock);
    return context;
}

static void link_in(struct communicator *it) {
    pthread_mutex_lock(&lock);
    it->next = communicators;
    it->before = &communicators;
    if (it->next) it->next->before = &it->next;
    communicators = it;
    pthread_mutex_unlock(&lock);
}

static void release(struct communicator *it) {
    pthread_mutex_lock(&lock);
    *it->before = it->next;
    if (it->next) it->next->before = it->before;
    if (it->context != none && it->context / NUMBERS == (uint32_t)world.rank) is_taken[it->context % NUMBERS] = false;
    pthread_mutex_unlock(&lock);
    if (it->group) bcl_coll_release(it->group);
    free(it);
}

/* The communicator is freed; nobody is in a call of it. */
static int freed(MPI_Comm comm, int key, void *value, void *unused) {
    (void)comm, (void)key, (void)unused;
    release(value);
    return MPI_SUCCESS;
}

/* Of a duplicate, its members agree anew. */
bool prepare_communicators(void) {
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &keyval, NULL) == MPI_SUCCESS;
}

/* The members of a communicator in the team; NULL if some are not in it, or if it has two groups: the same on all of them. */
static uint32_t *members_of(MPI_Comm comm, int *size) {
    MPI_Group group;
    int is_inter = 1;
    *size = 0;
    if (PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter) return NULL;
    PMPI_Comm_size(comm, size);
    if (*size < 2 || PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return NULL;
    int *ranks = malloc((size_t)*size * sizeof *ranks), *in_world = malloc((size_t)*size * sizeof *in_world);
    uint32_t *members = malloc((size_t)*size * sizeof *members);
    bool are_in = ranks && in_world && members;
    if (are_in) {
        for (int i = 0; i < *size; i++) ranks[i] = i;
        PMPI_Group_translate_ranks(group, *size, ranks, world.group, in_world);
        for (int i = 0; i < *size; i++) {
            are_in &= in_world[i] != MPI_UNDEFINED;
            members[i] = (uint32_t)in_world[i];
        }
    }
    PMPI_Group_free(&group);
    free(ranks);
    free(in_world);
    if (are_in) return members;
    free(members);
    return NULL;
}

static void agree(MPI_Comm comm, struct communicator *it, const uint32_t *members) {
    if (members[0] == (uint32_t)world.rank) it->context = take_context();
    if (own_bcast(&it->context, 1, MPI_UINT32_T, 0, comm) != MPI_SUCCESS || it->context == none) return;
    if (bcl_coll_group(team, members, (size_t)it->size, it->context, &it->group) != 0) {
        /* The others have it, and will wait. */
        say("a communicator of %d: %s", it->size, bcl_last_error());
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static struct communicator *create(MPI_Comm comm) {
    struct communicator *it = calloc(1, sizeof *it);
    if (!it) {
        say("no memory for a communicator");
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    it->context = none;
    uint32_t *members = members_of(comm, &it->size);
    if (members) agree(comm, it, members);
    free(members);
    link_in(it);
    PMPI_Comm_set_attr(comm, keyval, it);
    return it;
}

struct communicator *communicator_of(MPI_Comm comm) {
    struct communicator *it;
    int is_there = 0;
    if (PMPI_Comm_get_attr(comm, keyval, &it, &is_there) != MPI_SUCCESS) return NULL;
    return is_there ? it : create(comm);
}

void release_communicators(void) {
    for (struct communicator *it = communicators; it; it = it->next) {
        if (it->group) bcl_coll_release(it->group);
        it->group = NULL;
    }
    PMPI_Comm_free_keyval(&keyval);
}
