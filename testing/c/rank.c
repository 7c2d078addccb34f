/* A process of a job that forks: the place in the job stays the parent's. For ./launch. */
#include "check.h"
#include <sys/wait.h>

static void a_child_has_no_place(void) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        uint32_t number;
        char all[64];
        REFUSED(BCL_ERR_FORKED, bcl_job_exchange("child", 5, all));
        REFUSED(BCL_ERR_FORKED, bcl_job_rank(&number));
        REFUSED(BCL_ERR_FORKED, bcl_job_size(&number));
        fflush(stdout);
        _exit(checks_failed);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    uint32_t rank = 9, size = 9;
    char all[2][5];
    check_at_most(60);
    /* Before the first call of the parent's, and after it. */
    for (int round = 0; round < 2; round++) {
        a_child_has_no_place();
        CHECK(bcl_job_rank(&rank) == 0 && bcl_job_size(&size) == 0 && size == 2);
        CHECK(bcl_job_exchange(rank == 0 ? "zero!" : "one!!", 5, all) == 0);
        CHECK(memcmp(all[0], "zero!", 5) == 0 && memcmp(all[1], "one!!", 5) == 0);
    }
    return check_summary();
}
