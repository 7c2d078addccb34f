/* Collective operations, at lengths around which libraries change their algorithms; each result is computed by hand, too. */
#include "check.h"

enum { ROUNDS = 3, MAX_COUNT = 150000 };

static const int counts[] = {0, 1, 7, 64, 511, 512, 513, 2047, 2048, 2049, 16384, 16385, 65537, MAX_COUNT};

static int *in, *out;

static int value(int of_rank, int at) {
    return of_rank * 1000003 + at * 7;
}

static void prepare(int count) {
    for (int at = 0; at < count; at++) in[at] = value(rank, at);
    memset(out, 0xee, sizeof *out * (size_t)count);
}

static void expect_number(int at, int right) {
    REQUIRE(out[at] == right, "number %d is %d instead of %d", at, out[at], right);
}

static void bcast(int count) {
    for (int root = 0; root < ranks; root++) {
        step("MPI_Bcast of %d from %d", count, root);
        prepare(count);
        MPI_Bcast(rank == root ? in : out, count, MPI_INT, root, MPI_COMM_WORLD);
        for (int at = 0; at < count && rank != root; at++) expect_number(at, value(root, at));
    }
}

/* Sums of what the ranks before `end` have. */
static int sum(int end, int at) {
    int total = 0;
    for (int peer = 0; peer < end; peer++) total += value(peer, at);
    return total;
}

static void reductions(int count) {
    step("MPI_Allreduce of %d", count);
    prepare(count);
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < count; at++) expect_number(at, sum(ranks, at));

    step("MPI_Scan of %d", count);
    prepare(count);
    MPI_Scan(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < count; at++) expect_number(at, sum(rank + 1, at));

    step("MPI_Reduce of %d", count);
    prepare(count);
    MPI_Reduce(in, out, count, MPI_INT, MPI_MAX, ranks - 1, MPI_COMM_WORLD);
    for (int at = 0; at < count && rank == ranks - 1; at++) expect_number(at, value(ranks - 1, at));
}

/* `count` numbers to each or from each, so a part of it here. */
static void exchanges(int count) {
    int part = count / ranks;
    step("MPI_Allgather of %d from each", part);
    prepare(part * ranks);
    MPI_Allgather(in, part, MPI_INT, out, part, MPI_INT, MPI_COMM_WORLD);
    for (int at = 0; at < part * ranks; at++) expect_number(at, value(at / part, at % part));

    step("MPI_Alltoall of %d to each", part);
    prepare(part * ranks);
    MPI_Alltoall(in, part, MPI_INT, out, part, MPI_INT, MPI_COMM_WORLD);
    for (int at = 0; at < part * ranks; at++) expect_number(at, value(at / part, rank * part + at % part));

    step("MPI_Ialltoall of %d to each", part);
    MPI_Request request;
    prepare(part * ranks);
    MPI_Ialltoall(in, part, MPI_INT, out, part, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int at = 0; at < part * ranks; at++) expect_number(at, value(at / part, rank * part + at % part));
}

/* Nobody leaves before the last has come. All hosts are on one machine, so they have one clock. */
static void barrier(int round) {
    step("MPI_Barrier, round %d", round);
    double came, left;
    if (rank == round % ranks) usleep(20000);
    came = now_s();
    MPI_Barrier(MPI_COMM_WORLD);
    left = now_s();
    double last = 0;
    MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    REQUIRE(left >= last, "it was left %g s before the last rank came", last - left);
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    in = memory(sizeof *in * MAX_COUNT);
    out = memory(sizeof *out * MAX_COUNT);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t index = 0; index < sizeof counts / sizeof *counts; index++) {
            bcast(counts[index]);
            reductions(counts[index]);
            exchanges(counts[index]);
        }
        for (int barriers = 0; barriers < 10; barriers++) barrier(barriers);
    }
    free(in), free(out);
    return finish();
}
