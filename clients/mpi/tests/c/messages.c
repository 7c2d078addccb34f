/* Two endpoints send each other messages, with tags and without. */
#include "ends.h"

static char out[LONG], in[LONG];

static void tags(size_t len) {
    struct fi_cq_tagged_entry entry;
    int here, there;
    memset(in, 0, len);
    for (size_t i = 0; i < len; i++) out[i] = (char)(i * 7 + len);
    MUST(fi_trecv(b.ep, in, len, NULL, b.other, 0x10, 0xf, &there));
    MUST(fi_tsenddata(a.ep, out, len, NULL, 77, a.other, 0x15, &here));
    entry = next(&b);
    CHECK(entry.op_context == &there && entry.len == len && entry.tag == 0x15 && entry.data == 77);
    CHECK(entry.flags == (FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA) && b.source == b.other);
    CHECK(memcmp(in, out, len) == 0);
    entry = next(&a);
    CHECK(entry.op_context == &here && entry.flags == (FI_SEND | FI_TAGGED));
}

/* What is injected has no completion, and may be overwritten at once; it is counted. */
static void injected(void) {
    uint64_t before = fi_cntr_read(a.sent);
    struct iovec pieces[2] = {{in, 3}, {in + 100, 3}};
    int there;
    strcpy(out, "hello");
    MUST(fi_inject(a.ep, out, 6, a.other));
    strcpy(out, "xxxxx");
    MUST(fi_recvv(b.ep, pieces, NULL, 2, FI_ADDR_UNSPEC, &there));
    CHECK(next(&b).op_context == &there);
    CHECK(memcmp(in, "hel", 3) == 0 && strcmp(in + 100, "lo") == 0);
    MUST(fi_cntr_wait(a.sent, before + 1, 10000));
}

static void looked_for(void) {
    struct fi_msg_tagged look = {.addr = FI_ADDR_UNSPEC, .tag = 5, .context = &look};
    struct iovec piece = {in, LONG};
    struct fi_cq_tagged_entry entry;
    MUST(fi_trecvmsg(b.ep, &look, FI_PEEK));
    IS(next_error(&b).err, FI_ENOMSG);
    for (int i = 0; i < 3; i++) MUST(fi_tinject(a.ep, "abc" + i, 1, a.other, 5));
    for (int turns = 0;; turns++) {
        struct fi_cq_err_entry error = {0};
        CHECK(turns < AGAIN_MAX);
        other_looks(&b);
        MUST(fi_trecvmsg(b.ep, &look, FI_PEEK | FI_CLAIM));
        if (fi_cq_read(b.cq, &entry, 1) == 1) break;
        IS(fi_cq_readerr(b.cq, &error, 0), 1);
    }
    CHECK(entry.len == 1 && entry.tag == 5 && entry.op_context == &look);
    MUST(fi_trecvmsg(b.ep, &look, FI_PEEK | FI_DISCARD));
    CHECK(next(&b).len == 1);
    look.msg_iov = &piece, look.iov_count = 1;
    MUST(fi_trecvmsg(b.ep, &look, FI_CLAIM));
    CHECK(next(&b).len == 1 && in[0] == 'a');
    MUST(fi_trecv(b.ep, in, 1, NULL, FI_ADDR_UNSPEC, 5, 0, &look));
    CHECK(next(&b).len == 1 && in[0] == 'c');
}

/* One buffer for several messages; the last says that it is free. */
static void one_behind_the_other(void) {
    struct iovec piece = {in, 1000};
    struct fi_msg msg = {.msg_iov = &piece, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &msg};
    struct fi_cq_tagged_entry entry;
    size_t least = 500, len = sizeof least;
    MUST(fi_setopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, len));
    least = 0;
    MUST(fi_getopt(&b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &len));
    IS(least, 500);
    MUST(fi_recvmsg(b.ep, &msg, FI_MULTI_RECV));
    for (int i = 0; i < 2; i++) MUST(fi_inject(a.ep, out, 300, a.other));
    entry = next(&b);
    CHECK(entry.buf == in && entry.flags == (FI_RECV | FI_MSG));
    entry = next(&b);
    CHECK(entry.buf == in + 300 && entry.flags == (FI_RECV | FI_MSG | FI_MULTI_RECV));
}

static void what_goes_wrong(void) {
    struct fi_cq_err_entry error;
    int context_of;
    MUST(fi_trecv(b.ep, in, 2, NULL, FI_ADDR_UNSPEC, 9, 0, &context_of));
    MUST(fi_tinject(a.ep, out, 5, a.other, 9));
    error = next_error(&b);
    CHECK(error.err == FI_ETRUNC && error.olen == 3 && error.op_context == &context_of && error.err_data_size == 0);
    CHECK(strstr(fi_cq_strerror(b.cq, error.prov_errno, NULL, NULL, 0), "5 bytes"));
    MUST(fi_trecv(b.ep, in, 2, NULL, FI_ADDR_UNSPEC, 9, 0, &context_of));
    MUST(fi_cancel(&b.ep->fid, &context_of));
    IS(fi_cancel(&b.ep->fid, &context_of), -FI_ENOENT);
    error = next_error(&b);
    CHECK(error.err == FI_ECANCELED && error.op_context == &context_of);
    IS(fi_tsend(a.ep, out, 1, NULL, 99, 0, NULL), -FI_EINVAL);
    IS(fi_tinject(a.ep, out, LONG, a.other, 9), -FI_EINVAL);
}

/* Who sleeps is woken by a message, and by the descriptor too. */
static void asleep(void) {
    struct fi_cq_tagged_entry entry;
    struct fid *fids[1] = {&b.cq->fid};
    int fd;
    MUST(fi_control(&b.cq->fid, FI_GETWAIT, &fd));
    IS(fi_cq_sread(b.cq, &entry, 1, NULL, 20), -FI_EAGAIN);
    MUST(fi_trecv(b.ep, in, 1, NULL, FI_ADDR_UNSPEC, 3, 0, NULL));
    MUST(fi_trecv(b.ep, in, 1, NULL, FI_ADDR_UNSPEC, 3, 0, NULL));
    MUST(fi_trywait(fabric, fids, 1));
    IS(readable(fd), 0);
    MUST(fi_tinject(a.ep, out, 1, a.other, 3));
    struct pollfd one = {.fd = fd, .events = POLLIN};
    IS(poll(&one, 1, 10000), 1);
    IS(fi_cq_sread(b.cq, &entry, 1, NULL, 10000), 1);
    MUST(fi_tinject(a.ep, out, 1, a.other, 3));
    IS(fi_cq_sread(b.cq, &entry, 1, NULL, -1), 1);
}

/* Whoever injects on to a peer that is gone finds out by the call: there is no completion that would tell. */
static void injected_in_vain(void) {
    struct fi_cq_tagged_entry entry;
    ssize_t status = 0;
    for (int turns = 0; (status == 0 || status == -FI_EAGAIN) && turns < AGAIN_MAX; turns++) {
        status = fi_tinject(b.ep, out, 8, b.other, 1);
        IS(fi_cq_read(b.cq, &entry, 1), -FI_EAGAIN);
    }
    IS(status, -ECONNREFUSED);
}

/* How it goes to enable another endpoint, under that name. */
static int enabled_at(struct fi_info *name) {
    struct fid_ep *another;
    int status;
    MUST(fi_endpoint(domain, name, &another, NULL));
    MUST(fi_ep_bind(another, &a.av->fid, 0));
    MUST(fi_ep_bind(another, &a.cq->fid, FI_TRANSMIT | FI_RECV));
    status = fi_enable(another);
    MUST(fi_close(&another->fid));
    return status;
}

static void where_it_is_wanted(void) {
    struct fi_info *same = fi_dupinfo(info), *high;
    MUST(fi_getname(&a.ep->fid, same->src_addr, &same->src_addrlen));
    IS(enabled_at(same), -FI_EADDRINUSE);
    MUST(fi_getinfo(FI_VERSION(1, 17), NULL, "9000", FI_SOURCE, same, &high));
    MUST(enabled_at(high));
    fi_freeinfo(high), fi_freeinfo(same);
}

static void selective(void) {
    struct fi_cq_tagged_entry entry;
    struct iovec piece = {out, 1};
    struct fi_msg_tagged msg = {.msg_iov = &piece, .iov_count = 1, .addr = a.other, .tag = 4, .context = &msg};
    MUST(fi_tsend(a.ep, out, 1, NULL, a.other, 4, NULL));
    MUST(fi_tsendmsg(a.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
    for (int i = 0; i < 2; i++) MUST(fi_trecv(b.ep, in, 1, NULL, FI_ADDR_UNSPEC, 4, 0, NULL));
    for (int i = 0; i < 2; i++) next(&b);
    entry = next(&a);
    CHECK(entry.op_context == &msg);
    IS(fi_cq_read(a.cq, &entry, 1), -FI_EAGAIN);
}

static void try(void) {
    open_end(&a, 0), open_end(&b, 0);
    introduce(&a, &b), introduce(&b, &a);
    for (size_t len = 0; len <= LONG; len = len * 3 + 1) tags(len);
    injected();
    where_it_is_wanted();
    looked_for();
    one_behind_the_other();
    what_goes_wrong();
    asleep();
    MUST(fi_trecv(b.ep, in, 1, NULL, b.other, 1, 0, &a));
    close_end(&a);
    CHECK(next_error(&b).err == ECONNRESET);
    injected_in_vain();
    close_end(&b);
    open_end(&a, FI_SELECTIVE_COMPLETION), open_end(&b, 0);
    introduce(&a, &b), introduce(&b, &a);
    selective();
    close_end(&b), close_end(&a);
}

int main(void) {
    in_domains(FI_MR_UNSPEC, try);
    puts("all of it");
    return 0;
}
