/* Ping-pong of two ranks. */
#include "bench.h"

enum { BATCH = 10 };

static void ping_pong(const void *out, void *in, int size_bytes) {
  int peer = 1 - rank;
  if (rank == 0)
    MPI_Send(out, size_bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
  MPI_Recv(in, size_bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1)
    MPI_Send(out, size_bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median one-way time. Long messages make few round trips, and batches of one. */
void latency_us(struct step step) {
  int batch = step.count >= 100 * BATCH ? BATCH : 1;
  long batches = step.count / batch + 1, warm_up = batches / 10 + 1;
  unsigned char *out = payload(step.size_bytes), *in = memory(step.size_bytes);
  double *times_us = memory(batches * sizeof *times_us);
  for (long at = -warm_up; at < batches; at++) {
    double begin = MPI_Wtime();
    for (int i = 0; i < batch; i++)
      ping_pong(out, in, step.size_bytes);
    if (at >= 0)
      times_us[at] = (MPI_Wtime() - begin) * 1e6 / (2 * batch);
    else
      check(in, step.size_bytes);
  }
  qsort(times_us, batches, sizeof *times_us, ascending);
  print(times_us[batches / 2]);
  free(out), free(in), free(times_us);
}
