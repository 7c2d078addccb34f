/*
 * A counter in the memory of one process that others increase without its help.
 *
 *     ./counter            owns the counter, prints its address, and its value when a client has left
 *     ./counter ADDRESS N  adds 1 to it N times and prints the value that it found last
 */
#include <bcl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 0 };

static void must(int result) {
    if (result >= 0) return;
    fprintf(stderr, "counter: %s\n", bcl_last_error());
    exit(1);
}

static bcl_event next_event(bcl_port *port) {
    bcl_event event;
    must(bcl_wait(port, BCL_ANY, &event, 1, -1));
    if (event.status != BCL_OK) {
        char text[256];
        must(bcl_event_text(&event, text, sizeof text));
        fprintf(stderr, "counter: %s\n", text);
        exit(1);
    }
    return event;
}

static void own(bcl_port *port) {
    bcl_address address;
    char text[BCL_ADDRESS_TEXT_LEN];
    void *memory;

    /* A window on a DMA buffer: clients act on it directly, whatever this process does meanwhile. */
    must(bcl_dma_alloc(sizeof(uint64_t), &memory));
    must(bcl_bind(port, WINDOW, memory, sizeof(uint64_t), BCL_ACCESS_GET | BCL_ACCESS_ATOMIC));
    must(bcl_port_address(port, &address));
    must(bcl_address_format(address, text, sizeof text));
    puts(text);
    fflush(stdout);

    while (next_event(port).type != BCL_EVENT_PEER_GONE) continue;
    printf("%" PRIu64 "\n", __atomic_load_n((uint64_t *)memory, __ATOMIC_SEQ_CST));

    must(bcl_unbind(port, WINDOW));
    must(bcl_dma_free(memory));
}

static void increase(bcl_port *port, const char *owner, long times) {
    bcl_address address;
    bcl_event event;
    uint64_t found = 0;

    must(bcl_address_parse(owner, &address));
    for (long i = 0; i < times; i++) {
        must(bcl_fetch_add(port, address, WINDOW, 0, 1, (uint64_t)i));
        do event = next_event(port);
        while (event.type != BCL_EVENT_RMA_DONE);
        found = event.value;
    }
    printf("%" PRIu64 "\n", found);
}

int main(int argc, char **argv) {
    bcl_port *port;
    must(bcl_open(NULL, &port));
    if (argc == 1)
        own(port);
    else
        increase(port, argv[1], argc > 2 ? strtol(argv[2], NULL, 10) : 1);
    must(bcl_close(port));
    return 0;
}
