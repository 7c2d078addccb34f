/* What all measurements have in common: a payload that shows when it is spoilt, and the way to print a figure. */
#include "bench.h"

void fail(const char *what) {
  fprintf(stderr, "mpi bench: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

void *memory(size_t size_bytes) {
  void *found = calloc(1, size_bytes ? size_bytes : 1);
  if (!found)
    fail("no memory");
  return found;
}

unsigned char *payload(size_t size_bytes) {
  unsigned char *bytes = memory(size_bytes);
  for (size_t i = 0; i < size_bytes; i++)
    bytes[i] = (unsigned char)(i * 31 + 7);
  return bytes;
}

void check(const unsigned char *bytes, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; i++)
    if (bytes[i] != (unsigned char)(i * 31 + 7))
      fail("the payload arrived spoilt");
}

void print(double figure) {
  if (rank != 0)
    return;
  printf("%.6f\n", figure);
  fflush(stdout);
}
