/* Two endpoints in a domain, which look for each other as a program with one thread has to. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "domain.h"

enum { LONG = 300000, AGAIN_MAX = 50000000 };

struct end {
    struct fid_ep *ep;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_cntr *sent, *reached; /* reads, writes and atomic operations */
    fi_addr_t other, source; /* of the last completion */
};
static struct end a, b;

static void open_end(struct end *end, uint64_t cq_flags) {
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD};
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    MUST(fi_endpoint(domain, info, &end->ep, NULL));
    MUST(fi_av_open(domain, &av_attr, &end->av, NULL));
    MUST(fi_cq_open(domain, &cq_attr, &end->cq, NULL));
    MUST(fi_cntr_open(domain, NULL, &end->sent, NULL));
    MUST(fi_cntr_open(domain, NULL, &end->reached, NULL));
    MUST(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | cq_flags));
    IS(fi_enable(end->ep), -FI_ENOAV); /* what was bound stays */
    MUST(fi_ep_bind(end->ep, &end->av->fid, 0));
    IS(fi_enable(end->ep), -FI_ENOCQ);
    MUST(fi_ep_bind(end->ep, &end->cq->fid, FI_RECV));
    MUST(fi_ep_bind(end->ep, &end->sent->fid, FI_SEND));
    IS(fi_ep_bind(end->ep, &end->reached->fid, FI_REMOTE_WRITE), -FI_EBADFLAGS);
    MUST(fi_ep_bind(end->ep, &end->reached->fid, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE));
    IS(fi_tsend(end->ep, "", 1, NULL, 0, 0, NULL), -FI_EOPBADSTATE);
    MUST(fi_enable(end->ep));
    IS(fi_enable(end->ep), -FI_EOPBADSTATE);
}

static void introduce(struct end *to, struct end *other) {
    char name[64];
    size_t len = 4;
    IS(fi_getname(&other->ep->fid, name, &len), -FI_ETOOSMALL);
    MUST(fi_getname(&other->ep->fid, name, &len));
    CHECK(len <= 64);
    IS(fi_av_insert(to->av, name, 1, &to->other, 0, NULL), 1);
}

static void close_end(struct end *end) {
    MUST(fi_close(&end->ep->fid));
    MUST(fi_close(&end->cq->fid));
    MUST(fi_close(&end->sent->fid));
    MUST(fi_close(&end->reached->fid));
    MUST(fi_close(&end->av->fid));
    end->cq = NULL;
}

/* The other end, if it is open, looks at what has come, and takes nothing. */
static void other_looks(struct end *end) {
    struct end *other = end == &a ? &b : &a;
    if (other->cq) fi_cq_read(other->cq, NULL, 0);
}

/* What there is at `end`, at most one completion, once there is something. */
static ssize_t read_one(struct end *end, struct fi_cq_tagged_entry *entry) {
    ssize_t read = -FI_EAGAIN;
    for (int turns = 0; read == -FI_EAGAIN && turns < AGAIN_MAX; turns++) {
        other_looks(end);
        read = fi_cq_readfrom(end->cq, entry, 1, &end->source);
    }
    return read;
}

static struct fi_cq_tagged_entry next(struct end *end) {
    struct fi_cq_tagged_entry entry;
    IS(read_one(end, &entry), 1);
    return entry;
}

static struct fi_cq_err_entry next_error(struct end *end) {
    /* As the entry of a program that does not care for data of providers' may lie on its stack. */
    struct fi_cq_err_entry error = {.err_data = &error, .err_data_size = SIZE_MAX};
    struct fi_cq_tagged_entry entry;
    IS(read_one(end, &entry), -FI_EAVAIL);
    IS(fi_cq_readerr(end->cq, &error, 0), 1);
    return error;
}
