/* Put and get into windows of other ranks, in each way that MPI knows to say when: fences, post and start, locks. */
#include "check.h"

enum { MAX_LEN = 300000, ROUNDS = 5, GUARD = 64 };

static const int lens[] = {1, 8, 1000, 16384, 65537, MAX_LEN};

/* A part for each origin, and a guard behind it. */
static unsigned char *shared;
static MPI_Win window;
static unsigned char *local;

static size_t part_of(int origin) {
    return (size_t)origin * (MAX_LEN + GUARD);
}

static unsigned seed_of(int origin, int target, int round) {
    return (unsigned)((round * ranks + origin) * ranks + target);
}

static void clear(void) {
    memset(shared, 0xee, part_of(ranks));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void put(int target, int len, int round) {
    fill(local + part_of(target), (size_t)len, seed_of(rank, target, round));
    MPI_Put(local + part_of(target), len, MPI_BYTE, target, (MPI_Aint)part_of(rank), len, MPI_BYTE, window);
}

static void expect_put(int origin, int len, int round) {
    const unsigned char *part = shared + part_of(origin);
    expect(part, (size_t)len, seed_of(origin, rank, round));
    for (int at = len; at < len + GUARD; at++)
        REQUIRE(part[at] == 0xee, "byte %d of rank %d's part was written, it put only %d", at, origin, len);
}

static void with_fences(int len, int round) {
    step("puts %d bytes to all, between fences", len);
    clear();
    MPI_Win_fence(0, window);
    for (int target = 0; target < ranks; target++) put(target, len, round);
    MPI_Win_fence(0, window);
    for (int origin = 0; origin < ranks; origin++) expect_put(origin, len, round);

    step("gets %d bytes from all, between fences", len);
    memset(local, 0xee, part_of(ranks));
    MPI_Win_fence(0, window);
    for (int target = 0; target < ranks; target++)
        MPI_Get(local + part_of(target), len, MPI_BYTE, target, (MPI_Aint)part_of(rank), len, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    for (int target = 0; target < ranks; target++)
        expect(local + part_of(target), (size_t)len, seed_of(rank, target, round));
}

/* Each puts to the next, and is written to by the one before. */
static void with_post_and_start(int len, int round) {
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Group world, origins, targets;
    step("puts %d bytes to the next, between start and complete", len);
    clear();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &before, &origins);
    MPI_Group_incl(world, 1, &next, &targets);
    MPI_Win_post(origins, 0, window);
    MPI_Win_start(targets, 0, window);
    put(next, len, round);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    expect_put(before, len, round);
    MPI_Group_free(&world), MPI_Group_free(&origins), MPI_Group_free(&targets);
}

/* The owner takes no part, but that it comes to the barrier. */
static void with_locks(int len, int round) {
    step("puts %d bytes to all and reads them back, under locks", len);
    clear();
    for (int target = 0; target < ranks; target++) {
        MPI_Win_lock(target % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, window);
        put(target, len, round);
        MPI_Win_flush(target, window);
        memset(local + part_of(target), 0xee, (size_t)len);
        MPI_Get(local + part_of(target), len, MPI_BYTE, target, (MPI_Aint)part_of(rank), len, MPI_BYTE, window);
        MPI_Win_unlock(target, window);
        expect(local + part_of(target), (size_t)len, seed_of(rank, target, round));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    for (int origin = 0; origin < ranks; origin++) expect_put(origin, len, round);
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    local = memory(part_of(ranks));
    step("makes a window");
    MPI_Win_allocate((MPI_Aint)part_of(ranks), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t index = 0; index < sizeof lens / sizeof *lens; index++) {
            with_fences(lens[index], round);
            with_post_and_start(lens[index], round);
            with_locks(lens[index], round);
        }
    }
    step("frees its window");
    MPI_Win_free(&window);
    free(local);
    return finish();
}
