/* Two processes exchange one message: ./ping waits and prints its address, ./ping ADDRESS sends there. */
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
    bcl_address peer;
    bcl_event event;
    char text[BCL_ADDRESS_TEXT_LEN];

    must(bcl_open(NULL, &port));
    if (argc > 1) {
        must(bcl_address_parse(argv[1], &peer));
        must(bcl_send(port, peer, BCL_SYSTEM_CHANNEL, "ping", 4, BCL_QUIET));
    } else {
        must(bcl_port_address(port, &peer));
        must(bcl_address_format(peer, text, sizeof text));
        printf("%s\n", text);
        fflush(stdout);
    }
    do must(bcl_wait(port, BCL_ANY, &event, 1, -1));
    while (event.type != BCL_EVENT_MESSAGE && event.status == 0);
    if (event.status != 0) return fprintf(stderr, "ping: %s\n", bcl_strerror(event.status)), 1;
    printf("%.*s\n", (int)event.len, (const char *)event.data);
    if (argc == 1) must(bcl_send(port, event.peer, BCL_SYSTEM_CHANNEL, "pong", 4, BCL_QUIET));
    must(bcl_release(port, &event));
    must(bcl_close(port));
    return 0;
}
