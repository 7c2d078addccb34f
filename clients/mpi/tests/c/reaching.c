/* One endpoint reads, writes and changes the memory of another. */
#include "ends.h"

static struct fid_mr *readable_mr, *writable_mr;
static char theirs[LONG], ours[LONG], constant[LONG];
static uint64_t base_of_readable, base_of_writable;
static int error_context;

static void pattern(char *memory, size_t len, int seed) {
    for (size_t i = 0; i < len; i++) memory[i] = (char)(i * 7 + i / 251 + (size_t)seed);
}

static struct fid_mr *expose(char *memory, uint64_t access, uint64_t key, uint64_t *base) {
    struct fid_mr *mr;
    MUST(fi_mr_reg(domain, memory, LONG, access, 0, key, 0, &mr, NULL));
    *base = info->domain_attr->mr_mode == FI_MR_BASIC ? (uint64_t)(uintptr_t)memory : 0;
    return mr;
}

static void counted(uint64_t operations) {
    for (int turns = 0; fi_cntr_read(a.reached) < operations; turns++) {
        CHECK(turns < AGAIN_MAX);
        other_looks(&a);
    }
    IS(fi_cntr_read(a.reached), operations);
}

static void writes(size_t len) {
    int here;
    uint64_t key = fi_mr_key(writable_mr), at = base_of_writable;
    struct fi_cq_tagged_entry entry;
    memset(theirs, 0, len + 1);
    pattern(ours, len, 1);
    MUST(fi_write(a.ep, ours, len, NULL, a.other, at, key, &here));
    entry = next(&a);
    CHECK(entry.op_context == &here && entry.flags == (FI_RMA | FI_WRITE));
    CHECK(memcmp(theirs, ours, len) == 0 && theirs[len] == 0);
    pattern(ours, len, 2);
    MUST(fi_writedata(a.ep, ours, len, NULL, 55, a.other, at, key, &here));
    entry = next(&b);
    CHECK(entry.flags == (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA) && entry.data == 55 && entry.len == len);
    CHECK(memcmp(theirs, ours, len) == 0);
    CHECK(next(&a).op_context == &here);
}

static void reads(size_t len, size_t from) {
    int here;
    struct iovec pieces[2] = {{ours, len / 3}, {ours + LONG / 2, len - len / 3}};
    struct fi_cq_tagged_entry entry;
    memset(ours, 0, LONG);
    MUST(fi_readv(a.ep, pieces, NULL, 2, a.other, base_of_readable + from, fi_mr_key(readable_mr), &here));
    entry = next(&a);
    CHECK(entry.op_context == &here && entry.flags == (FI_RMA | FI_READ));
    CHECK(memcmp(ours, constant + from, len / 3) == 0);
    CHECK(memcmp(ours + LONG / 2, constant + from + len / 3, len - len / 3) == 0);
    CHECK(len - len / 3 == LONG / 2 || ours[LONG / 2 + len - len / 3] == 0);
}

static void by_message(void) {
    struct iovec piece = {ours, 100};
    struct fi_rma_iov place = {.addr = base_of_writable + 5, .len = 100, .key = fi_mr_key(writable_mr)};
    struct fi_msg_rma msg = {.msg_iov = &piece, .iov_count = 1, .addr = a.other, .rma_iov = &place, .rma_iov_count = 1,
                             .context = &msg};
    uint64_t before = fi_cntr_read(a.reached);
    pattern(ours, 100, 9);
    MUST(fi_writemsg(a.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
    CHECK(next(&a).op_context == &msg && memcmp(theirs + 5, ours, 100) == 0);
    pattern(ours, 8, 10);
    MUST(fi_inject_write(a.ep, ours, 8, a.other, base_of_writable, place.key));
    memset(ours, 0, 8);
    counted(before + 2);
    pattern(ours, 8, 10);
    CHECK(memcmp(theirs, ours, 8) == 0);
    place.len = 99;
    IS(fi_writemsg(a.ep, &msg, 0), -FI_EINVAL);
    place.len = 100, msg.rma_iov_count = 2;
    IS(fi_writemsg(a.ep, &msg, 0), -FI_EINVAL);
    msg.rma_iov_count = 1, piece.iov_len = place.len = LONG;
    IS(fi_writemsg(a.ep, &msg, FI_INJECT), -FI_EINVAL);
}

static void refused(int err) {
    struct fi_cq_err_entry error = next_error(&a);
    IS(error.err, err);
    CHECK(error.op_context == &error_context);
}

static void what_is_not_permitted(void) {
    uint64_t readable = fi_mr_key(readable_mr), writable = fi_mr_key(writable_mr);
    uint64_t errors = fi_cntr_readerr(a.reached);
    for (size_t len = 8; len < LONG; len = LONG - 1) {
        MUST(fi_write(a.ep, ours, len, NULL, a.other, base_of_readable, readable, &error_context));
        refused(FI_EACCES);
        MUST(fi_read(a.ep, ours, len, NULL, a.other, base_of_writable, writable, &error_context));
        refused(FI_EACCES);
        MUST(fi_read(a.ep, ours, len, NULL, a.other, base_of_readable + LONG - len + 1, readable, &error_context));
        refused(FI_EINVAL);
        MUST(fi_write(a.ep, ours, len, NULL, a.other, 0, 4711, &error_context));
        refused(EKEYREJECTED);
        if (len == LONG - 1) break;
    }
    IS(fi_cntr_readerr(a.reached), errors + 8);
    pattern(ours, LONG, 0);
    CHECK(memcmp(constant, ours, LONG) == 0);
}

static void atomics(struct fid_mr *mr, uint64_t at, char *memory) {
    uint64_t key = fi_mr_key(mr), before = fi_cntr_read(a.reached);
    int64_t *numbers = (int64_t *)memory, operands[3] = {1, 2, 3}, compared[1] = {11}, found[3] = {0};
    double *real = (double *)memory, half = 0.5;
    struct fi_cq_tagged_entry entry;
    struct fi_atomic_attr attr;
    size_t count;
    int here;
    numbers[0] = 10, numbers[1] = 20, numbers[2] = 30;
    MUST(fi_atomic(a.ep, operands, 3, NULL, a.other, at, key, FI_INT64, FI_SUM, &here));
    entry = next(&a);
    CHECK(entry.op_context == &here && entry.flags == (FI_ATOMIC | FI_WRITE));
    CHECK(numbers[0] == 11 && numbers[1] == 22 && numbers[2] == 33);
    MUST(fi_fetch_atomic(a.ep, operands, 2, NULL, found, NULL, a.other, at, key, FI_INT64, FI_PROD, &here));
    entry = next(&a);
    CHECK(entry.flags == (FI_ATOMIC | FI_READ) && found[0] == 11 && found[1] == 22);
    CHECK(numbers[0] == 11 && numbers[1] == 44 && numbers[2] == 33);
    MUST(fi_compare_atomic(a.ep, operands + 2, 1, NULL, compared, NULL, found, NULL, a.other, at, key, FI_INT64, FI_CSWAP,
                           &here));
    CHECK(next(&a).op_context == &here && found[0] == 11 && numbers[0] == 3);
    MUST(fi_fetch_atomic(a.ep, NULL, 3, NULL, found, NULL, a.other, at, key, FI_INT64, FI_ATOMIC_READ, &here));
    CHECK(next(&a).op_context == &here && found[0] == 3 && found[1] == 44 && found[2] == 33);
    MUST(fi_inject_atomic(a.ep, operands, 1, a.other, at + 8, key, FI_INT64, FI_BOR));
    counted(before + 5);
    CHECK(numbers[1] == 45);
    real[0] = 1.25;
    MUST(fi_atomic(a.ep, &half, 1, NULL, a.other, at, key, FI_DOUBLE, FI_SUM, &here));
    CHECK(next(&a).op_context == &here && real[0] == 1.75);

    MUST(fi_atomicvalid(a.ep, FI_DOUBLE, FI_SUM, &count));
    CHECK(count >= 1000);
    MUST(fi_query_atomic(domain, FI_INT32, FI_CSWAP, &attr, FI_COMPARE_ATOMIC));
    CHECK(attr.size == 4 && attr.count >= 500);
    IS(fi_query_atomic(domain, FI_INT32, FI_CSWAP, &attr, 0), -FI_EOPNOTSUPP);
    IS(fi_atomicvalid(a.ep, FI_DOUBLE, FI_BAND, &count), -FI_EOPNOTSUPP);
    IS(fi_atomic(a.ep, &half, 1, NULL, a.other, at, key, FI_DOUBLE, FI_BAND, &here), -FI_EOPNOTSUPP);
    IS(fi_atomic(a.ep, ours, 2000, NULL, a.other, at, key, FI_DOUBLE, FI_SUM, &here), -FI_EINVAL);
}

/* Memory that is read while its region is closed: the close returns once that is through. */
static void closed_meanwhile(void) {
    struct fid_mr *mr;
    struct fi_cq_tagged_entry entry;
    int here;
    MUST(fi_mr_reg(domain, constant, LONG, FI_REMOTE_READ, 0, 99, 0, &mr, NULL));
    uint64_t at = info->domain_attr->mr_mode == FI_MR_BASIC ? (uint64_t)(uintptr_t)constant : 0;
    memset(ours, 0, LONG);
    MUST(fi_read(a.ep, ours, LONG, NULL, a.other, at, fi_mr_key(mr), &here));
    for (int i = 0; i < 100; i++) fi_cq_read(b.cq, NULL, 0);
    MUST(fi_close(&mr->fid));
    if (read_one(&a, &entry) == 1) {
        CHECK(memcmp(ours, constant, LONG) == 0);
    } else { /* it was closed first */
        struct fi_cq_err_entry error = {0};
        IS(fi_cq_readerr(a.cq, &error, 0), 1);
        IS(error.err, EKEYREJECTED);
    }
}

static void try(void) {
    struct fid_mr *both;
    uint64_t at;
    open_end(&a, 0), open_end(&b, 0);
    introduce(&a, &b), introduce(&b, &a);
    pattern(constant, LONG, 0);
    readable_mr = expose(constant, FI_REMOTE_READ, 7, &base_of_readable);
    writable_mr = expose(theirs, FI_REMOTE_WRITE, 8, &base_of_writable);
    for (size_t len = 0; len < LONG / 2; len = len * 3 + 1) writes(len), reads(len, len % 5);
    by_message();
    what_is_not_permitted();
    both = expose(theirs, FI_REMOTE_READ | FI_REMOTE_WRITE, 9, &at);
    atomics(both, at, theirs);
    closed_meanwhile();
    MUST(fi_write(a.ep, ours, 8, NULL, a.other, base_of_writable, fi_mr_key(writable_mr), &error_context));
    close_end(&b);
    if (read_one(&a, &(struct fi_cq_tagged_entry){0}) == -FI_EAVAIL) refused(ECONNRESET);
    MUST(fi_close(&both->fid));
    MUST(fi_close(&readable_mr->fid));
    MUST(fi_close(&writable_mr->fid));
    close_end(&a);
}

int main(void) {
    in_domains(FI_MR_UNSPEC, try);
    in_domains(FI_MR_BASIC, try);
    puts("all of it");
    return 0;
}
