/* ./ping prints its address and waits for a message; ./ping ADDRESS sends one there and waits for the answer. */
#include <bcl.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int result) {
    if (result >= 0) return;
    fprintf(stderr, "ping: %s\n", bcl_last_error());
    exit(1);
}

int main(int argc, char **argv) {
    bcl_port *port;
    bcl_address address;
    bcl_event event;
    char text[BCL_ADDRESS_TEXT_LEN];
    must(bcl_open(NULL, &port));
    if (argc > 1) {
        must(bcl_address_parse(argv[1], &address));
        must(bcl_send(port, address, BCL_SYSTEM_CHANNEL, "ping", 4, BCL_QUIET));
    } else {
        must(bcl_port_address(port, &address));
        must(bcl_address_format(address, text, sizeof text));
        puts(text), fflush(stdout);
    }
    do must(bcl_wait(port, BCL_ANY, &event, 1, -1)); /* a send that fails is an event, too */
    while (event.type != BCL_EVENT_MESSAGE && event.status == BCL_OK);
    if (event.status != BCL_OK) return fprintf(stderr, "ping: %s\n", bcl_strerror(event.status)), 1;
    printf("%.*s\n", (int)event.len, (const char *)event.data);
    if (argc == 1) must(bcl_send(port, event.peer, BCL_SYSTEM_CHANNEL, "pong", 4, BCL_QUIET));
    must(bcl_release(port, &event));
    must(bcl_close(port));
}
