/* A domain to try things in, with threads or without (FI_THREAD_DOMAIN). */
#include <poll.h>

#include "check.h"

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static int context;

static void open_domain(enum fi_threading threading, int mr_mode) {
    struct fi_info *hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV;
    hints->domain_attr->threading = threading;
    hints->domain_attr->mr_mode = mr_mode;
    hints->fabric_attr->prov_name = strdup("bcl");
    MUST(fi_getinfo(FI_VERSION(1, 17), "10.0.0.9", "7", 0, hints, &info));
    MUST(fi_fabric(info->fabric_attr, &fabric, &context));
    MUST(fi_domain(fabric, info, &domain, &context));
    CHECK(fabric->fid.context == &context && domain->fid.context == &context);
    IS(fabric->api_version, FI_VERSION(1, 17));
    IS(domain->fid.fclass, FI_CLASS_DOMAIN);
    IS(fi_close(&fabric->fid), -FI_EBUSY);
    fi_freeinfo(hints);
}

static void close_domain(void) {
    MUST(fi_close(&domain->fid));
    MUST(fi_close(&fabric->fid));
    fi_freeinfo(info);
}

/* Tries something in domains of both kinds. */
static void in_domains(int mr_mode, void (*try)(void)) {
    open_domain(FI_THREAD_SAFE, mr_mode), try(), close_domain();
    open_domain(FI_THREAD_DOMAIN, mr_mode), try(), close_domain();
}

static inline int readable(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, 0);
}
