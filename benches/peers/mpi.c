/* The MPI side of the benchmark: one program for MPICH and Open MPI.
 *
 *   mpi latency SIZE ITERATIONS     2 ranks; prints the median one-way time in us
 *   mpi stream SIZE ITERATIONS      2 ranks; prints MB/s with STREAM_DEPTH messages in flight
 *   mpi rate SIZE ITERATIONS        2 ranks; prints messages a second with RATE_DEPTH in flight
 *   mpi pairs SIZE SECONDS          even rank i plays ping-pong with i+1; prints all messages a second
 *   mpi barrier ITERATIONS          all ranks; prints the time of one barrier in us
 *
 * Each prints one number on a line of its own. The same method as the BCL side (benches/src/ours):
 * latency is the median over batches, everything else a mean over the whole run. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 10, STREAM_DEPTH = 1, RATE_DEPTH = 64, TAG = 1, END_TAG = 2 };

static int rank, ranks;

static void fail(const char *what) {
  fprintf(stderr, "mpi bench: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char *payload(size_t size) {
  unsigned char *bytes = malloc(size ? size : 1);
  if (!bytes)
    fail("no memory for the payload");
  for (size_t i = 0; i < size; i++)
    bytes[i] = (unsigned char)(i * 31 + 7);
  return bytes;
}

static void check(const unsigned char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (bytes[i] != (unsigned char)(i * 31 + 7))
      fail("the payload arrived spoilt");
}

static void ping(void *out, void *in, int size, int peer) {
  MPI_Send(out, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
  MPI_Recv(in, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pong(void *out, void *in, int size, int peer) {
  MPI_Recv(in, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(out, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void latency(int size, long iterations) {
  unsigned char *out = payload(size), *in = calloc(1, size);
  long batches = iterations / BATCH, warm_up = batches / 10 + 1;
  double *times_us = calloc(batches, sizeof *times_us);
  if (!in || !times_us)
    fail("no memory");
  for (long batch = -warm_up; batch < batches; batch++) {
    double begin = MPI_Wtime();
    for (int i = 0; i < BATCH; i++)
      rank == 0 ? ping(out, in, size, 1) : pong(out, in, size, 0);
    if (batch >= 0)
      times_us[batch] = (MPI_Wtime() - begin) * 1e6 / (2 * BATCH);
    else
      check(in, size);
  }
  if (rank == 0) {
    qsort(times_us, batches, sizeof *times_us, ascending);
    printf("%.6f\n", times_us[batches / 2]);
  }
}

/* A buffer is used again as soon as its own message is complete. */
static void stream_run(unsigned char **buffers, int depth, int size, long messages) {
  MPI_Request requests[RATE_DEPTH];
  for (int i = 0; i < depth; i++)
    requests[i] = MPI_REQUEST_NULL;
  for (long i = 0; i < messages; i++) {
    MPI_Request *request = &requests[i % depth];
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (rank == 0)
      MPI_Isend(buffers[i % depth], size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, request);
    else
      MPI_Irecv(buffers[i % depth], size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, request);
  }
  for (int i = 0; i < depth; i++)
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  /* The clock stops when the receiver has everything, not when the sender has let go of it. */
  if (rank == 0)
    MPI_Recv(NULL, 0, MPI_BYTE, 1, END_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, 0, END_TAG, MPI_COMM_WORLD);
}

/* The seconds that `messages` messages take. */
static double stream(int depth, int size, long messages) {
  unsigned char *buffers[RATE_DEPTH];
  for (int i = 0; i < depth; i++) {
    buffers[i] = payload(size);
    if (rank == 1)
      memset(buffers[i], 0, size);
  }
  stream_run(buffers, depth, size, messages / 10 + depth);
  for (int i = 0; i < depth; i++)
    check(buffers[i], size);
  double begin = MPI_Wtime();
  stream_run(buffers, depth, size, messages);
  return MPI_Wtime() - begin;
}

static void bandwidth(int size, long messages) {
  double seconds = stream(STREAM_DEPTH, size, messages);
  if (rank == 0)
    printf("%.6f\n", (double)size * messages / 1e6 / seconds);
}

static void rate(int size, long messages) {
  double seconds = stream(RATE_DEPTH, size, messages);
  if (rank == 0)
    printf("%.6f\n", messages / seconds);
}

/* The even rank decides when the time is over and says so in the last message. */
static long play_pair(int size, double seconds) {
  char *out = calloc(1, size), *in = calloc(1, size);
  int peer = rank ^ 1;
  long messages = 0;
  double end = MPI_Wtime() + seconds;
  if (!out || !in)
    fail("no memory");
  while (!out[0]) {
    if (rank % 2 == 0) {
      out[0] = MPI_Wtime() >= end;
      ping(out, in, size, peer);
    } else {
      MPI_Recv(in, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      out[0] = in[0];
      MPI_Send(out, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
    }
    messages++;
  }
  return messages;
}

static void pairs(int size, double seconds) {
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  long messages = play_pair(size, seconds);
  double own_rate = messages / (MPI_Wtime() - begin), total_rate = 0;
  MPI_Reduce(&own_rate, &total_rate, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%.6f\n", total_rate);
}

static void barrier(long iterations) {
  for (long i = 0; i < iterations / 10 + 1; i++)
    MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (long i = 0; i < iterations; i++)
    MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("%.6f\n", (MPI_Wtime() - begin) * 1e6 / iterations);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 4 && !strcmp(argv[1], "latency"))
    latency(atoi(argv[2]), atol(argv[3]));
  else if (argc == 4 && !strcmp(argv[1], "stream"))
    bandwidth(atoi(argv[2]), atol(argv[3]));
  else if (argc == 4 && !strcmp(argv[1], "rate"))
    rate(atoi(argv[2]), atol(argv[3]));
  else if (argc == 4 && !strcmp(argv[1], "pairs"))
    pairs(atoi(argv[2]), atof(argv[3]));
  else if (argc == 3 && !strcmp(argv[1], "barrier"))
    barrier(atol(argv[2]));
  else
    fail("usage: mpi latency|stream|rate|pairs SIZE COUNT, or mpi barrier COUNT");
  MPI_Finalize();
  return 0;
}
