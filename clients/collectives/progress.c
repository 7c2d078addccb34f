/* MPI goes on while a collective waits: a message that this process sends may need it, and others may wait for that before they come. */
#include "collectives.h"

#include <pthread.h>

/* A receive that is never matched: to test it is what makes an MPI library do all that there is to do. */
static MPI_Request never = MPI_REQUEST_NULL;
static MPI_Comm alone = MPI_COMM_NULL;
static pthread_mutex_t testing = PTHREAD_MUTEX_INITIALIZER;

void progress(void *unused) {
    int done;
    (void)unused;
    if (pthread_mutex_trylock(&testing) != 0) return;
    if (never != MPI_REQUEST_NULL) PMPI_Test(&never, &done, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&testing);
}

bool start_progress(void) {
    return PMPI_Comm_dup(MPI_COMM_SELF, &alone) == MPI_SUCCESS && PMPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, alone, &never) == MPI_SUCCESS;
}

void stop_progress(void) {
    pthread_mutex_lock(&testing);
    if (never != MPI_REQUEST_NULL) {
        PMPI_Cancel(&never);
        PMPI_Wait(&never, MPI_STATUS_IGNORE);
    }
    if (alone != MPI_COMM_NULL) PMPI_Comm_free(&alone);
    pthread_mutex_unlock(&testing);
}
