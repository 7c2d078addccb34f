/* Memory regions, whoever chooses their keys. */
#include "domain.h"

static void memory(void) {
    int chooses_keys = info->domain_attr->mr_mode != FI_MR_BASIC;
    char buffer[64] = {0};
    struct iovec iov = {buffer, sizeof buffer};
    struct fi_mr_attr attr = {.mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_WRITE, .requested_key = 8};
    struct fid_mr *mr, *other;
    MUST(fi_mr_reg(domain, buffer, sizeof buffer, FI_REMOTE_READ, 0, 7, 0, &mr, &context));
    CHECK(mr->fid.context == &context && mr->fid.fclass == FI_CLASS_MR && fi_mr_desc(mr));
    IS(fi_close(&domain->fid), -FI_EBUSY);
    if (chooses_keys) {
        IS(fi_mr_key(mr), 7);
        IS(fi_mr_regv(domain, &iov, 1, FI_REMOTE_READ, 0, 7, 0, &other, NULL), -FI_ENOKEY);
    }
    MUST(fi_mr_regattr(domain, &attr, 0, &other));
    CHECK(fi_mr_key(other) != fi_mr_key(mr));
    MUST(fi_mr_enable(mr));
    MUST(fi_close(&mr->fid));
    MUST(fi_mr_regv(domain, &iov, 1, FI_REMOTE_READ, 0, 7, 0, &mr, NULL));
    MUST(fi_close(&mr->fid));
    MUST(fi_close(&other->fid));
    IS(fi_mr_reg(domain, buffer, 1, ~0ull, 0, 9, 0, &mr, NULL), -FI_EINVAL);
    attr.iov_count = 2;
    IS(fi_mr_regattr(domain, &attr, 0, &mr), -FI_EINVAL);
}

static void events_of_memory(void) {
    struct fi_eq_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_eq_entry entry;
    struct fid_eq *eq;
    struct fid_mr *mr;
    uint32_t event;
    MUST(fi_eq_open(fabric, &attr, &eq, NULL));
    MUST(fi_domain_bind(domain, &eq->fid, FI_REG_MR));
    IS(fi_domain_bind(domain, &eq->fid, FI_REG_MR), -FI_EINVAL);
    MUST(fi_mr_reg(domain, &entry, sizeof entry, FI_REMOTE_READ, 0, 7, 0, &mr, &context));
    IS(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
    CHECK(event == FI_MR_COMPLETE && entry.fid == &mr->fid && entry.context == &context);
    IS(fi_eq_write(eq, 1, "", 1, 0), -FI_EINVAL); /* opened without FI_WRITE */
    IS(fi_close(&eq->fid), -FI_EBUSY);
    MUST(fi_close(&mr->fid));
    MUST(fi_close(&domain->fid));
    MUST(fi_close(&eq->fid));
    MUST(fi_domain(fabric, info, &domain, NULL));
}

static void try(void) {
    memory();
    events_of_memory();
}

int main(void) {
    in_domains(FI_MR_UNSPEC, try);
    in_domains(FI_MR_SCALABLE, try);
    in_domains(FI_MR_BASIC, try);
    puts("all of it");
    return 0;
}
