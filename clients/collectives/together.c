/*
 * Who has this library. A process without it takes part in nothing that is asked here, so that MPI's own collectives cannot be used for it, and a
 * message to it could be received by its program. Names that MPI publishes are neither.
 *
 * Rank 0 publishes that it is there. Each other that sees so in time publishes its vote, and from then on does what rank 0 decides; one that does not
 * gives up, and never votes. Rank 0 decides for the team if it has all votes in time. So all who have the library decide alike.
 */
#include "collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAME = 400 };
static const char together[] = "together", apart[] = "apart";

/* What this process has published: rank 0 that it is there, and what it has decided; another its vote. */
static struct {
    char name[NAME];
    const char *value;
} published[2];
static int published_len;

static int64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Names are of the launcher: where one has several jobs, each has a name of its own. */
static void full_name(char *name, const char *of) {
    const char *job = getenv("PMIX_NAMESPACE");
    snprintf(name, NAME, "bcl-coll/%s/%s", job ? job : "", of);
}

static bool publish(const char *of, const char *value) {
    char *name = published[published_len].name;
    full_name(name, of);
    if (PMPI_Publish_name(name, MPI_INFO_NULL, value) != MPI_SUCCESS) return false;
    published[published_len++].value = value;
    return true;
}

void unpublish(void) {
    while (published_len > 0) {
        published_len--;
        PMPI_Unpublish_name(published[published_len].name, MPI_INFO_NULL, published[published_len].value);
    }
}

/* Whether it is published within the time; negative is for ever. */
static bool sees(const char *of, char value[MPI_MAX_PORT_NAME], int64_t deadline_ms) {
    char name[NAME];
    useconds_t pause_us = 200;
    full_name(name, of);
    while (PMPI_Lookup_name(name, MPI_INFO_NULL, value) != MPI_SUCCESS) {
        if (deadline_ms >= 0 && now_ms() >= deadline_ms) return false;
        /* Another may still be in MPI_Init, and need something of this process. */
        progress(NULL);
        usleep(pause_us);
        if (pause_us < 2000) pause_us *= 2;
    }
    return true;
}

static bool decide(void) {
    char vote[16], value[MPI_MAX_PORT_NAME];
    int64_t deadline_ms = now_ms() + wait_ms();
    int missing = 0, first = 0;
    if (!publish("there", "yes")) {
        say("collectives are those of the MPI library: its launcher does not publish names, so that it is not known whether all processes have this library; if "
            "they have, set BCL_COLL=all");
        return false;
    }
    for (int rank = 1; rank < world.size; rank++) {
        snprintf(vote, sizeof vote, "%d", rank);
        if (sees(vote, value, deadline_ms)) continue;
        if (missing++ == 0) first = rank;
    }
    if (missing > 0)
        say("collectives are those of the MPI library: %d of %d processes do not have this library within %d ms (BCL_COLL_WAIT_MS), rank %d among them: is it in "
            "LD_PRELOAD there, and on that host?",
            missing, world.size, wait_ms(), first);
    return publish("decision", missing ? apart : together) && !missing;
}

static bool follow(void) {
    char vote[16], value[MPI_MAX_PORT_NAME];
    snprintf(vote, sizeof vote, "%d", world.rank);
    if (!sees("there", value, now_ms() + wait_ms()) || !publish(vote, "yes")) return false;
    return sees("decision", value, -1) && strcmp(value, together) == 0;
}

bool all_have_it(void) {
    return world.rank == 0 ? decide() : follow();
}
