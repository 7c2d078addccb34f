/* ./client ADDRESS WORD...: sends each word to the server as a request and prints the reply. */
#include <bcl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int result) {
    if (result >= 0) return;
    fprintf(stderr, "client: %s\n", bcl_last_error());
    exit(1);
}

int main(int argc, char **argv) {
    bcl_port *port;
    bcl_address server;
    int replies = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: client ADDRESS WORD...\n");
        return 2;
    }
    must(bcl_open(NULL, &port));
    must(bcl_address_parse(argv[1], &server));
    for (int i = 2; i < argc; i++)
        must(bcl_send(port, server, BCL_SYSTEM_CHANNEL, argv[i], strlen(argv[i]), BCL_QUIET));

    while (replies < argc - 2) {
        bcl_event event;
        int count;
        must(count = bcl_wait(port, BCL_ANY, &event, 1, 10000));
        if (count == 0) {
            fprintf(stderr, "client: no reply in 10 s\n");
            return 1;
        }
        if (event.type == BCL_EVENT_MESSAGE) {
            printf("%.*s\n", (int)event.len, (const char *)event.data);
            must(bcl_release(port, &event));
            replies++;
        } else if (event.status != BCL_OK || event.type == BCL_EVENT_PEER_GONE) {
            char text[256];
            must(bcl_event_text(&event, text, sizeof text));
            fprintf(stderr, "client: %s\n", text);
            return 1;
        }
    }
    must(bcl_close(port));
    return 0;
}
