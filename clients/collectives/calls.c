/* The collectives themselves. What is not done here is found so by all members of a communicator: by what MPI has them say alike. */
#include "collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int barrier(handle comm, int *result);
int bcast(void *buffer, int64_t count, handle type, int root, handle comm, int *result);
int allreduce(const void *in, void *out, int64_t count, handle type, handle op, handle comm, int *result);

/* The group of a communicator; NULL if the library is to do what is called. */
static struct communicator *ours(MPI_Comm comm) {
    if (!team || comm == MPI_COMM_NULL) return NULL;
    struct communicator *it = communicator_of(comm);
    return it && it->group ? it : NULL;
}

/* What MPI returns for what was returned here, after the communicator's error handler. */
static int status_of(int done, MPI_Comm comm) {
    int class = MPI_ERR_OTHER, code;
    char text[MPI_MAX_ERROR_STRING];
    if (done == 0) return MPI_SUCCESS;
#ifdef MPIX_ERR_PROC_FAILED
    if (done == BCL_ERR_PEER_GONE) class = MPIX_ERR_PROC_FAILED;
#endif
    snprintf(text, sizeof text, "%s", bcl_last_error());
    if (PMPI_Add_error_code(class, &code) != MPI_SUCCESS) code = class;
    else PMPI_Add_error_string(code, text);
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}

int barrier(handle comm_value, int *result) {
    MPI_Comm comm = comm_of(comm_value);
    struct communicator *it = ours(comm);
    count_call(BARRIER, it);
    if (!it) return 0;
    *result = status_of(bcl_coll_barrier(it->group), comm);
    return 1;
}

/* Data with gaps, or in another order: as others send and receive it, who may have said the same by other types. */
static int bcast_packed(struct communicator *it, void *buffer, int count, MPI_Datatype type, int64_t len, int root, MPI_Comm comm) {
    int position = 0, rank;
    char *packed = malloc(len ? (size_t)len : 1);
    if (!packed) {
        say("no memory for %lld bytes", (long long)len);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    PMPI_Comm_rank(comm, &rank);
    int status = rank == root ? PMPI_Pack(buffer, count, type, packed, (int)len, &position, comm) : MPI_SUCCESS;
    if (status == MPI_SUCCESS) status = status_of(bcl_coll_broadcast(it->group, (uint32_t)root, packed, (size_t)len), comm);
    if (status == MPI_SUCCESS && rank != root) status = PMPI_Unpack(packed, (int)len, &position, buffer, count, type, comm);
    free(packed);
    return status;
}

int bcast(void *buffer, int64_t count, handle type_value, int root, handle comm_value, int *result) {
    MPI_Comm comm = comm_of(comm_value);
    MPI_Datatype type = type_of(type_value);
    int size;
    struct communicator *it = ours(comm);
    bool is_ours = it && count >= 0 && count <= INT32_MAX && root >= 0 && root < it->size && type != MPI_DATATYPE_NULL &&
                   PMPI_Type_size(type, &size) == MPI_SUCCESS && size >= 0 && count * size <= agreed.broadcast_max;
    count_call(BROADCAST, is_ours);
    if (!is_ours) return 0;
    int64_t len = count * size;
    if (element_of(type) || type == MPI_BYTE || type == MPI_CHAR)
        *result = status_of(bcl_coll_broadcast(it->group, (uint32_t)root, buffer, (size_t)len), comm);
    else
        *result = bcast_packed(it, buffer, (int)count, type, len, root, comm);
    return 1;
}

int allreduce(const void *in, void *out, int64_t count, handle type_value, handle op_value, handle comm_value, int *result) {
    MPI_Comm comm = comm_of(comm_value);
    MPI_Datatype type = type_of(type_value);
    struct communicator *it = ours(comm);
    uint32_t element = element_of(type), function = element ? function_of(op_of(op_value), element) : 0;
    int size = 0;
    bool is_ours = it && function && count > 0 && PMPI_Type_size(type, &size) == MPI_SUCCESS && count <= agreed.allreduce_max / size;
    count_call(ALLREDUCE, is_ours);
    if (!is_ours) return 0;
    if (in != MPI_IN_PLACE) memcpy(out, in, (size_t)count * (size_t)size);
    *result = status_of(bcl_coll_allreduce(it->group, function, element, out, (size_t)count), comm);
    return 1;
}
