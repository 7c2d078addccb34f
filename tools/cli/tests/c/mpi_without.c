/* An MPI library that has no libfabric. */
#include <stdio.h>

int MPI_Get_library_version(char *text, int *len) {
    *len = sprintf(text, "Fake MPI 1.0");
    return 0;
}

int MPI_Init(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return 0;
}

int MPI_Finalize(void) {
    return 0;
}
