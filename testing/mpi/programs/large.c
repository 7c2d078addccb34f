/* One message of more than 2 GiB, whose length no int holds. It takes 2 GiB of memory on each side. */
#include "check.h"

enum { BLOCK = 1 << 20, BLOCKS = 2049, TAG = 6 };

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    size_t len = (size_t)BLOCK * BLOCKS;
    MPI_Datatype block;
    MPI_Status status;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_commit(&block);
    unsigned char *bytes = memory(len);
    if (rank == 0) {
        step("sends %zu bytes", len);
        fill(bytes, len, 1);
        MPI_Send(bytes, BLOCKS, block, 1, TAG, MPI_COMM_WORLD);
    } else {
        int count;
        step("receives %zu bytes", len);
        MPI_Recv(bytes, BLOCKS, block, 0, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, block, &count);
        REQUIRE(count == BLOCKS, "%d blocks came of %d", count, BLOCKS);
        expect(bytes, len, 1);
    }
    MPI_Type_free(&block);
    free(bytes);
    return finish();
}
