/* Messages one way, from rank 0 to rank 1, with some in flight: long ones for their bytes, short ones for their number. */
#include "bench.h"

enum { MAX_IN_FLIGHT = 64, RATE_IN_FLIGHT = 64 };

/* A buffer is used again as soon as its own message is complete. */
static void run(unsigned char **buffers, int in_flight, int size_bytes, long messages) {
  MPI_Request requests[MAX_IN_FLIGHT];
  for (int i = 0; i < in_flight; i++)
    requests[i] = MPI_REQUEST_NULL;
  for (long i = 0; i < messages; i++) {
    MPI_Request *request = &requests[i % in_flight];
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (rank == 0)
      MPI_Isend(buffers[i % in_flight], size_bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, request);
    else
      MPI_Irecv(buffers[i % in_flight], size_bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, request);
  }
  for (int i = 0; i < in_flight; i++)
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  /* The clock stops when the receiver has everything, not when the sender has let go of it. */
  if (rank == 0)
    MPI_Recv(NULL, 0, MPI_BYTE, 1, END_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, 0, END_TAG, MPI_COMM_WORLD);
}

/* The seconds that the messages take. */
static double seconds(struct step step, int in_flight) {
  unsigned char *buffers[MAX_IN_FLIGHT];
  if (in_flight < 1 || in_flight > MAX_IN_FLIGHT)
    fail("from 1 to 64 messages can be in flight");
  for (int i = 0; i < in_flight; i++)
    buffers[i] = rank == 0 ? payload(step.size_bytes) : memory(step.size_bytes);
  run(buffers, in_flight, step.size_bytes, step.count / 10 + in_flight);
  for (int i = 0; i < in_flight; i++)
    check(buffers[i], step.size_bytes);
  double begin = MPI_Wtime();
  run(buffers, in_flight, step.size_bytes, step.count);
  double end = MPI_Wtime();
  for (int i = 0; i < in_flight; i++)
    free(buffers[i]);
  return end - begin;
}

void stream_mb_per_s(struct step step, int in_flight) {
  print((double)step.size_bytes * step.count / 1e6 / seconds(step, in_flight));
}

void rate_per_s(struct step step) {
  print(step.count / seconds(step, RATE_IN_FLIGHT));
}
