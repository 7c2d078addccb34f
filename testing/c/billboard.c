/*
 * The BillBoard Protocol, as bbp.h has it: what is posted once all it is for read, in order; a full board and a dead reader are
 * told; what cannot be is refused with a code and a sentence; hosts have it too.
 */
#include "check.h"
#include <bbp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { MEMBERS = 3, DATA = 4096, SLOTS = 64 };
static bbp *one, *other;

static bbp *joined(uint32_t member) {
    bbp_options options = BBP_OPTIONS_INIT;
    bbp *board = NULL;
    options.members = MEMBERS;
    options.member = member;
    options.data = DATA;
    if (bbp_init("test", &options, &board) != 0) {
        printf("cannot join: %s\npassed %d failed %d\n", bcl_last_error(), checks_passed, checks_failed + 1);
        exit(1);
    }
    return board;
}

static void what_cannot_be_is_refused(void) {
    bbp_options options = BBP_OPTIONS_INIT;
    bbp_message message;
    bcl_reflect_life life;
    uint32_t beyond = MEMBERS;
    char byte = 0;
    bbp *board = NULL;
    REFUSED(BCL_ERR_CONFIGURATION, bbp_init("x", NULL, &board));
    options.members = 1;
    REFUSED(BCL_ERR_INVALID, bbp_init(NULL, &options, &board));
    REFUSED(BCL_ERR_INVALID, bbp_init("", &options, &board));
    REFUSED(BCL_ERR_INVALID, bbp_init("x", &options, NULL));
    options.data = 100;
    REFUSED(BCL_ERR_INVALID, bbp_init("x", &options, &board));
    options.data = 0;
    options.hosts = "nowhere";
    REFUSED(BCL_ERR_INVALID, bbp_init("x", &options, &board));
    options.hosts = NULL;
    options.size = 8;
    REFUSED(BCL_ERR_INVALID, bbp_init("x", &options, &board));
    options.size = sizeof options;
    options.members = MEMBERS;
    options.member = 2;
    REFUSED(BCL_ERR_INVALID, bbp_init("test", &options, &board));
    options.member = 1;
    options.data = DATA;
    REFUSED(BCL_ERR_BUSY, bbp_init("test", &options, &board));
    CHECK(board == NULL);
    REFUSED(BCL_ERR_INVALID, bbp_send(one, MEMBERS, "x", 1, 0));
    REFUSED(BCL_ERR_INVALID, bbp_send(one, 70000, "x", 1, 0));
    REFUSED(BCL_ERR_INVALID, bbp_send(one, 1, NULL, 1, 0));
    REFUSED(BCL_ERR_INVALID, bbp_send(one, 1, one, DATA + 1, 0));
    REFUSED(BCL_ERR_INVALID, bbp_send(NULL, 1, "x", 1, 0));
    REFUSED(BCL_ERR_INVALID, bbp_mcast(one, &beyond, 1, "x", 1, 0));
    REFUSED(BCL_ERR_INVALID, bbp_mcast(one, NULL, 1, "x", 1, 0));
    REFUSED(BCL_ERR_INVALID, bbp_mcast(one, &beyond, SIZE_MAX, "x", 1, 0));
    REFUSED(BCL_ERR_INVALID, bbp_recv(one, MEMBERS, &byte, 1, &message, 0));
    REFUSED(BCL_ERR_INVALID, bbp_recv(one, BBP_ANY, NULL, 1, &message, 0));
    REFUSED(BCL_ERR_INVALID, bbp_event(one, NULL));
    REFUSED(BCL_ERR_INVALID, bbp_ask(one, MEMBERS, &life));
}

static void what_is_posted_is_read(void) {
    static char long_one[DATA], buffer[DATA];
    bbp_message message = {9, 9, 9};
    uint32_t member = 9, members = 9, to[2] = {0, 1};
    CHECK(bbp_member(other, &member, &members) == 0 && member == 1 && members == MEMBERS);
    CHECK(bbp_msgavail(other, BBP_ANY, &message, 0) == 0 && message.from == 9);
    CHECK(bbp_flush(one, 0) == 1);
    memset(long_one, 7, sizeof long_one);
    CHECK(bbp_send(one, 1, "hello", 5, 0) == 0);
    CHECK(bbp_send(one, 1, long_one, sizeof long_one, 0) == 0);
    CHECK(bbp_send(one, 1, NULL, 0, 0) == 0);
    CHECK(bbp_flush(one, 0) == 0);
    CHECK(bbp_msgavail(other, 0, &message, 0) == 1 && message.from == 0 && message.len == 5 && message.reserved == 0);
    message.len = 0;
    REFUSED(BCL_ERR_TRUNCATED, bbp_recv(other, 0, buffer, 4, &message, 0));
    CHECK(message.len == 5);
    CHECK(bbp_recv(other, BBP_ANY, buffer, sizeof buffer, &message, -1) == 1 && message.len == 5);
    CHECK(memcmp(buffer, "hello", 5) == 0);
    CHECK(bbp_recv(other, 0, buffer, sizeof buffer, NULL, -1) == 1 && memcmp(buffer, long_one, DATA) == 0);
    CHECK(bbp_recv(other, 0, NULL, 0, &message, -1) == 1 && message.len == 0);
    CHECK(bbp_recv(other, 0, buffer, sizeof buffer, &message, 5) == 0);
    CHECK(bbp_flush(one, -1) == 1);
    CHECK(bbp_mcast(one, to, 2, "both", 4, 0) == 0);
    CHECK(bbp_recv(one, BBP_ANY, buffer, sizeof buffer, &message, 0) == 1 && message.from == 0 && message.len == 4);
    CHECK(bbp_recv(other, BBP_ANY, buffer, sizeof buffer, &message, 0) == 1 && memcmp(buffer, "both", 4) == 0);
}

static void *receive(void *value) {
    return (void *)(intptr_t)bbp_recv(other, BBP_ANY, value, sizeof(uint64_t), NULL, -1);
}

static void who_waits_gets_it(void) {
    pthread_t thread;
    uint64_t value = 0, sent = 7;
    void *result = NULL;
    CHECK(pthread_create(&thread, NULL, receive, &value) == 0);
    usleep(20000);
    CHECK(bbp_send(one, 1, &sent, sizeof sent, -1) == 0);
    CHECK(pthread_join(thread, &result) == 0 && (intptr_t)result == 1 && value == 7);
}

static void a_dead_reader_is_told_and_waited_for_no_more(void) {
    bbp_change change = {{9, 9, 9, 9}, 9, 9};
    bcl_reflect_life life;
    char text[8] = "";
    int taken_back = -1, i;
    pid_t child = fork();
    if (child == 0) {
        bbp *third;
        /* The parent's is the parent's. */
        REFUSED(BCL_ERR_FORKED, bbp_send(one, 1, "x", 1, 0));
        third = joined(2);
        if (checks_failed == 0)
            bbp_mcast(third, NULL, 0, "here", 4, 0);
        pause();
        _exit(1);
    }
    CHECK(bbp_recv(one, 2, text, sizeof text, NULL, 10000) == 1 && memcmp(text, "here", 4) == 0);
    CHECK(bbp_recv(other, BBP_ANY, text, sizeof text, NULL, 10000) == 1);
    for (i = 0; i < SLOTS; i++)
        CHECK(bbp_send(one, 2, "unread", 6, 0) == 0);
    REFUSED(BCL_ERR_AGAIN, bbp_send(one, 1, "x", 1, 0));
    REFUSED(BCL_ERR_AGAIN, bbp_send(one, 1, "x", 1, 10));
    CHECK(strstr(bcl_last_error(), "member 2 has not read") != NULL);
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(bbp_send(one, 1, "room", 4, 10000) == 0);
    CHECK(bbp_recv(other, BBP_ANY, text, sizeof text, NULL, 0) == 1 && memcmp(text, "room", 4) == 0);
    REFUSED(BCL_ERR_PEER_GONE, bbp_send(one, 2, "x", 1, 0));
    REFUSED(BCL_ERR_PEER_GONE, bbp_recv(one, 2, text, sizeof text, NULL, -1));
    REFUSED(BCL_ERR_PEER_GONE, bbp_recv(one, BBP_ANY, text, sizeof text, NULL, -1));
    while (bbp_event(one, &change) == 1)
        if (change.member.member == 2 && change.member.life == BCL_REFLECT_GONE)
            taken_back = (int)change.taken_back;
    CHECK(taken_back == SLOTS && change.member.cause == BCL_CAUSE_KILLED && change.reserved == 0);
    CHECK(bbp_ask(one, 2, &life) == 0 && life.life == BCL_REFLECT_GONE && life.cause_detail == SIGKILL);
    CHECK(bbp_mcast(one, NULL, 0, "all", 3, 0) == 0);
    CHECK(bbp_recv(other, 0, text, sizeof text, NULL, 0) == 1 && memcmp(text, "all", 3) == 0);
    CHECK(bbp_recv(one, BBP_ANY, text, sizeof text, NULL, 5) == 0);
}

static void *receive_until_it_is_left(void *unused) {
    (void)unused;
    return (void *)(intptr_t)bbp_recv(one, BBP_ANY, NULL, 0, NULL, -1);
}

static void leaving_ends_waits(void) {
    pthread_t thread;
    void *result = NULL;
    CHECK(pthread_create(&thread, NULL, receive_until_it_is_left, NULL) == 0);
    usleep(20000);
    CHECK(bbp_finalize(one) == 0);
    CHECK(pthread_join(thread, &result) == 0 && (intptr_t)result == BCL_ERR_CLOSED);
    CHECK(bbp_finalize(other) == 0);
    REFUSED(BCL_ERR_INVALID, bbp_finalize(NULL));
}

static void hosts_have_it_too(void) {
    const char *addresses[2] = {"127.0.9.1", "127.0.9.2"};
    bcl_options folder = BCL_OPTIONS_INIT;
    bbp_options options = BBP_OPTIONS_INIT;
    char folders[2][32] = {"/tmp/bcl-c-XXXXXX", "/tmp/bcl-c-XXXXXX"};
    bbp *boards[2];
    bbp_message message;
    uint64_t value = 0, i;
    options.members = 2;
    options.hosts = "127.0.9.1,127.0.9.2";
    options.options = &folder;
    for (options.member = 0; options.member < 2; options.member++) {
        CHECK(mkdtemp(folders[options.member]) != NULL);
        folder.folder = folders[options.member];
        options.address = addresses[options.member];
        CHECK(bbp_init("hosts", &options, &boards[options.member]) == 0);
    }
    for (i = 0; i < 1000; i++) {
        CHECK(bbp_send(boards[0], 1, &i, sizeof i, 10000) == 0);
        CHECK(bbp_recv(boards[1], 0, &value, sizeof value, &message, 10000) == 1 && value == i && message.from == 0);
    }
    CHECK(bbp_flush(boards[0], 10000) == 1);
    for (i = 0; i < 2; i++)
        CHECK(bbp_finalize(boards[i]) == 0 && rmdir(folders[i]) == 0);
}

int main(void) {
    check_at_most(60);
    one = joined(0);
    other = joined(1);
    what_cannot_be_is_refused();
    what_is_posted_is_read();
    who_waits_gets_it();
    a_dead_reader_is_told_and_waited_for_no_more();
    leaving_ends_waits();
    hosts_have_it_too();
    return check_summary();
}
