/* Every function with input that cannot be right: a clear error each, and the port goes on as if nothing had been. */
#include "check.h"

static char small[64];

static void texts(void) {
    bcl_address address = {1, 2, 0};
    bcl_event event;
    char text[BCL_ADDRESS_TEXT_LEN];
    memset(&event, 0xff, sizeof event);

    for (int code = -60; code < 5; code++) CHECK(bcl_strerror(code)[0] != 0);
    CHECK(strcmp(bcl_strerror(BCL_OK), "success") == 0);
    CHECK(strcmp(bcl_version(), "0.1.0") == 0);

    REFUSED(BCL_ERR_INVALID, bcl_address_parse(NULL, &address));
    REFUSED(BCL_ERR_INVALID, bcl_address_parse("10.0.0.1:7", NULL));
    REFUSED(BCL_ERR_INVALID, bcl_address_parse("", &address));
    REFUSED(BCL_ERR_INVALID, bcl_address_parse("10.0.0.1", &address));
    REFUSED(BCL_ERR_INVALID, bcl_address_parse("10.0.0.1:0", &address));
    REFUSED(BCL_ERR_INVALID, bcl_address_parse("10.0.0.1:65536", &address));
    REFUSED(BCL_ERR_INVALID, bcl_address_parse("10.0.0.256:1", &address));
    REFUSED(BCL_ERR_INVALID, bcl_address_parse("\xff\xfe", &address));
    CHECK(address.node == 1 && address.port == 2);
    CHECK(bcl_address_parse("10.0.0.1:7", &address) == 0 && address.node == 0x0a000001 && address.port == 7);

    REFUSED(BCL_ERR_INVALID, bcl_address_format(address, NULL, 100));
    REFUSED(BCL_ERR_INVALID, bcl_address_format(address, text, 0));
    REFUSED(BCL_ERR_INVALID, bcl_address_format(address, text, 10));
    CHECK(bcl_address_format(address, text, 11) == 0 && strcmp(text, "10.0.0.1:7") == 0);

    REFUSED(BCL_ERR_INVALID, bcl_event_text(NULL, small, sizeof small));
    REFUSED(BCL_ERR_INVALID, bcl_event_text(&event, NULL, 10));
    REFUSED(BCL_ERR_INVALID, bcl_event_text(&event, small, 0));
    CHECK(bcl_event_text(&event, small, 5) == 0 && strlen(small) == 4);
    for (uint32_t type = 0; type < 9; type++) {
        event.type = type;
        CHECK(bcl_event_text(&event, small, sizeof small) == 0);
    }
}

static void opening(void) {
    bcl_options options = BCL_OPTIONS_INIT;
    bcl_options other;
    bcl_port *port, *taken;
    uint32_t uid = 1;

    REFUSED(BCL_ERR_INVALID, bcl_open(NULL, NULL));
#define REFUSED_WITH(field, value, code) \
    other = options;                     \
    other.field = value;                 \
    port = (bcl_port *)small;            \
    REFUSED(code, bcl_open(&other, &port)); \
    CHECK(port == NULL)
    REFUSED_WITH(size, 0, BCL_ERR_INVALID);
    REFUSED_WITH(size, SIZE_MAX, BCL_ERR_INVALID);
    REFUSED_WITH(size, sizeof options - 16, BCL_ERR_INVALID);
    REFUSED_WITH(size, offsetof(bcl_options, device) - 8, BCL_ERR_INVALID);
    REFUSED_WITH(device, 5, BCL_ERR_INVALID);
    REFUSED_WITH(dead_after_ms, 99, BCL_ERR_INVALID);
    REFUSED_WITH(dead_after_ms, 3600001, BCL_ERR_INVALID);
    /* A program that was built before the last fields came. */
    other = options;
    other.size = offsetof(bcl_options, device);
    other.device = 99;
    CHECK(bcl_open(&other, &port) == 0 && bcl_close(port) == 0);
    other = options;
    other.device = BCL_DEVICE_SHM;
    other.dead_after_ms = 500;
    CHECK(bcl_open(&other, &port) == 0 && bcl_close(port) == 0);
    REFUSED_WITH(flags, 2, BCL_ERR_INVALID);
    REFUSED_WITH(copy, 4, BCL_ERR_INVALID);
    REFUSED_WITH(key, "not hexadecimal", BCL_ERR_INVALID);
    REFUSED_WITH(key, "", BCL_ERR_INVALID);
    REFUSED_WITH(key, "\xff\xfe", BCL_ERR_INVALID);
    REFUSED_WITH(folder, "/proc/nowhere", BCL_ERR_FOLDER);
    REFUSED_WITH(folder, "/dev/null", BCL_ERR_FOLDER);
    other = options;
    other.allow_uids = &uid;
    other.allow_uids_len = SIZE_MAX;
    REFUSED(BCL_ERR_INVALID, bcl_open(&other, &port));

    setenv("BCL_COPY", "fast", 1);
    REFUSED(BCL_ERR_CONFIGURATION, bcl_open(NULL, &port));
    unsetenv("BCL_COPY");

    taken = open_port(0);
    options.number = address_of(taken).port;
    REFUSED(BCL_ERR_PORT_IN_USE, bcl_open(&options, &port));
    CHECK(bcl_close(taken) == 0);
    CHECK(bcl_open(&options, &port) == 0 && address_of(port).port == options.number);
    CHECK(bcl_close(port) == 0);

    /* A later version's structure is welcome as long as what it adds is not used. */
    struct {
        bcl_options options;
        uint64_t more[4];
    } later;
    memset(&later, 0, sizeof later);
    later.options.size = sizeof later;
    CHECK(bcl_open(&later.options, &port) == 0 && bcl_close(port) == 0);
    later.more[3] = 1;
    REFUSED(BCL_ERR_INVALID, bcl_open(&later.options, &port));
}

static void arguments(bcl_port *port, bcl_address peer) {
    const bcl_address zero = {0, 0, 0};
    bcl_event events[4];
    bcl_address address;
    size_t len;
    int fd;

    REFUSED(BCL_ERR_INVALID, bcl_port_address(port, NULL));
    REFUSED(BCL_ERR_INVALID, bcl_fd(port, NULL));
    REFUSED(BCL_ERR_NOT_FOUND, bcl_peer_text(port, zero, small, sizeof small));

    REFUSED(BCL_ERR_INVALID, bcl_send(port, zero, 0, small, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send(port, zero, 1, small, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send(port, peer, 0, NULL, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send(port, peer, 1, NULL, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send(port, peer, 0, small, BCL_SYSTEM_MAX + 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send(port, peer, 0, small, SIZE_MAX, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send(port, peer, 1, small, SIZE_MAX, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send(port, peer, 1, small, SIZE_MAX / 2 + 1, 0));

    REFUSED(BCL_ERR_INVALID, bcl_cancel_send(port, zero, 0));
    REFUSED(BCL_ERR_NOT_FOUND, bcl_cancel_send(port, peer, 0));

    REFUSED(BCL_ERR_INVALID, bcl_send_unreliable(port, zero, small, 1));
    REFUSED(BCL_ERR_INVALID, bcl_send_unreliable(port, peer, NULL, 1));
    REFUSED(BCL_ERR_INVALID, bcl_send_unreliable(port, peer, small, SIZE_MAX));
    REFUSED(BCL_ERR_INVALID, bcl_unreliable_max(port, zero, &len));
    REFUSED(BCL_ERR_INVALID, bcl_unreliable_max(port, peer, NULL));
    CHECK(bcl_unreliable_max(port, peer, &len) == 0 && len > 0 && len <= BCL_SYSTEM_MAX);
    REFUSED(BCL_ERR_INVALID, bcl_send_unreliable(port, peer, small, len + 1));

    REFUSED(BCL_ERR_INVALID, bcl_post(port, 0, small, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_post(port, 1, NULL, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_post(port, 1, small, SIZE_MAX, 0));
    REFUSED(BCL_ERR_INVALID, bcl_cancel_post(port, 0, 0));
    REFUSED(BCL_ERR_NOT_FOUND, bcl_cancel_post(port, 1, 0));

    REFUSED(BCL_ERR_INVALID, bcl_bind(port, BCL_WINDOW_MAX + 1, small, 8, BCL_ACCESS_GET));
    REFUSED(BCL_ERR_INVALID, bcl_bind(port, 0, NULL, 8, BCL_ACCESS_GET));
    REFUSED(BCL_ERR_INVALID, bcl_bind(port, 0, small, SIZE_MAX, BCL_ACCESS_GET));
    REFUSED(BCL_ERR_INVALID, bcl_bind(port, 0, small, 8, 16));
    REFUSED(BCL_ERR_NOT_FOUND, bcl_unbind(port, 0));
    REFUSED(BCL_ERR_NOT_FOUND, bcl_unbind(port, UINT16_MAX));
    CHECK(bcl_bind(port, 0, small, 8, BCL_ACCESS_GET) == 0);
    REFUSED(BCL_ERR_BUSY, bcl_bind(port, 0, small, 8, BCL_ACCESS_GET));
    CHECK(bcl_unbind(port, 0) == 0);

    REFUSED(BCL_ERR_INVALID, bcl_put(port, zero, 0, 0, small, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_put(port, peer, 0, 0, NULL, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_put(port, peer, 0, 0, small, SIZE_MAX, 0));
    REFUSED(BCL_ERR_INVALID, bcl_get(port, zero, 0, 0, small, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_get(port, peer, 0, 0, NULL, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_get(port, peer, 0, 0, small, SIZE_MAX, 0));
    REFUSED(BCL_ERR_INVALID, bcl_fetch_add(port, zero, 0, 0, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_compare_swap(port, zero, 0, 0, 1, 2, 0));

    REFUSED(BCL_ERR_INVALID, bcl_poll(port, 0, events, 4));
    REFUSED(BCL_ERR_INVALID, bcl_poll(port, 4, events, 4));
    REFUSED(BCL_ERR_INVALID, bcl_poll(port, BCL_ANY, NULL, 4));
    REFUSED(BCL_ERR_INVALID, bcl_poll(port, BCL_ANY, events, 0));
    REFUSED(BCL_ERR_INVALID, bcl_poll(port, BCL_ANY, events, -1));
    REFUSED(BCL_ERR_INVALID, bcl_wait(port, -1, events, 4, 0));
    REFUSED(BCL_ERR_INVALID, bcl_wait(port, BCL_ANY, NULL, 4, 0));
    REFUSED(BCL_ERR_INVALID, bcl_wait(port, BCL_ANY, events, 0, 0));
    REFUSED(BCL_ERR_INVALID, bcl_wait(port, BCL_ANY, events, 4, -2));
    CHECK(bcl_wait(port, BCL_ANY, events, 4, 0) == 0);

    REFUSED(BCL_ERR_INVALID, bcl_release(port, NULL));
    memset(events, 0, sizeof events);
    REFUSED(BCL_ERR_INVALID, bcl_release(port, events));
    events[0].type = BCL_EVENT_MESSAGE;
    REFUSED(BCL_ERR_NOT_FOUND, bcl_release(port, events));
    memset(events[0].handle, 0xff, sizeof events[0].handle);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_release(port, events));
    CHECK(bcl_port_address(port, &address) == 0 && bcl_fd(port, &fd) == 0);
}

static void memory(bcl_port *port, bcl_address peer) {
    bcl_memory *memory;
    void *dma;

    REFUSED(BCL_ERR_INVALID, bcl_dma_alloc(100, NULL));
    REFUSED(BCL_ERR_INVALID, bcl_dma_alloc(0, &dma));
    REFUSED(BCL_ERR_INVALID, bcl_dma_alloc(SIZE_MAX, &dma));
    REFUSED(BCL_ERR_NO_MEMORY, bcl_dma_alloc((size_t)1 << 50, &dma));
    CHECK(dma == NULL);
    REFUSED(BCL_ERR_INVALID, bcl_dma_free(small));
    CHECK(bcl_dma_free(NULL) == 0);
    CHECK(bcl_dma_alloc(5000, &dma) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_dma_free((char *)dma + 1));
    CHECK(bcl_dma_free(dma) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_dma_free(dma));

    REFUSED(BCL_ERR_INVALID, bcl_register(small, sizeof small, NULL));
    REFUSED(BCL_ERR_INVALID, bcl_register(NULL, 1, &memory));
    REFUSED(BCL_ERR_INVALID, bcl_register(small, 0, &memory));
    REFUSED(BCL_ERR_INVALID, bcl_register(small, SIZE_MAX, &memory));
    REFUSED(BCL_ERR_INVALID, bcl_register((void *)4096, 4096, &memory));
    CHECK(memory == NULL);
    REFUSED(BCL_ERR_INVALID, bcl_deregister(NULL));
    REFUSED(BCL_ERR_INVALID, bcl_deregister((bcl_memory *)small));
    REFUSED(BCL_ERR_INVALID, bcl_send_registered(port, peer, 1, NULL, 0, 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send_registered(port, peer, 1, (bcl_memory *)small, 0, 1, 0));
    CHECK(bcl_register(small, sizeof small, &memory) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_send_registered(port, peer, 1, memory, 0, sizeof small + 1, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send_registered(port, peer, 1, memory, SIZE_MAX, 2, 0));
    REFUSED(BCL_ERR_INVALID, bcl_send_registered(port, peer, 1, memory, sizeof small, 1, 0));
    CHECK(bcl_deregister(memory) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_deregister(memory));
}

static void job(void) {
    uint32_t number = 7;
    uint64_t mine = 42, all = 0;
    REFUSED(BCL_ERR_INVALID, bcl_job_rank(NULL));
    REFUSED(BCL_ERR_INVALID, bcl_job_size(NULL));
    REFUSED(BCL_ERR_INVALID, bcl_job_exchange(NULL, 8, &all));
    REFUSED(BCL_ERR_INVALID, bcl_job_exchange(&mine, 8, NULL));
    REFUSED(BCL_ERR_INVALID, bcl_job_exchange(&mine, BCL_BLOB_MAX + 1, &all));
    REFUSED(BCL_ERR_INVALID, bcl_job_exchange(&mine, SIZE_MAX, &all));
    CHECK(bcl_job_rank(&number) == 0 && number == 0);
    CHECK(bcl_job_size(&number) == 0 && number == 1);
    CHECK(bcl_job_exchange(&mine, sizeof mine, &all) == 0 && all == 42);
    CHECK(bcl_job_exchange(NULL, 0, NULL) == 0);
}

/* Every call on a port that is not one. */
static void no_port(bcl_port *port, int code) {
    const bcl_address peer = {0x7f000001, 7, 0};
    bcl_address address;
    bcl_event event;
    bcl_memory *memory;
    int fd;
    memset(&event, 0, sizeof event);
    event.type = BCL_EVENT_MESSAGE;
    event.handle[0] = 1;
    CHECK(bcl_register(small, sizeof small, &memory) == 0);
    REFUSED(code, bcl_port_address(port, &address));
    REFUSED(code, bcl_peer_text(port, peer, small, sizeof small));
    REFUSED(code, bcl_send(port, peer, 0, small, 1, 0));
    REFUSED(code, bcl_send(port, peer, 1, small, 1, 0));
    REFUSED(code, bcl_send_registered(port, peer, 1, memory, 0, 1, 0));
    REFUSED(code, bcl_cancel_send(port, peer, 0));
    REFUSED(code, bcl_post(port, 1, small, 1, 0));
    REFUSED(code, bcl_cancel_post(port, 1, 0));
    REFUSED(code, bcl_bind(port, 0, small, 8, BCL_ACCESS_GET));
    REFUSED(code, bcl_unbind(port, 0));
    REFUSED(code, bcl_put(port, peer, 0, 0, small, 1, 0));
    REFUSED(code, bcl_get(port, peer, 0, 0, small, 1, 0));
    REFUSED(code, bcl_fetch_add(port, peer, 0, 0, 1, 0));
    REFUSED(code, bcl_compare_swap(port, peer, 0, 0, 1, 2, 0));
    REFUSED(code, bcl_poll(port, BCL_ANY, &event, 1));
    REFUSED(code, bcl_wait(port, BCL_ANY, &event, 1, -1));
    REFUSED(code, bcl_fd(port, &fd));
    REFUSED(code, bcl_release(port, &event));
    REFUSED(code, bcl_close(port));
    CHECK(bcl_deregister(memory) == 0);
}

/* A message, released once, and not a second time, from the event or from a copy of it. */
static void double_release(bcl_port *port, bcl_port *other) {
    CHECK(bcl_send(other, address_of(port), BCL_SYSTEM_CHANNEL, "hello", 5, 1) == 0);
    CHECK(next_of(other, BCL_EVENT_SENT).status == 0);
    bcl_event event = next_of(port, BCL_EVENT_MESSAGE);
    bcl_event copy = event;
    CHECK(event.len == 5 && memcmp(event.data, "hello", 5) == 0);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_release(other, &copy));
    CHECK(bcl_release(port, &event) == 0 && event.data == NULL && event.handle[0] == 0);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_release(port, &event));
    REFUSED(BCL_ERR_NOT_FOUND, bcl_release(port, &copy));
}

/* What can only be found out on the way comes with the event. */
static void errors_of_events(bcl_port *port) {
    bcl_address nobody = address_of(port);
    bcl_address elsewhere = {0x01020304, 7, 0};
    char text[200];
    nobody.port = 1;
    CHECK(bcl_send(port, nobody, 0, "x", 1, BCL_QUIET) == 0);
    CHECK(next_of(port, BCL_EVENT_SENT).status == BCL_ERR_NO_PORT);
    CHECK(bcl_send(port, elsewhere, 1, "x", 1, 5) == 0);
    bcl_event event = next_of(port, BCL_EVENT_SENT);
    CHECK(event.status == BCL_ERR_UNREACHABLE && event.cookie == 5 && event.channel == 1);
    CHECK(bcl_event_text(&event, text, sizeof text) == 0 && strstr(text, "1.2.3.4:7 on channel 1 failed: no way"));
    CHECK(bcl_fetch_add(port, nobody, 0, 0, 1, 6) == 0);
    CHECK(next_of(port, BCL_EVENT_RMA_DONE).status == BCL_ERR_NO_PORT);
    CHECK(bcl_post(port, 9, small, sizeof small, 7) == 0 && bcl_cancel_post(port, 9, 7) == 0);
    CHECK(next_of(port, BCL_EVENT_RECEIVED).status == BCL_ERR_CANCELED);
}

/* A send is taken back before there is a connection; those before and after it arrive. Afterwards they have begun. [SEM-4.9] */
static void canceled_send(uint32_t flags) {
    bcl_port *port = open_port(flags), *other = open_port(flags);
    bcl_address to = address_of(other);
    char got[3];
    const char *const texts[3] = {"one", "two", "six"};
    for (uint64_t i = 0; i < 3; i++) CHECK(bcl_send(port, to, 9, texts[i], 3, i) == 0);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_cancel_send(port, to, 3));
    REFUSED(BCL_ERR_NOT_FOUND, bcl_cancel_send(port, address_of(port), 1));
    CHECK(bcl_cancel_send(port, to, 1) == 0);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_cancel_send(port, to, 1));
    bcl_event event = next_of(port, BCL_EVENT_SENT);
    CHECK(event.status == BCL_ERR_CANCELED && event.cookie == 1 && event.channel == 9 && event.len == 3);
    CHECK(event.peer.node == to.node && event.peer.port == to.port);
    CHECK(next_of(port, BCL_EVENT_PEER_UP).status == 0);
    for (uint64_t i = 0; i < 3; i += 2) {
        REFUSED(BCL_ERR_NOT_FOUND, bcl_cancel_send(port, to, i));
        CHECK(bcl_post(other, 9, got, sizeof got, i) == 0);
        CHECK(next_of(other, BCL_EVENT_RECEIVED).status == 0 && memcmp(got, texts[i], 3) == 0);
        event = next_of(port, BCL_EVENT_SENT);
        CHECK(event.status == 0 && event.cookie == i);
    }
    CHECK(bcl_close(port) == 0 && bcl_close(other) == 0);
}

/* More operations than a port takes: told so, none lost. */
static void full_queue(bcl_port *port, bcl_port *other) {
    bcl_address peer = address_of(other);
    int sent = 0, result;
    while ((result = bcl_send(port, peer, 3, small, 1, (uint64_t)sent)) == 0) sent++;
    CHECK(result == BCL_ERR_QUEUE_FULL && sent == BCL_QUEUE_DEPTH);
    char byte;
    for (int i = 0; i < sent; i++) {
        if (bcl_post(other, 3, &byte, 1, (uint64_t)i) != 0) CHECK(!"post");
        bcl_event received;
        do {
            bcl_event ignored[4];
            if (bcl_poll(port, BCL_RECV, ignored, 4) < 0) CHECK(!"poll");
        } while (bcl_poll(other, BCL_RECV, &received, 1) == 0 || received.type != BCL_EVENT_RECEIVED);
        if (received.cookie != (uint64_t)i || received.status != 0) CHECK(!"received in order");
    }
    for (int i = 0; i < sent; i++)
        if (next_of(port, BCL_EVENT_SENT).status != 0) CHECK(!"sent");
    CHECK(bcl_send(port, peer, 0, small, 1, BCL_QUIET) == 0);
}

int main(void) {
    uint64_t garbage[32];
    check_at_most(60);
    texts();
    opening();
    for (uint32_t flags = 0; flags <= BCL_ONE_THREAD; flags++) {
        bcl_port *port = open_port(flags), *other = open_port(flags);
        arguments(port, address_of(other));
        memory(port, address_of(other));
        double_release(port, other);
        errors_of_events(port);
        full_queue(port, other);
        CHECK(bcl_close(port) == 0);
        no_port(port, BCL_ERR_CLOSED);
        CHECK(bcl_close(other) == 0);
        canceled_send(flags);
    }
    no_port(NULL, BCL_ERR_INVALID);
    memset(garbage, 0x55, sizeof garbage);
    no_port((bcl_port *)garbage, BCL_ERR_INVALID);
    no_port((bcl_port *)((char *)garbage + 1), BCL_ERR_INVALID);
    job();
    return check_summary();
}
