/* An endpoint that says its name, and then does what it is told, line by line: `send NAME`, `inject NAME`, `take`. Its argument is the
   name that it is to have, if it is to have a certain one. */
#include <rdma/fi_tagged.h>

#include "check.h"

enum { ROOM = 8, MESSAGES = 64 };

static struct fi_info *info;
static struct fid_ep *ep;
static struct fid_av *av;
static struct fid_cq *sends, *receives;
static char in[MESSAGES][ROOM];

static size_t from_hex(const char *hex, unsigned char *bytes, size_t most) {
    size_t len = 0;
    while (len < most && sscanf(hex + 2 * len, "%2hhx", bytes + len) == 1) len++;
    return len;
}

static void open_endpoint(const char *name) {
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_info *hints = fi_allocinfo();
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    hints->caps = FI_TAGGED;
    hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
    hints->fabric_attr->prov_name = strdup("bcl");
    if (name) {
        hints->src_addr = malloc(64);
        hints->src_addrlen = from_hex(name, hints->src_addr, 64);
    }
    MUST(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
    MUST(fi_domain(fabric, info, &domain, NULL));
    MUST(fi_av_open(domain, &av_attr, &av, NULL));
    MUST(fi_cq_open(domain, &cq_attr, &sends, NULL));
    MUST(fi_cq_open(domain, &cq_attr, &receives, NULL));
    MUST(fi_endpoint(domain, info, &ep, NULL));
    MUST(fi_ep_bind(ep, &av->fid, 0));
    MUST(fi_ep_bind(ep, &sends->fid, FI_TRANSMIT));
    MUST(fi_ep_bind(ep, &receives->fid, FI_RECV));
    MUST(fi_enable(ep));
    for (int i = 0; i < MESSAGES; i++) MUST(fi_trecv(ep, in[i], ROOM, NULL, FI_ADDR_UNSPEC, 1, 0, in[i]));
    fi_freeinfo(hints);
}

static void say_name(void) {
    unsigned char name[64];
    size_t len = sizeof name;
    MUST(fi_getname(&ep->fid, name, &len));
    for (size_t i = 0; i < len; i++) printf("%02x", name[i]);
    printf("\n");
}

/* How it went: 0, or what libfabric calls it. */
static void send_to(const char *hex) {
    unsigned char name[64];
    struct iovec piece = {"hello", 6};
    struct fi_msg_tagged msg = {.msg_iov = &piece, .iov_count = 1, .tag = 1};
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t sent;
    CHECK(from_hex(hex, name, sizeof name) == info->src_addrlen);
    IS(fi_av_insert(av, name, 1, &msg.addr, 0, NULL), 1);
    do sent = fi_tsendmsg(ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    while (sent == -FI_EAGAIN);
    MUST(sent);
    sent = fi_cq_sread(sends, &entry, 1, NULL, 60000);
    if (sent == -FI_EAVAIL) IS(fi_cq_readerr(sends, &error, 0), 1);
    else IS(sent, 1);
    MUST(fi_av_remove(av, &msg.addr, 1, 0));
    printf("%d\n", error.err);
}

/* Without being told how it went. */
static void inject_to(const char *hex) {
    unsigned char name[64];
    struct fi_cq_tagged_entry entry;
    fi_addr_t addr;
    ssize_t sent;
    CHECK(from_hex(hex, name, sizeof name) == info->src_addrlen);
    IS(fi_av_insert(av, name, 1, &addr, 0, NULL), 1);
    do sent = fi_tinject(ep, "hello", 6, addr, 1);
    while (sent == -FI_EAGAIN);
    MUST(sent);
    IS(fi_cq_sread(sends, &entry, 1, NULL, 1000), -FI_EAGAIN);
    printf("injected\n");
}

static void take(void) {
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t read = fi_cq_sread(receives, &entry, 1, NULL, 60000);
    if (read == -FI_EAVAIL) IS(fi_cq_readerr(receives, &error, 0), 1);
    else IS(read, 1);
    printf("%s\n", error.err ? fi_strerror(error.err) : (char *)entry.op_context);
}

int main(int count, char **arguments) {
    char line[256];
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_endpoint(count > 1 ? arguments[1] : NULL);
    say_name();
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "send ", 5)) send_to(line + 5);
        else if (!strncmp(line, "inject ", 7)) inject_to(line + 7);
        else take();
    }
    return 0;
}
