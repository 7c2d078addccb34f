/* The team of all processes, once they know that each of them has this library: MPI's own collectives agree on what it takes. */
#include "collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { ADDRESS = 16 };

struct agreed agreed;
bcl_coll_team *team;

/* In bytes. */
static int64_t setting(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    return text && *text >= '0' && *text <= '9' ? atoll(text) : otherwise;
}

static bool agree(void) {
    unsigned char random[32];
    if (world.rank == 0 && getrandom(random, sizeof random, 0) == sizeof random) {
        for (size_t i = 0; i < sizeof random; i++) snprintf(agreed.key + 2 * i, 3, "%02x", random[i]);
        agreed.broadcast_max = setting("BCL_COLL_BROADCAST_MAX", 65536);
        agreed.allreduce_max = setting("BCL_COLL_ALLREDUCE_MAX", 16384);
    }
    return own_bcast(&agreed, sizeof agreed, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS && agreed.key[0];
}

/* Where others reach this host, as BCL sees it. */
static bool find_address(char address[ADDRESS]) {
    bcl_options options = BCL_OPTIONS_INIT;
    bcl_address own;
    bcl_port *port;
    options.key = agreed.key;
    options.device = BCL_DEVICE_SHM;
    if (bcl_open(&options, &port) != 0) return false;
    bool found = bcl_port_address(port, &own) == 0;
    bcl_close(port);
    snprintf(address, ADDRESS, "%u.%u.%u.%u", own.node >> 24, own.node >> 16 & 255, own.node >> 8 & 255, own.node & 255);
    return found;
}

/* Each once, in the order of ranks, with commas. The processes of a host have the same. */
static void list_hosts(char (*addresses)[ADDRESS], char *hosts) {
    size_t len = 0;
    for (int rank = 0; rank < world.size; rank++) {
        bool is_known = false;
        for (int before = 0; before < rank && !is_known; before++) is_known = strcmp(addresses[before], addresses[rank]) == 0;
        if (!is_known) len += (size_t)sprintf(hosts + len, "%s%s", len ? "," : "", addresses[rank]);
    }
}

static bool join(const char *address, const char *hosts) {
    bcl_options options = BCL_OPTIONS_INIT;
    bbp_options board = BBP_OPTIONS_INIT;
    options.key = agreed.key;
    board.members = (uint32_t)world.size;
    board.member = (uint32_t)world.rank;
    board.hosts = hosts;
    board.address = address;
    board.options = &options;
    return bcl_coll_join("mpi", &board, &team) == 0;
}

/* Whether all processes say so. */
static bool all(bool own) {
    int mine = own, least = 0;
    return own_allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && least;
}

static bool join_all(char (*addresses)[ADDRESS], char *hosts) {
    char address[ADDRESS] = "";
    bool done = find_address(address);
    if (!done) say("no team is possible: %s", bcl_last_error());
    /* All come here, whatever they have found. */
    done &= PMPI_Allgather(address, ADDRESS, MPI_CHAR, addresses, ADDRESS, MPI_CHAR, MPI_COMM_WORLD) == MPI_SUCCESS;
    if (!all(done)) return false;
    list_hosts(addresses, hosts);
    done = join(address, hosts);
    if (!done) say("it cannot join the team of %s: %s", hosts, bcl_last_error());
    if (!all(done)) return false;
    bcl_coll_meanwhile(team, progress, NULL);
    done = bcl_coll_wait_all(team, wait_ms()) == 1;
    if (!done) say("the team of %s does not come together within %d ms (BCL_COLL_WAIT_MS): can each reach the UDP ports 28192 to 32735 of the others?", hosts, wait_ms());
    return all(done);
}

bool join_team(void) {
    char(*addresses)[ADDRESS] = calloc((size_t)world.size, ADDRESS);
    char *hosts = calloc((size_t)world.size, ADDRESS);
    bool done = addresses && hosts && prepare_communicators();
    done = all(done) && agree() && join_all(addresses, hosts);
    free(addresses);
    free(hosts);
    if (done) {
        prepare_types();
    } else {
        if (world.rank == 0) say("collectives are those of the MPI library: there is no team");
        if (team) bcl_coll_leave(team);
        team = NULL;
    }
    return done;
}
