/* The MPI side of the benchmark: one program for every MPI library. What it does stands in main.c.
 *
 * The same method as the BCL side (benches/src/ours): latency is the median over batches, everything else a mean over the whole
 * run. Whatever is measured prints one figure a line, by rank 0. */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1, END_TAG = 2 };

/* What is done at one size, and how often. */
struct step {
  int size_bytes;
  long count;
};

extern int rank, ranks;

void latency_us(struct step step);
void stream_mb_per_s(struct step step, int in_flight);
void rate_per_s(struct step step);
void pairs_per_s(int size_bytes, double seconds);
void barrier_us(long count);
void bcast_us(struct step step);
void allreduce_us(struct step step);
void alltoall_us(struct step step);

/* From common.c. */
void fail(const char *what);
void *memory(size_t size_bytes);
unsigned char *payload(size_t size_bytes);
void check(const unsigned char *bytes, size_t size_bytes);
/* Prints the figure of rank 0, at once: a run that hangs later has shown what it had. */
void print(double figure);

#endif
