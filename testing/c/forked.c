/* A child cannot use its parent's port, is told so, and opens one of its own; the parent does not notice. */
#include "check.h"
#include <sys/wait.h>

static int child(bcl_port *inherited, bcl_address parent) {
    bcl_event event;
    check_at_most(30);
    REFUSED(BCL_ERR_FORKED, bcl_send(inherited, parent, 0, "x", 1, 0));
    REFUSED(BCL_ERR_FORKED, bcl_poll(inherited, BCL_ANY, &event, 1));
    REFUSED(BCL_ERR_FORKED, bcl_wait(inherited, BCL_ANY, &event, 1, -1));
    REFUSED(BCL_ERR_FORKED, bcl_close(inherited));
    bcl_port *own = open_port(0);
    CHECK(bcl_send(own, parent, 0, "child", 5, 1) == 0 && next_of(own, BCL_EVENT_SENT).status == 0);
    CHECK(bcl_close(own) == 0);
    return checks_failed;
}

int main(void) {
    int status;
    check_at_most(60);
    for (uint32_t flags = 0; flags <= BCL_ONE_THREAD; flags++) {
        bcl_port *port = open_port(flags);
        bcl_address address = address_of(port);
        pid_t pid = fork();
        if (pid == 0) {
            status = child(port, address);
            fflush(stdout);
            _exit(status);
        }
        bcl_event event = next_of(port, BCL_EVENT_MESSAGE);
        CHECK(event.len == 5 && bcl_release(port, &event) == 0);
        CHECK(next_of(port, BCL_EVENT_PEER_GONE).cause == BCL_CAUSE_CLOSED);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        CHECK(bcl_close(port) == 0);
    }
    return check_summary();
}
