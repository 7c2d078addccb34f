// The headers in C++: a program that talks to itself.
#include <bcl.h>
#include <bcl_adi.h>

#include <cstdio>
#include <string>

int main() {
    bcl_options options = BCL_OPTIONS_INIT;
    options.flags = BCL_ONE_THREAD;
    bcl_port *port = nullptr;
    bcl_address self{};
    if (bcl_open(&options, &port) != BCL_OK || bcl_port_address(port, &self) != BCL_OK) {
        std::fprintf(stderr, "%s\n", bcl_last_error());
        return 1;
    }
    const std::string hello = "hello from C++";
    if (bcl_send(port, self, BCL_SYSTEM_CHANNEL, hello.data(), hello.size(), BCL_QUIET) != BCL_OK) return 1;
    bcl_event event{};
    do {
        if (bcl_wait(port, BCL_RECV, &event, 1, 10000) != 1) return 1;
    } while (event.type != BCL_EVENT_MESSAGE);
    std::printf("%s\n", std::string(static_cast<const char *>(event.data), event.len).c_str());
    return bcl_release(port, &event) != BCL_OK || bcl_close(port) != BCL_OK;
}
