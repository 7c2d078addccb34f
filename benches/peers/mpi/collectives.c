/* Operations of all ranks together: the mean time of one, of the rank that took longest for all of them. */
#include "bench.h"

/* Where more ranks spin than there are cores, one operation may take as long as a thousand elsewhere. So there are fewer of them
 * if they take longer than this. */
static const double SECONDS_MAX = 2;

static void *in, *out;

static void one_barrier(int size_bytes) {
  (void)size_bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Roots take turns: one that stays would run ahead of the others. */
static void one_bcast(int size_bytes) {
  static int turn;
  MPI_Bcast(in, size_bytes, MPI_BYTE, turn++ % ranks, MPI_COMM_WORLD);
}

static void one_allreduce(int size_bytes) {
  MPI_Allreduce(in, out, size_bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void one_alltoall(int size_bytes) {
  MPI_Alltoall(in, size_bytes, MPI_BYTE, out, size_bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* The mean time of at most `count` operations, in batches: between two of them rank 0 says whether there is time for another. */
static double mean_us(void (*operation)(int), int size_bytes, long count) {
  double passed_s = 0;
  long done = 0, batch = count / 100 + 1;
  for (int goes_on = 1; goes_on;) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (long i = 0; i < batch; i++)
      operation(size_bytes);
    passed_s += MPI_Wtime() - begin;
    done += batch;
    goes_on = done < count && passed_s < SECONDS_MAX;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  return passed_s * 1e6 / done;
}

static void measure_us(void (*operation)(int), struct step step) {
  mean_us(operation, step.size_bytes, step.count / 10 + 1);
  double own_us = mean_us(operation, step.size_bytes, step.count), longest_us = 0;
  MPI_Reduce(&own_us, &longest_us, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  print(longest_us);
}

void barrier_us(long count) {
  measure_us(one_barrier, (struct step){0, count});
}

/* `size_bytes` of one to all. */
void bcast_us(struct step step) {
  unsigned char *data = in = memory(step.size_bytes);
  memset(data, 0, step.size_bytes);
  measure_us(one_bcast, step);
  memset(data, rank == 0 ? 7 : 0, step.size_bytes);
  MPI_Bcast(data, step.size_bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < step.size_bytes; i++)
    if (data[i] != 7)
      fail("a byte of MPI_Bcast is wrong");
  free(in);
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
