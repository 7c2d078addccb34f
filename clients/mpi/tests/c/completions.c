/* Completion queues and counters in which nothing completes. */
#include "domain.h"

static void completion_queue(enum fi_wait_obj wait_obj) {
    struct fi_cq_attr attr = {.size = 16, .format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait_obj};
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    struct fid_cq *cq;
    fi_addr_t source;
    int fd;
    MUST(fi_cq_open(domain, &attr, &cq, NULL));
    IS(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
    IS(fi_cq_readfrom(cq, NULL, 0, &source), -FI_EAGAIN);
    IS(fi_cq_readerr(cq, &error, 0), -FI_EAGAIN);
    MUST(fi_cq_signal(cq));
    if (wait_obj == FI_WAIT_NONE) {
        IS(fi_cq_sread(cq, &entry, 1, NULL, -1), -FI_ENOSYS);
    } else {
        IS(fi_cq_sread(cq, &entry, 1, NULL, -1), -FI_EAGAIN); /* woken by the signal */
        IS(fi_cq_sread(cq, &entry, 1, NULL, 1), -FI_EAGAIN);
    }
    if (wait_obj == FI_WAIT_FD) {
        MUST(fi_control(&cq->fid, FI_GETWAIT, &fd));
        IS(readable(fd), 0);
        MUST(fi_cq_signal(cq));
        IS(readable(fd), 1);
    } else {
        IS(fi_control(&cq->fid, FI_GETWAIT, &fd), -FI_ENODATA);
    }
    CHECK(strlen(fi_cq_strerror(cq, FI_ETRUNC, NULL, NULL, 0)) > 0);
    MUST(fi_close(&cq->fid));
    attr.format = 9;
    IS(fi_cq_open(domain, &attr, &cq, NULL), -FI_EINVAL);
    attr.format = FI_CQ_FORMAT_UNSPEC, attr.size = (size_t)1 << 40;
    IS(fi_cq_open(domain, &attr, &cq, NULL), -FI_EINVAL);
    attr.size = 0;
    MUST(fi_cq_open(domain, &attr, &cq, NULL));
    MUST(fi_close(&cq->fid));
}

static void counter(void) {
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_FD};
    struct fid_cntr *cntr;
    struct fid *fids[1];
    int fd;
    MUST(fi_cntr_open(domain, &attr, &cntr, NULL));
    MUST(fi_control(&cntr->fid, FI_GETWAIT, &fd));
    MUST(fi_cntr_add(cntr, 3));
    fids[0] = &cntr->fid;
    IS(readable(fd), 1);
    IS(fi_trywait(fabric, fids, 1), -FI_EAGAIN);
    IS(fi_cntr_read(cntr), 3);
    IS(readable(fd), 0);
    MUST(fi_trywait(fabric, fids, 1));
    MUST(fi_cntr_wait(cntr, 3, -1));
    IS(fi_cntr_wait(cntr, 4, 1), -FI_ETIMEDOUT);
    MUST(fi_cntr_adderr(cntr, 2));
    MUST(fi_cntr_set(cntr, 9));
    MUST(fi_cntr_seterr(cntr, 5));
    IS(fi_cntr_read(cntr), 9);
    IS(fi_cntr_readerr(cntr), 5);
    MUST(fi_close(&cntr->fid));
}

static void try(void) {
    completion_queue(FI_WAIT_NONE);
    completion_queue(FI_WAIT_UNSPEC);
    completion_queue(FI_WAIT_FD);
    counter();
}

int main(void) {
    in_domains(FI_MR_UNSPEC, try);
    puts("all of it");
    return 0;
}
