/* What the programs have in common: they end with a sentence at the first thing that is wrong, tell what they are doing when
   they are asked by SIGUSR1, as testing/mpi/with does when one hangs, and say at their end how long they took without
   MPI_Init and MPI_Finalize: in the latter some libraries sleep. */
#ifndef CHECK_H
#define CHECK_H

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, ranks;
static char doing[200];
static double began_s;

static inline double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* What follows, as a part of a sentence: "received in order", "message 7". */
__attribute__((format(printf, 1, 2))) static inline void step(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(doing, sizeof doing, format, values);
    va_end(values);
}

__attribute__((format(printf, 1, 2), noreturn)) static inline void fail(const char *format, ...) {
    char what[400];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    fprintf(stderr, "WRONG on rank %d, %s: %s\n", rank, doing, what);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

#define REQUIRE(condition, ...) \
    do { \
        if (!(condition)) fail(__VA_ARGS__); \
    } while (0)

static inline void tell(int number) {
    char line[256];
    int len = snprintf(line, sizeof line, "   rank %d was at: %s\n", rank, doing);
    (void)number;
    if (write(2, line, (size_t)len) < 0) _exit(1);
}

/* Launchers end a job that aborts without passing on all that its processes have written: errors go to the log themselves. */
static inline void write_errors_to_the_log(void) {
    const char *path = getenv("MPI_TEST_LOG");
    int log = path ? open(path, O_WRONLY | O_APPEND) : -1;
    if (log >= 0) {
        dup2(log, 2);
        close(log);
    }
}

static inline void start(int *argc, char ***argv, int at_least, int threads) {
    int provided;
    write_errors_to_the_log();
    MPI_Init_thread(argc, argv, threads, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    signal(SIGUSR1, tell);
    began_s = now_s();
    step("at the start");
    REQUIRE(provided >= threads, "MPI_Init_thread gave level %d, %d was asked for", provided, threads);
    REQUIRE(ranks >= at_least, "this takes %d ranks, there are %d", at_least, ranks);
}

static inline int finish(void) {
    double took_s = now_s() - began_s;
    step("in MPI_Finalize");
    MPI_Finalize();
    if (rank == 0) printf("took %.6f s\n", took_s);
    return 0;
}

/* Byte `at` of the contents that `seed` stands for: neighbours and seeds differ from the first byte on. */
static inline unsigned char content(unsigned seed, size_t at) {
    unsigned mixed = ((unsigned)at ^ (seed + 1) * 0x9e3779b1u) * 0x85ebca6bu;
    return (unsigned char)((mixed ^ mixed >> 15) * 0xc2b2ae35u >> 24);
}

static inline void fill(void *memory, size_t len, unsigned seed) {
    unsigned char *bytes = memory;
    for (size_t at = 0; at < len; at++) bytes[at] = content(seed, at);
}

static inline void expect(const void *memory, size_t len, unsigned seed) {
    const unsigned char *bytes = memory;
    for (size_t at = 0; at < len; at++)
        REQUIRE(bytes[at] == content(seed, at), "byte %zu of %zu is %d instead of %d", at, len, bytes[at], content(seed, at));
}

static inline void expect_status(const MPI_Status *status, int source, int tag, int bytes) {
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    REQUIRE(status->MPI_SOURCE == source, "the message is from rank %d instead of %d", status->MPI_SOURCE, source);
    REQUIRE(status->MPI_TAG == tag, "the message has tag %d instead of %d", status->MPI_TAG, tag);
    REQUIRE(count == bytes, "the message has %d bytes instead of %d", count, bytes);
}

static inline void *memory(size_t len) {
    void *found = malloc(len ? len : 1);
    REQUIRE(found, "there are no %zu bytes of memory", len);
    return found;
}

#endif
