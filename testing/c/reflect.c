/*
 * Reflective memory, as bcl_reflect.h has it: what one member writes the others see, in order; members come, leave and are
 * killed, and that is news; what cannot be is refused with a code and a sentence.
 */
#include "check.h"
#include <bcl_reflect.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { LEN = 1 << 16, MEMBERS = 3 };
static bcl_reflect *one, *other;

static bcl_reflect *joined(uint32_t member) {
    bcl_reflect *region = NULL;
    if (bcl_reflect_join("test", LEN, MEMBERS, member, NULL, &region) != 0) {
        printf("cannot join: %s\npassed %d failed %d\n", bcl_last_error(), checks_passed, checks_failed + 1);
        exit(1);
    }
    return region;
}

static void what_cannot_be_is_refused(void) {
    bcl_reflect *region = NULL;
    bcl_reflect_life life;
    uint64_t value;
    char byte = 0;
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join(NULL, 8, 1, 0, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join("", 8, 1, 0, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join("x", 8, 1, 0, NULL, NULL));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join("x", 12, 1, 0, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join("x", 8, 1, 1, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join("x", 8, 70000, 0, NULL, &region));
    REFUSED(BCL_ERR_CONFIGURATION, bcl_reflect_join("x", 8, 0, 0, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join("test", LEN, MEMBERS + 1, MEMBERS, NULL, &region));
    REFUSED(BCL_ERR_BUSY, bcl_reflect_join("test", LEN, MEMBERS, 0, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join_hosts("x", 8, 1, 0, NULL, NULL, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join_hosts("x", 8, 1, 0, "127.0.0.1,here", NULL, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_join_hosts("x", 8, 1, 0, "127.0.0.1", "there", NULL, &region));
    REFUSED(BCL_ERR_CONFIGURATION, bcl_reflect_join_hosts("x", 8, 1, 0, "192.0.2.1,192.0.2.2", NULL, NULL, &region));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_written(one, NULL));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_wait_reached(one, 0, 70000, NULL, 0));
    CHECK(region == NULL);
    REFUSED(BCL_ERR_INVALID, bcl_reflect_write(one, LEN - 1, "ab", 2));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_write(one, UINT64_MAX, "ab", 2));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_write(one, 0, NULL, 2));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_store(one, 4, 1));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_load(one, LEN, &value));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_load(one, 0, NULL));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_read(one, LEN, &byte, 1));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_wait(one, 1, 0, NULL, 0));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_ask(one, MEMBERS, &life));
    REFUSED(BCL_ERR_INVALID, bcl_reflect_store(NULL, 0, 1));
}

static void all_see_what_one_writes(void) {
    const volatile uint64_t *words = NULL;
    const void *memory = NULL;
    uint32_t member = 9, members = 9;
    uint64_t len = 0, value = 9;
    char text[6] = "";
    CHECK(bcl_reflect_memory(other, &memory, &len) == 0 && len == LEN && (uintptr_t)memory % 4096 == 0);
    CHECK(bcl_reflect_memory(other, NULL, NULL) == 0);
    CHECK(bcl_reflect_member(other, &member, &members) == 0 && member == 1 && members == MEMBERS);
    CHECK(bcl_reflect_load(other, 8, &value) == 0 && value == 0);
    CHECK(bcl_reflect_write(one, 17, "hello", 5) == 0);
    CHECK(bcl_reflect_store(one, 8, 5) == 0);
    words = memory;
    CHECK(words[1] == 5 && memcmp((const char *)memory + 17, "hello", 5) == 0);
    CHECK(bcl_reflect_read(other, 17, text, 5) == 0 && strcmp(text, "hello") == 0);
    CHECK(bcl_reflect_write(one, LEN, NULL, 0) == 0);
    CHECK(bcl_reflect_wait(other, 8, 5, &value, 5) == 0);
    CHECK(bcl_reflect_wait(other, 8, 4, &value, -1) == 1 && value == 5);
}

static void *wait_for_a_change(void *value) {
    return (void *)(intptr_t)bcl_reflect_wait(other, 24, 0, value, -1);
}

static void a_wait_sleeps_until_then(void) {
    pthread_t thread;
    uint64_t value = 0;
    void *result = NULL;
    CHECK(pthread_create(&thread, NULL, wait_for_a_change, &value) == 0);
    usleep(20000);
    CHECK(bcl_reflect_store(one, 24, 7) == 0);
    CHECK(pthread_join(thread, &result) == 0 && (intptr_t)result == 1 && value == 7);
}

static void deaths_are_news(void) {
    bcl_reflect_life life;
    uint64_t value;
    pid_t child = fork();
    if (child == 0) {
        bcl_reflect *third;
        /* The parent's are the parent's. */
        REFUSED(BCL_ERR_FORKED, bcl_reflect_store(one, 0, 1));
        third = joined(2);
        if (checks_failed == 0)
            bcl_reflect_store(third, 32, 1);
        pause();
        _exit(1);
    }
    CHECK(bcl_reflect_wait(one, 32, 0, &value, 10000) == 1 && value == 1);
    CHECK(bcl_reflect_news(one, &life) == 1 && life.member == 1 && life.life == BCL_REFLECT_THERE);
    CHECK(bcl_reflect_news(one, &life) == 1 && life.member == 2 && life.life == BCL_REFLECT_THERE);
    CHECK(bcl_reflect_news(one, &life) == 0);
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    REFUSED(BCL_ERR_PEER_GONE, bcl_reflect_wait(one, 40, 0, NULL, 10000));
    CHECK(bcl_reflect_news(one, &life) == 1 && life.member == 2 && life.life == BCL_REFLECT_GONE);
    CHECK(life.cause == BCL_CAUSE_KILLED && life.cause_detail == SIGKILL);
    CHECK(bcl_reflect_ask(other, 2, &life) == 0 && life.life == BCL_REFLECT_GONE && life.cause == BCL_CAUSE_KILLED);
    CHECK(bcl_reflect_ask(other, 0, &life) == 0 && life.life == BCL_REFLECT_THERE && life.cause == BCL_CAUSE_NONE);
    CHECK(bcl_reflect_wait(one, 40, 0, NULL, 5) == 0);
}

static void *wait_until_it_is_left(void *unused) {
    (void)unused;
    return (void *)(intptr_t)bcl_reflect_wait(one, 40, 0, NULL, -1);
}

static void leaving_ends_waits(void) {
    pthread_t thread;
    void *result = NULL;
    bcl_reflect_life life;
    CHECK(pthread_create(&thread, NULL, wait_until_it_is_left, NULL) == 0);
    usleep(20000);
    CHECK(bcl_reflect_leave(one) == 0);
    CHECK(pthread_join(thread, &result) == 0 && (intptr_t)result == BCL_ERR_CLOSED);
    CHECK(bcl_reflect_ask(other, 0, &life) == 0 && life.life == BCL_REFLECT_GONE && life.cause == BCL_CAUSE_CLOSED);
    CHECK(bcl_reflect_leave(other) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_reflect_leave(NULL));
}

static void hosts_have_it_too(void) {
    const char *hosts = "127.0.8.1,127.0.8.2", *addresses[2] = {"127.0.8.1", "127.0.8.2"};
    bcl_options options = BCL_OPTIONS_INIT;
    char folders[2][32] = {"/tmp/bcl-c-XXXXXX", "/tmp/bcl-c-XXXXXX"};
    bcl_reflect *regions[2];
    uint64_t position = 0, value = 0;
    uint32_t member, reached = 0;
    for (member = 0; member < 2; member++) {
        CHECK(mkdtemp(folders[member]) != NULL);
        options.folder = folders[member];
        CHECK(bcl_reflect_join_hosts("hosts", LEN, 2, member, hosts, addresses[member], &options, &regions[member]) == 0);
    }
    options.folder = folders[0];
    REFUSED(BCL_ERR_BUSY, bcl_reflect_join_hosts("hosts", LEN, 2, 1, hosts, addresses[0], &options, &one));
    CHECK(strstr(bcl_last_error(), "127.0.8.2") != NULL);
    CHECK(bcl_reflect_store(regions[0], 64, 7) == 0);
    CHECK(bcl_reflect_written(regions[0], &position) == 0 && position > 0);
    CHECK(bcl_reflect_wait_reached(regions[0], position, 2, &reached, 10000) == 1 && reached == 2);
    CHECK(bcl_reflect_load(regions[1], 64, &value) == 0 && value == 7);
    CHECK(bcl_reflect_wait_reached(regions[0], position + 1, 2, &reached, 20) == 0 && reached == 1);
    for (member = 0; member < 2; member++)
        CHECK(bcl_reflect_leave(regions[member]) == 0 && rmdir(folders[member]) == 0);
}

int main(void) {
    check_at_most(60);
    one = joined(0);
    other = joined(1);
    what_cannot_be_is_refused();
    all_see_what_one_writes();
    a_wait_sleeps_until_then();
    deaths_are_news();
    leaving_ends_waits();
    hosts_have_it_too();
    return check_summary();
}
