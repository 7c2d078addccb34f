/* All ranks change the same words at once: nothing is lost, and what each is told was there was there once. */
#include "check.h"

enum { ROUNDS = 500, COUNTER = 0, LOCK = 1, PROTECTED = 2, SUMS = 3, SUM_COUNT = 1000, WORDS = SUMS + SUM_COUNT };

static long *words;
static MPI_Win window;

/* Tickets: each number is drawn by exactly one rank, and by each in rising order. */
static void fetch_and_op(void) {
    int *drawn = calloc((size_t)(ROUNDS * ranks), sizeof *drawn);
    long one = 1, before, last = -1;
    MPI_Win_lock_all(0, window);
    for (int round = 0; round < ROUNDS; round++) {
        step("MPI_Fetch_and_op, round %d", round);
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, COUNTER, MPI_SUM, window);
        MPI_Win_flush(0, window);
        REQUIRE(before > last && before < (long)ROUNDS * ranks, "it found %ld after %ld", before, last);
        drawn[before]++;
        last = before;
    }
    MPI_Win_unlock_all(window);
    MPI_Allreduce(MPI_IN_PLACE, drawn, ROUNDS * ranks, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int ticket = 0; ticket < ROUNDS * ranks; ticket++)
        REQUIRE(drawn[ticket] == 1, "%d was found by %d ranks", ticket, drawn[ticket]);
    free(drawn);
}

/* A lock made of a word, around a word that is read and written back. */
static void compare_and_swap(void) {
    long unlocked = 0, mine = rank + 1, before, value;
    MPI_Win_lock_all(0, window);
    for (int round = 0; round < ROUNDS / 10; round++) {
        step("MPI_Compare_and_swap, round %d", round);
        do {
            MPI_Compare_and_swap(&mine, &unlocked, &before, MPI_LONG, 0, LOCK, window);
            MPI_Win_flush(0, window);
            REQUIRE(before >= 0 && before <= ranks && before != mine, "it found %ld, a lock that nobody can have taken", before);
        } while (before != unlocked);
        MPI_Get(&value, 1, MPI_LONG, 0, PROTECTED, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, PROTECTED, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
        MPI_Fetch_and_op(&unlocked, &before, MPI_LONG, 0, LOCK, MPI_REPLACE, window);
        MPI_Win_flush(0, window);
        REQUIRE(before == mine, "the lock is %ld's, and was taken by %ld", before, mine);
    }
    MPI_Win_unlock_all(window);
}

static void accumulate(void) {
    long added[SUM_COUNT];
    for (int at = 0; at < SUM_COUNT; at++) added[at] = rank * 1000L + at;
    for (int round = 0; round < ROUNDS / 10; round++) {
        step("MPI_Accumulate, round %d", round);
        for (int target = 0; target < ranks; target++) {
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
            MPI_Accumulate(added, SUM_COUNT, MPI_LONG, target, SUMS, SUM_COUNT, MPI_LONG, MPI_SUM, window);
            MPI_Win_unlock(target, window);
        }
    }
}

static void expect_sums(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    step("adds up");
    if (rank == 0) {
        REQUIRE(words[COUNTER] == (long)ROUNDS * ranks, "the counter is %ld", words[COUNTER]);
        REQUIRE(words[LOCK] == 0, "the lock is still %ld's", words[LOCK]);
        REQUIRE(words[PROTECTED] == ROUNDS / 10 * (long)ranks, "the word behind the lock is %ld", words[PROTECTED]);
    }
    for (int at = 0; at < SUM_COUNT; at++) {
        long right = ROUNDS / 10 * (ranks * (ranks - 1) / 2 * 1000L + (long)ranks * at);
        REQUIRE(words[SUMS + at] == right, "sum %d is %ld instead of %ld", at, words[SUMS + at], right);
    }
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    step("makes a window");
    MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &words, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    memset(words, 0, WORDS * sizeof(long));
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
    fetch_and_op();
    compare_and_swap();
    accumulate();
    expect_sums();
    step("frees its window");
    MPI_Win_free(&window);
    return finish();
}
