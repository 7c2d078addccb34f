/* Address vectors, and event queues that tell of them. */
#include "domain.h"

static void address_vector(enum fi_av_type type) {
    struct fi_av_attr attr = {.type = type, .count = 8};
    struct fid_av *av;
    char names[3][64], name[64], text[64];
    fi_addr_t addrs[3];
    int errors[3];
    size_t len = info->dest_addrlen, i;
    MUST(fi_av_open(domain, &attr, &av, NULL));
    IS(fi_close(&domain->fid), -FI_EBUSY);
    for (i = 0; i < 3; i++) memcpy(&names[0][i * len], info->dest_addr, len);
    names[0][len + len - 1] ^= 1; /* the second is damaged */
    IS(fi_av_insert(av, names, 3, addrs, FI_SYNC_ERR, errors), 2);
    CHECK(addrs[0] == 0 && addrs[1] == FI_ADDR_NOTAVAIL && addrs[2] == 1);
    CHECK(errors[0] == 0 && errors[1] == FI_EINVAL && errors[2] == 0);
    IS(fi_av_insert(av, info->src_addr, 1, addrs, 0, NULL), 0); /* no endpoint has it yet */
    len = 5;
    MUST(fi_av_lookup(av, 1, name, &len));
    CHECK(len == info->dest_addrlen && !memcmp(name, info->dest_addr, 5));
    len = sizeof text;
    CHECK(!strcmp(fi_av_straddr(av, info->dest_addr, text, &len), "bcl://10.0.0.9:7"));
    IS(len, strlen(text) + 1);
    addrs[0] = 0;
    MUST(fi_av_remove(av, addrs, 1, 0));
    IS(fi_av_remove(av, addrs, 1, 0), -FI_EINVAL);
    IS(fi_av_lookup(av, 0, name, &len), -FI_EINVAL);
    IS(fi_av_insert(av, info->dest_addr, 1, addrs, FI_MORE, NULL), 1);
    IS(addrs[0], 0);
    IS(fi_av_insertsvc(av, "10.0.0.9", "7", addrs, 0, NULL), -FI_ENOSYS);
    MUST(fi_close(&av->fid));
}

/* With FI_EVENT an insertion is complete when the queue says so. */
static void events_of_addresses(void) {
    struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_FD, .flags = FI_WRITE};
    struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = FI_EVENT};
    struct fi_eq_entry entry;
    struct fi_eq_err_entry error = {0};
    struct fid_eq *eq;
    struct fid_av *av;
    struct fid *fids[1];
    char zeros[64] = {0}, text[256];
    uint32_t event;
    int fd;
    MUST(fi_eq_open(fabric, &eq_attr, &eq, NULL));
    MUST(fi_control(&eq->fid, FI_GETWAIT, &fd));
    MUST(fi_av_open(domain, &attr, &av, NULL));
    IS(fi_av_insert(av, info->dest_addr, 1, NULL, 0, NULL), -FI_ENOEQ);
    MUST(fi_av_bind(av, &eq->fid, 0));
    IS(fi_close(&eq->fid), -FI_EBUSY);
    fids[0] = &eq->fid;
    MUST(fi_trywait(fabric, fids, 1));
    IS(readable(fd), 0);
    MUST(fi_av_insert(av, zeros, 1, NULL, 0, &context));
    MUST(fi_av_insert(av, info->dest_addr, 1, NULL, 0, &context));
    IS(readable(fd), 1);
    IS(fi_trywait(fabric, fids, 1), -FI_EAGAIN);
    IS(fi_eq_read(eq, &event, &entry, sizeof entry, 0), -FI_EAVAIL);
    /* As they may lie on the stack of a program that does not care for them. */
    error.err_data = &error, error.err_data_size = SIZE_MAX;
    IS(fi_eq_readerr(eq, &error, 0), sizeof error);
    CHECK(error.fid == &av->fid && error.context == &context && error.err == FI_EINVAL && error.err_data_size == 0);
    CHECK(fi_eq_strerror(eq, error.prov_errno, NULL, text, sizeof text) == text && strstr(text, "BCL"));
    IS(fi_eq_read(eq, &event, &entry, 1, 0), -FI_ETOOSMALL);
    IS(fi_eq_read(eq, &event, &entry, sizeof entry, FI_PEEK), sizeof entry);
    CHECK(event == FI_AV_COMPLETE && entry.data == 0);
    IS(fi_eq_sread(eq, &event, &entry, sizeof entry, -1, 0), sizeof entry);
    IS(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
    CHECK(event == FI_AV_COMPLETE && entry.data == 1 && entry.context == &context && entry.fid == &av->fid);
    IS(readable(fd), 0);
    IS(fi_eq_write(eq, 77, "word", 5, 0), 5);
    IS(fi_eq_read(eq, &event, text, sizeof text, 0), 5);
    CHECK(event == 77 && !strcmp(text, "word"));
    IS(fi_eq_sread(eq, &event, &entry, sizeof entry, 1, 0), -FI_EAGAIN);
    MUST(fi_close(&av->fid));
    MUST(fi_close(&eq->fid));
}

static void try(void) {
    address_vector(FI_AV_TABLE);
    address_vector(FI_AV_MAP);
    events_of_addresses();
}

int main(void) {
    in_domains(FI_MR_UNSPEC, try);
    puts("all of it");
    return 0;
}
