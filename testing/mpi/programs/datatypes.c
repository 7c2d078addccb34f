/* Data that lies scattered in memory: sent as a vector, an index or a structure, received as another or in one piece. What lies
   between stays as it was. */
#include "check.h"
#include <stddef.h>

enum { TAG = 4, ROUNDS = 5 };

/* As a compiler lays it out, with a hole behind `kind`. */
struct record {
    char kind;
    double value;
    int numbers[3];
};

static MPI_Datatype record_type(void) {
    int lens[] = {1, 1, 3};
    MPI_Aint at[] = {offsetof(struct record, kind), offsetof(struct record, value), offsetof(struct record, numbers)};
    MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, packed, type;
    MPI_Type_create_struct(3, lens, at, types, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct record), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&packed);
    return type;
}

static void records(int count) {
    MPI_Datatype type = record_type();
    struct record *all = memory(sizeof *all * (size_t)count);
    MPI_Status status;
    step("%d structures", count);
    memset(all, 0x55, sizeof *all * (size_t)count);
    if (rank == 0) {
        for (int index = 0; index < count; index++)
            all[index] = (struct record){(char)index, index / 3.0, {index, -index, index * 7}};
        MPI_Send(all, count, type, 1, TAG, MPI_COMM_WORLD);
    } else {
        int got;
        MPI_Recv(all, count, type, 0, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &got);
        REQUIRE(got == count, "%d structures came of %d", got, count);
        for (int index = 0; index < count; index++) {
            const struct record *one = &all[index];
            REQUIRE(one->kind == (char)index && one->value == index / 3.0 && one->numbers[0] == index &&
                        one->numbers[1] == -index && one->numbers[2] == index * 7, "structure %d is wrong", index);
            REQUIRE(((const char *)one)[1] == 0x55, "the hole of structure %d was written to", index);
        }
    }
    MPI_Type_free(&type);
    free(all);
}

/* Blocks of 3 ints in every 5. */
static MPI_Datatype vector_type(int blocks) {
    MPI_Datatype type;
    MPI_Type_vector(blocks, 3, 5, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The same ints in the same places, named one block after the other, of 1 and 2. */
static MPI_Datatype indexed_type(int blocks) {
    int *lens = memory(sizeof *lens * 2 * (size_t)blocks), *at = memory(sizeof *at * 2 * (size_t)blocks);
    MPI_Datatype type;
    for (int block = 0; block < blocks; block++) {
        lens[2 * block] = 1, at[2 * block] = 5 * block;
        lens[2 * block + 1] = 2, at[2 * block + 1] = 5 * block + 1;
    }
    MPI_Type_indexed(2 * blocks, lens, at, MPI_INT, &type);
    MPI_Type_commit(&type);
    free(lens), free(at);
    return type;
}

static int number(int block, int at) {
    return block * 10 + at;
}

/* `sent_as` and `received_as`: 0 in one piece, 1 a vector, 2 an index. */
static void scattered(int blocks, int sent_as, int received_as) {
    static const char *const names[] = {"one piece", "vector", "index"};
    int as = rank == 0 ? sent_as : received_as, stride = as == 0 ? 3 : 5;
    int *all = memory(sizeof *all * (size_t)(stride * blocks));
    MPI_Datatype type = as == 2 ? indexed_type(blocks) : as == 1 ? vector_type(blocks) : MPI_INT;
    int count = as == 0 ? 3 * blocks : 1;
    step("%d blocks from %s to %s", blocks, names[sent_as], names[received_as]);
    for (int at = 0; at < stride * blocks; at++) all[at] = rank == 0 ? number(at / stride, at % stride) : -1;
    if (rank == 0) {
        MPI_Send(all, count, type, 1, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(all, count, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < stride * blocks; at++) {
            int inside = at % stride < 3;
            int right = inside ? number(at / stride, at % stride) : -1;
            REQUIRE(all[at] == right, "number %d of block %d is %d instead of %d", at % stride, at / stride, all[at], right);
        }
    }
    if (as != 0) MPI_Type_free(&type);
    free(all);
}

int main(int argc, char **argv) {
    static const int counts[] = {1, 10, 300, 5000, 200000};
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t index = 0; index < sizeof counts / sizeof *counts; index++) {
            records(counts[index]);
            for (int pair = 0; pair < 9; pair++) scattered(counts[index], pair / 3, pair % 3);
        }
    }
    return finish();
}
