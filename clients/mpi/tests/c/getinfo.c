/* fi_getinfo as MPI libraries call it: their hints, in the versions that they are written for. */
#include "check.h"

static struct fi_info *hints_for(uint64_t caps) {
    struct fi_info *hints = fi_allocinfo();
    CHECK(hints);
    hints->caps = caps;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup("bcl");
    return hints;
}

static struct fi_info *ask(uint32_t version, struct fi_info *hints) {
    struct fi_info *info = NULL;
    MUST(fi_getinfo(version, NULL, NULL, 0, hints, &info));
    CHECK(info && !info->next);
    CHECK(!strcmp(info->fabric_attr->prov_name, "bcl") && !strcmp(info->fabric_attr->name, "bcl"));
    CHECK(!strcmp(info->domain_attr->name, "bcl"));
    CHECK(info->src_addr && info->src_addrlen > 0 && info->src_addrlen <= 64);
    IS(info->fabric_attr->api_version, version);
    IS(info->ep_attr->type, FI_EP_RDM);
    IS(info->mode, 0);
    CHECK(!hints || (info->caps & hints->caps) == hints->caps);
    return info;
}

/* First without any wish, in no version; then with hints made from the answer. */
static void mpich(void) {
    struct fi_info *all, *info, *first = NULL, *hints;
    MUST(fi_getinfo(FI_VERSION(0, 0), NULL, NULL, 0, NULL, &all));
    for (info = all; info && !first; info = info->next)
        if (!strcmp(info->fabric_attr->prov_name, "bcl")) first = info;
    CHECK(first);
    CHECK(first->ep_attr->max_msg_size >= 16384 && first->domain_attr->cq_data_size >= 4);
    CHECK(first->tx_attr->inject_size >= 256);
    hints = hints_for((first->caps & (FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)) | FI_TAGGED | FI_MSG |
                      FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SEND | FI_RECV);
    hints->mode = FI_CONTEXT | FI_ASYNC_IOV | FI_RX_CQ_DATA;
    hints->addr_format = first->addr_format;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->cq_data_size = 4;
    hints->tx_attr->op_flags = FI_COMPLETION;
    hints->rx_attr->op_flags = FI_COMPLETION;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    info = ask(FI_VERSION(1, 14), hints);
    IS(info->domain_attr->threading, FI_THREAD_DOMAIN);
    IS(info->domain_attr->data_progress, FI_PROGRESS_MANUAL);
    IS(info->domain_attr->mr_mode, 0);
    fi_freeinfo(info), fi_freeinfo(hints), fi_freeinfo(all);
}

static void openmpi(void) {
    struct fi_info *hints = hints_for(FI_TAGGED | FI_DIRECTED_RECV), *info;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->op_flags = hints->rx_attr->op_flags = FI_COMPLETION;
    hints->domain_attr->av_type = FI_AV_MAP;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    info = ask(FI_VERSION(1, 0), hints);
    IS(info->domain_attr->av_type, FI_AV_MAP);
    IS(info->domain_attr->mr_mode, FI_MR_SCALABLE);
    CHECK(info->domain_attr->threading != FI_THREAD_UNSPEC);
    fi_freeinfo(info);
    hints->domain_attr->cq_data_size = sizeof(int);
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ALLOCATED;
    info = ask(FI_VERSION(1, 9), hints);
    IS(info->domain_attr->mr_mode, 0);
    fi_freeinfo(info), fi_freeinfo(hints);
}

static void intel(void) {
    struct fi_info *hints = hints_for(FI_TAGGED | FI_MSG | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM);
    struct fi_info *info;
    hints->mode = FI_CONTEXT;
    hints->domain_attr->threading = FI_THREAD_ENDPOINT;
    hints->domain_attr->control_progress = FI_PROGRESS_AUTO;
    hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
    hints->domain_attr->mr_mode = FI_MR_SCALABLE;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE | FI_COMPLETION;
    info = ask(FI_VERSION(1, 10), hints);
    IS(info->domain_attr->threading, FI_THREAD_ENDPOINT);
    IS(info->domain_attr->data_progress, FI_PROGRESS_AUTO);
    IS(info->domain_attr->mr_mode, FI_MR_SCALABLE);
    IS(info->tx_attr->op_flags, FI_DELIVERY_COMPLETE | FI_COMPLETION);
    fi_freeinfo(info), fi_freeinfo(hints);
}

/* Whom to reach is a name like one's own. */
static void node_and_service(void) {
    struct fi_info *hints = hints_for(FI_MSG), *info = NULL;
    MUST(fi_getinfo(FI_VERSION(1, 17), "10.9.8.7", "6543", 0, hints, &info));
    CHECK(info->dest_addr && info->dest_addrlen == info->src_addrlen);
    CHECK(memcmp(info->dest_addr, info->src_addr, info->src_addrlen));
    fi_freeinfo(info);
    MUST(fi_getinfo(FI_VERSION(1, 17), NULL, "6543", FI_SOURCE, hints, &info));
    CHECK(!info->dest_addr);
    fi_freeinfo(info);
    IS(fi_getinfo(FI_VERSION(1, 17), NULL, "http", 0, hints, &info), -FI_ENODATA);
    fi_freeinfo(hints);
}

static void refusals(void) {
    struct fi_info *hints = hints_for(FI_MSG), *info = NULL;
    /* Libfabric's own layers ask in this way for what they can stand on. */
    IS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 1ull << 58, hints, &info), -FI_ENODATA);
    IS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 1ull << 59, hints, &info), -FI_ENODATA);
    hints->ep_attr->type = FI_EP_DGRAM;
    IS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), -FI_ENODATA);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_HMEM;
    IS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), -FI_ENODATA);
    fi_freeinfo(hints);
}

int main(void) {
    mpich();
    openmpi();
    intel();
    node_and_service();
    refusals();
    puts("all of it");
    return 0;
}
