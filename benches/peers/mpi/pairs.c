/* A crowd: each even rank plays ping-pong with the next one. */
#include "bench.h"

/* The even rank decides when the time is over and says so in the last message. */
static long play(int size_bytes, double seconds) {
  char *out = memory(size_bytes), *in = memory(size_bytes);
  int peer = rank ^ 1;
  long messages = 0;
  double end = MPI_Wtime() + seconds;
  while (!out[0]) {
    if (rank % 2 == 0) {
      out[0] = MPI_Wtime() >= end;
      MPI_Send(out, size_bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
      MPI_Recv(in, size_bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, size_bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      out[0] = in[0];
      MPI_Send(out, size_bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
    }
    messages++;
  }
  free(out), free(in);
  return messages;
}

/* Messages a second of all pairs together. */
void pairs_per_s(int size_bytes, double seconds) {
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  long messages = play(size_bytes, seconds);
  double own_rate = messages / (MPI_Wtime() - begin), total_rate = 0;
  MPI_Reduce(&own_rate, &total_rate, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  print(total_rate);
}
