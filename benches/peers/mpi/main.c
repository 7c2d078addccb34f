/* One figure a line, in the order of its arguments:
 *
 *   mpi latency SIZE:COUNT...             2 ranks; the median one-way time in us
 *   mpi stream IN_FLIGHT SIZE:COUNT...    2 ranks; MB/s
 *   mpi rate SIZE:COUNT...                2 ranks; messages a second, 64 in flight
 *   mpi pairs SIZE SECONDS                even rank i plays ping-pong with i+1; all messages a second
 *   mpi barrier COUNT                     all ranks; us, as of the next three
 *   mpi bcast SIZE:COUNT...               SIZE bytes of one to all, of each rank in turn
 *   mpi allreduce SIZE:COUNT...           SIZE bytes of doubles
 *   mpi alltoall SIZE:COUNT...            SIZE bytes to each */
#include "bench.h"

int rank, ranks;

static struct step parse(const char *word) {
  struct step step;
  if (sscanf(word, "%d:%ld", &step.size_bytes, &step.count) != 2 || step.size_bytes < 0 || step.count < 1)
    fail("a step is SIZE:COUNT");
  return step;
}

static int by_size(const char *what, char **steps, int in_flight) {
  for (; *steps; steps++) {
    struct step step = parse(*steps);
    if (!strcmp(what, "latency"))
      latency_us(step);
    else if (!strcmp(what, "stream"))
      stream_mb_per_s(step, in_flight);
    else if (!strcmp(what, "rate"))
      rate_per_s(step);
    else if (!strcmp(what, "bcast"))
      bcast_us(step);
    else if (!strcmp(what, "allreduce"))
      allreduce_us(step);
    else if (!strcmp(what, "alltoall"))
      alltoall_us(step);
    else
      return 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int known = 1;
  if (argc == 4 && !strcmp(argv[1], "pairs"))
    pairs_per_s(atoi(argv[2]), atof(argv[3]));
  else if (argc == 3 && !strcmp(argv[1], "barrier"))
    barrier_us(atol(argv[2]));
  else if (argc >= 4 && !strcmp(argv[1], "stream"))
    known = by_size(argv[1], argv + 3, atoi(argv[2]));
  else
    known = argc >= 3 && by_size(argv[1], argv + 2, 0);
  if (!known)
    fail("usage: see the first lines of benches/peers/mpi/main.c");
  MPI_Finalize();
  return 0;
}
