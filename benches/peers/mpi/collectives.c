/* Operations of all ranks together: the mean time of one, of the rank that took longest for all of them. */
#include "bench.h"

static void *in, *out;

static void one_barrier(int size_bytes) {
  (void)size_bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void one_allreduce(int size_bytes) {
  MPI_Allreduce(in, out, size_bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void one_alltoall(int size_bytes) {
  MPI_Alltoall(in, size_bytes, MPI_BYTE, out, size_bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void measure_us(void (*operation)(int), struct step step) {
  for (long i = 0; i < step.count / 10 + 1; i++)
    operation(step.size_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (long i = 0; i < step.count; i++)
    operation(step.size_bytes);
  double own_us = (MPI_Wtime() - begin) * 1e6 / step.count, longest_us = 0;
  MPI_Reduce(&own_us, &longest_us, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  print(longest_us);
}

void barrier_us(long count) {
  measure_us(one_barrier, (struct step){0, count});
}

/* `size_bytes` of doubles, added up. */
void allreduce_us(struct step step) {
  int doubles = step.size_bytes / (int)sizeof(double);
  double *mine = in = memory(step.size_bytes), *sums = out = memory(step.size_bytes);
  for (int i = 0; i < doubles; i++)
    mine[i] = rank + i;
  measure_us(one_allreduce, step);
  for (int i = 0; i < doubles; i++)
    if (sums[i] != (double)ranks * i + ranks * (ranks - 1) / 2)
      fail("a sum of MPI_Allreduce is wrong");
  free(in), free(out);
}

static unsigned char between(int from, int to, int at) {
  return (unsigned char)(from * 83 + to * 29 + at * 31);
}

/* `size_bytes` to each. */
void alltoall_us(struct step step) {
  size_t part = (size_t)step.size_bytes;
  unsigned char *sent = in = memory(part * ranks), *received = out = memory(part * ranks);
  for (int peer = 0; peer < ranks; peer++)
    for (int i = 0; i < step.size_bytes; i++)
      sent[peer * part + i] = between(rank, peer, i);
  measure_us(one_alltoall, step);
  for (int peer = 0; peer < ranks; peer++)
    for (int i = 0; i < step.size_bytes; i++)
      if (received[peer * part + i] != between(peer, rank, i))
        fail("a byte of MPI_Alltoall is wrong");
  free(in), free(out);
}
