/* Elements and functions that bcl_adi.h has as well. */
#include "collectives.h"

enum { MOST = 48 };

static struct {
    MPI_Datatype type;
    uint32_t element;
} elements[MOST];
static int elements_len;

/* A type may be there under several names, or missing: then it is MPI_DATATYPE_NULL. */
static void add(MPI_Datatype type, uint32_t first) {
    int size;
    if (type == MPI_DATATYPE_NULL || element_of(type) || PMPI_Type_size(type, &size) != MPI_SUCCESS) return;
    /* Integers of 1, 2, 4 and 8 bytes follow each other, signed and unsigned in turn; so do floats of 4 and 8, and complex numbers. */
    uint32_t step = first <= BCL_ADI_UINT8 ? 2 : 1, element = first;
    int smallest = first <= BCL_ADI_UINT8 ? 1 : first == BCL_ADI_FLOAT ? 4 : 8, kinds = first <= BCL_ADI_UINT8 ? 4 : 2;
    for (int kind = 0; kind < kinds; kind++, element += step) {
        if (size != smallest << kind || elements_len == MOST) continue;
        elements[elements_len].type = type;
        elements[elements_len++].element = element;
    }
}

void prepare_types(void) {
    const MPI_Datatype integers[] = {MPI_INT,     MPI_LONG,    MPI_LONG_LONG, MPI_SHORT,   MPI_SIGNED_CHAR, MPI_INT8_T,
                                     MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,   MPI_AINT,    MPI_OFFSET,      MPI_COUNT, MPI_INTEGER};
    const MPI_Datatype naturals[] = {MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_SHORT, MPI_UNSIGNED_CHAR,
                                     MPI_UINT8_T,  MPI_UINT16_T,      MPI_UINT32_T,           MPI_UINT64_T};
    const MPI_Datatype floats[] = {MPI_DOUBLE, MPI_FLOAT, MPI_REAL, MPI_DOUBLE_PRECISION};
    const MPI_Datatype complexes[] = {MPI_C_DOUBLE_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX};
    elements_len = 0;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) add(floats[i], BCL_ADI_FLOAT);
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) add(integers[i], BCL_ADI_INT8);
    for (size_t i = 0; i < sizeof naturals / sizeof *naturals; i++) add(naturals[i], BCL_ADI_UINT8);
    for (size_t i = 0; i < sizeof complexes / sizeof *complexes; i++) add(complexes[i], BCL_ADI_FLOAT_COMPLEX);
}

uint32_t element_of(MPI_Datatype type) {
    for (int i = 0; i < elements_len; i++)
        if (elements[i].type == type) return elements[i].element;
    return 0;
}

/* What MPI allows with these elements, and gives the same. */
uint32_t function_of(MPI_Op op, uint32_t element) {
    bool is_complex = element >= BCL_ADI_FLOAT_COMPLEX, is_integer = element <= BCL_ADI_UINT64;
    if (op == MPI_SUM) return BCL_ADI_SUM;
    if (op == MPI_PROD) return BCL_ADI_PRODUCT;
    if (op == MPI_MIN && !is_complex) return BCL_ADI_MIN;
    if (op == MPI_MAX && !is_complex) return BCL_ADI_MAX;
    if (!is_integer) return 0;
    if (op == MPI_BAND) return BCL_ADI_BIT_AND;
    if (op == MPI_BOR) return BCL_ADI_BIT_OR;
    if (op == MPI_BXOR) return BCL_ADI_BIT_XOR;
    if (op == MPI_LAND) return BCL_ADI_LOGICAL_AND;
    if (op == MPI_LOR) return BCL_ADI_LOGICAL_OR;
    if (op == MPI_LXOR) return BCL_ADI_LOGICAL_XOR;
    return 0;
}
