/* Checks of the programs that use the provider as a stranger would. The first that fails ends the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

/* A number, with what it is instead. */
#define IS(expression, expected)                                                \
    do {                                                                        \
        long long is_ = (long long)(expression), should_ = (long long)(expected); \
        if (is_ != should_) {                                                   \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld (%s)\n", __FILE__, __LINE__, #expression, is_, should_, \
                    is_ < 0 ? fi_strerror((int)-is_) : "");                     \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

#define MUST(call) IS(call, 0)
