/* An MPI library for `bcl doctor --mpi`, with as much as that calls: at MPI_Init it opens an endpoint of the provider BCL in
   the machine's libfabric, as MPI libraries do. FAKE_MPI says what is the matter with it. */
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const char *call, int status) {
    if (status == 0) return;
    fprintf(stderr, "Fatal error in MPI_Init: %s returns %d\nAborted\n", call, status);
    exit(15);
}

#define MUST(call) must(#call, call)

static void open_endpoint(void) {
    struct fi_cq_attr queues = {.format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    struct fi_info *info, *hints = fi_allocinfo();
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    hints->fabric_attr->prov_name = strdup("bcl");
    MUST(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
    MUST(fi_domain(fabric, info, &domain, NULL));
    MUST(fi_endpoint(domain, info, &ep, NULL));
    MUST(fi_cq_open(domain, &queues, &cq, NULL));
    MUST(fi_av_open(domain, &table, &av, NULL));
    MUST(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    MUST(fi_ep_bind(ep, &av->fid, 0));
    MUST(fi_enable(ep));
}

int MPI_Get_library_version(char *text, int *len) {
    *len = sprintf(text, "Fake  MPI 1.0\nof a test");
    return 0;
}

int MPI_Init(int *argc, char ***argv) {
    const char *how = getenv("FAKE_MPI");
    (void)argc, (void)argv;
    if (how && !strcmp(how, "elsewhere")) {
        struct fi_info *info;
        fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info);
    } else {
        open_endpoint();
    }
    return 0;
}

int MPI_Finalize(void) {
    return 0;
}
