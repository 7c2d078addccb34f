/* Barriers, broadcasts and allreduces on random communicators, with random roots, counts and types: their results are those of MPI_Ibcast and MPI_Iallreduce,
   which are the library's own where the others are BCL's (clients/collectives). */
#include "check.h"

enum { ROUNDS = 12, CALLS = 40, COMMS = 6, MOST = 40000, ROOM = 1 << 19 };

static unsigned char *ours, *theirs, *given;

/* The same sequence on all ranks that begin with the same. */
static unsigned long long state;

static unsigned draw(unsigned below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

/* A count that is often small, and now and then beyond what BCL takes. */
static int draw_count(int size) {
    static const int limits[] = {2, 10, 100, 2000, MOST, 12 * MOST};
    return (int)draw((unsigned)limits[draw(6)]) / size;
}

static void same(size_t len, const char *what) {
    for (size_t at = 0; at < len; at++)
        REQUIRE(ours[at] == theirs[at], "%s: byte %zu of %zu is %d, and %d with the library's own", what, at, len, ours[at], theirs[at]);
}

/* ----------------------------------------------------------------------------------------------- broadcasts */

/* Types of four ints: one after the other, with gaps, in another order. */
static MPI_Datatype shapes[4];

static void make_shapes(void) {
    const int backwards[] = {6, 4, 2, 0};
    MPI_Datatype tight;
    MPI_Type_contiguous(4, MPI_INT, &shapes[0]);
    MPI_Type_vector(4, 1, 3, MPI_INT, &tight);
    MPI_Type_create_resized(tight, 0, 48, &shapes[1]);
    MPI_Type_free(&tight);
    MPI_Type_create_indexed_block(4, 1, backwards, MPI_INT, &shapes[2]);
    MPI_Type_create_resized(shapes[0], 0, 20, &shapes[3]);
    for (int i = 0; i < 4; i++) MPI_Type_commit(&shapes[i]);
}

static void broadcast(MPI_Comm comm) {
    int own, size, root, count, length;
    MPI_Datatype type = MPI_BYTE;
    MPI_Request request;
    MPI_Comm_rank(comm, &own), MPI_Comm_size(comm, &size);
    root = (int)draw((unsigned)size), length = draw_count(1);
    count = length;
    /* In the sequence of all, whoever this is. */
    unsigned seed = draw(1000), is_shaped = draw(2), shape = draw(5);
    if (is_shaped) {
        /* Each has its own shape of the same ints. */
        shape = (shape + (unsigned)own) % 5;
        count = length / 48;
        if (shape < 4) type = shapes[shape];
        else type = MPI_INT, count *= 4;
    }
    size_t room = (size_t)length + 64;
    fill(ours, room, seed + (unsigned)own), fill(theirs, room, seed + (unsigned)own);
    MPI_Bcast(ours, count, type, root, comm);
    MPI_Ibcast(theirs, count, type, root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    same(room, "MPI_Bcast");
}

/* ----------------------------------------------------------------------------------------------- reductions */

enum kind { INTEGER = 1, FLOAT = 2, COMPLEX = 4, PAIR = 8, SMALL = 16 };

/* Of two, the one of the lower rank. */
static void first_of(void *in, void *inout, int *len, MPI_Datatype *type) {
    (void)type;
    memcpy(inout, in, (size_t)*len * sizeof(int));
}

/* Numbers of which sums and products are exact, in any order, and of no integer type too great: there libraries differ. */
static void numbers(unsigned char *at, int count, int kind, int size, unsigned seed) {
    int each = kind == COMPLEX ? size / 2 : size;
    for (int i = 0; i < count * (size / each); i++, at += each) {
        unsigned char value = content(seed, (size_t)i);
        if (kind == INTEGER) memset(at, value, (size_t)each);
        else if (kind == SMALL) memset(at, 0, (size_t)each), *at = value % 3;
        else if (kind == PAIR) ((int *)at)[0] = value % 3, ((int *)at)[1] = rank;
        else if (each == sizeof(float)) *(float *)at = (float)(value % 3);
        else if (each == sizeof(double)) *(double *)at = value % 3;
        else *(long double *)at = value % 3;
    }
}

static void allreduce(MPI_Comm comm, MPI_Op own_op) {
    const struct {
        MPI_Datatype type;
        int kind;
    } types[] = {{MPI_INT, INTEGER},         {MPI_UNSIGNED, INTEGER},  {MPI_LONG, INTEGER},     {MPI_SHORT, INTEGER},    {MPI_UNSIGNED_CHAR, INTEGER},
                 {MPI_SIGNED_CHAR, INTEGER}, {MPI_INT64_T, INTEGER},   {MPI_UINT16_T, INTEGER}, {MPI_UINT64_T, INTEGER}, {MPI_FLOAT, FLOAT},
                 {MPI_DOUBLE, FLOAT},        {MPI_LONG_DOUBLE, FLOAT}, {MPI_2INT, PAIR},        {MPI_C_DOUBLE_COMPLEX, COMPLEX}, {MPI_C_FLOAT_COMPLEX, COMPLEX}};
    const struct {
        MPI_Op op;
        int kinds;
    } ops[] = {{MPI_SUM, INTEGER | FLOAT | COMPLEX}, {MPI_PROD, INTEGER | FLOAT | COMPLEX}, {MPI_MIN, INTEGER | FLOAT}, {MPI_MAX, INTEGER | FLOAT},
               {MPI_BAND, INTEGER}, {MPI_BOR, INTEGER}, {MPI_BXOR, INTEGER}, {MPI_LAND, INTEGER}, {MPI_LOR, INTEGER}, {MPI_LXOR, INTEGER},
               {MPI_MAXLOC, PAIR},  {MPI_MINLOC, PAIR}};
    unsigned which = draw(sizeof types / sizeof *types), by = draw(sizeof ops / sizeof *ops), is_user = draw(10) == 0;
    int in_place = draw(2) == 0, size;
    while (!(ops[by].kinds & types[which].kind)) by = (by + 1) % (sizeof ops / sizeof *ops);
    MPI_Datatype type = is_user ? MPI_INT : types[which].type;
    MPI_Op op = is_user ? own_op : ops[by].op;
    MPI_Type_size(type, &size);
    int kind = is_user ? INTEGER : types[which].kind, count = draw_count(size);
    size_t len = (size_t)count * (size_t)size;
    MPI_Request request;
    if (kind == INTEGER && (op == MPI_SUM || op == MPI_PROD)) kind = SMALL;
    numbers(given, count, kind, size, draw(1000) + (unsigned)rank);
    memcpy(ours, given, len), memcpy(theirs, given, len);
    if (!in_place) memset(ours, 0, len);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : given, ours, count, type, op, comm);
    MPI_Iallreduce(MPI_IN_PLACE, theirs, count, type, op, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    same(type == MPI_LONG_DOUBLE ? 0 : len, "MPI_Allreduce");
}

/* -------------------------------------------------------------------------------------------- communicators */

static void barrier(MPI_Comm comm) {
    int own, size;
    double last = 0, came, left;
    MPI_Request request;
    MPI_Comm_rank(comm, &own), MPI_Comm_size(comm, &size);
    if (own == (int)draw((unsigned)size)) usleep(2000);
    came = now_s();
    MPI_Barrier(comm);
    left = now_s();
    MPI_Iallreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(left >= last, "a barrier was left %g s before the last rank came", last - left);
}

/* Some are of all, some of parts that are there at the same time, some of a part of a part. */
static void make(MPI_Comm comms[COMMS], unsigned parts[COMMS]) {
    comms[0] = MPI_COMM_WORLD, parts[0] = 0;
    for (int i = 1; i < COMMS; i++) {
        int of = (int)draw((unsigned)i), is_dup = draw(4) == 0;
        unsigned mix = draw(1000), colour = (unsigned)content(mix, (size_t)rank) % 2;
        if (is_dup) MPI_Comm_dup(comms[of], &comms[i]), parts[i] = parts[of] * 2;
        else MPI_Comm_split(comms[of], (int)colour, (int)content(mix + 1, (size_t)rank), &comms[i]), parts[i] = parts[of] * 2 + colour;
    }
}

static void round_of(int round, MPI_Op op) {
    MPI_Comm comms[COMMS];
    unsigned parts[COMMS];
    make(comms, parts);
    for (int call = 0; call < CALLS; call++) {
        unsigned long long before = state;
        int which = (int)draw(COMMS);
        /* The parts of a communicator do different things. */
        state ^= (unsigned long long)parts[which] * 0x9e3779b97f4a7c15ull;
        step("round %d, call %d, communicator %d", round, call, which);
        switch (draw(5)) {
        case 0: barrier(comms[which]); break;
        case 1: case 2: broadcast(comms[which]); break;
        default: allreduce(comms[which], op);
        }
        state = before;
        draw(2);
    }
    for (int i = COMMS - 1; i > 0; i--) MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv) {
    MPI_Op op;
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    ours = memory(ROOM), theirs = memory(ROOM), given = memory(ROOM);
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    make_shapes();
    MPI_Op_create(first_of, 0, &op);
    for (int round = 0; round < ROUNDS; round++) round_of(round, op);
    MPI_Op_free(&op);
    for (int i = 0; i < 4; i++) MPI_Type_free(&shapes[i]);
    free(ours), free(theirs), free(given);
    return finish();
}
