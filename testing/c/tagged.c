/*
 * Tagged messages and exposed memory, as bcl_adi.h has them: whatever is sent arrives where it is wanted, in the order that is
 * promised, whichever way it is asked for; what cannot be is refused with a code and a sentence.
 */
#include "check.h"
#include <bcl_adi.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

enum { LONG = 300000, KEY = 77 };
static bcl_adi *one, *other;
static bcl_address here, there, anybody;
static unsigned char sent[LONG], room[LONG], guard;

static bcl_adi *open_endpoint(uint32_t flags) {
    bcl_adi *endpoint = NULL;
    if (bcl_adi_open(NULL, flags, &endpoint) != 0) {
        printf("cannot open an endpoint: %s\npassed %d failed %d\n", bcl_last_error(), checks_passed, checks_failed + 1);
        exit(1);
    }
    return endpoint;
}

/* What has ended and was not asked for yet, and on which endpoint. */
static struct {
    bcl_adi *on;
    bcl_adi_completion what;
} kept[64];
static int kept_count;

/* Gives both endpoints a chance to make progress. */
static void look(void) {
    bcl_adi *both[2];
    both[0] = one, both[1] = other;
    for (int index = 0; index < 2; index++) {
        memset(&kept[kept_count].what, 0xff, sizeof kept[kept_count].what);
        kept[kept_count].on = both[index];
        kept_count += bcl_adi_wait(both[index], &kept[kept_count].what, 1, 1) == 1;
    }
}

/* The next completion of that type on an endpoint. */
static bcl_adi_completion ended(bcl_adi *endpoint, uint32_t type) {
    for (;;) {
        for (int index = 0; index < kept_count; index++) {
            if (kept[index].on == endpoint && kept[index].what.type == type) {
                bcl_adi_completion found = kept[index].what;
                kept_count--;
                memmove(&kept[index], &kept[index + 1], (size_t)(kept_count - index) * sizeof *kept);
                return found;
            }
        }
        look();
    }
}

static void lengths_and_orders(void) {
    static const size_t lens[] = {0, 1, 100, BCL_ADI_EAGER_MAX, BCL_ADI_EAGER_MAX + 1, LONG};
    for (size_t index = 0; index < 2 * sizeof lens / sizeof *lens; index++) {
        size_t len = lens[index / 2];
        int is_posted = index % 2;
        bcl_adi_completion completion;
        memset(room, 0, sizeof room);
        if (is_posted) CHECK(bcl_adi_receive(other, here, 5, 0, room, sizeof room, 21) == 0);
        CHECK(bcl_adi_send(one, there, 5, sent, len, 20) == 0);
        if (!is_posted) CHECK(bcl_adi_receive(other, anybody, 1, 4, room, sizeof room, 21) == 0);
        completion = ended(other, BCL_ADI_RECEIVED);
        CHECK(completion.status == 0 && completion.context == 21 && completion.tag == 5 && completion.len == len);
        CHECK(completion.peer.node == here.node && completion.peer.port == here.port);
        CHECK(completion.released == 1 && completion.has_data == 0 && completion.start == room);
        CHECK(memcmp(room, sent, len) == 0);
        completion = ended(one, BCL_ADI_SENT);
        CHECK(completion.status == 0 && completion.context == 20 && completion.peer.port == there.port);
    }
}

static void every_way_to_send(void) {
    struct iovec from[3], to[2];
    bcl_adi_outgoing message;
    bcl_adi_incoming receive;
    bcl_adi_completion completion;
    memset(&message, 0, sizeof message), memset(&receive, 0, sizeof receive);
    from[0].iov_base = sent, from[0].iov_len = 10;
    from[1].iov_base = NULL, from[1].iov_len = 0;
    from[2].iov_base = sent + 10, from[2].iov_len = 90;
    to[0].iov_base = room, to[0].iov_len = 33;
    to[1].iov_base = room + 1000, to[1].iov_len = 100;
    message.to = there, message.tag = 9, message.data = 99, message.context = 1, message.pieces = from, message.count = 3;
    message.space = 2, message.flags = BCL_ADI_DATA | BCL_ADI_DELIVERED;
    receive.wanted.tag = 9, receive.wanted.space = 2, receive.context = 2, receive.pieces = to, receive.count = 2;
    CHECK(bcl_adi_sendv(one, &message) == 0);
    CHECK(bcl_adi_receivev(other, &receive) == 0);
    completion = ended(other, BCL_ADI_RECEIVED);
    CHECK(completion.status == 0 && completion.len == 100 && completion.space == 2 && completion.has_data == 1);
    CHECK(completion.data == 99 && completion.start == NULL);
    CHECK(memcmp(room, sent, 33) == 0 && memcmp(room + 1000, sent + 33, 67) == 0);
    CHECK(ended(one, BCL_ADI_SENT).context == 1);

    /* Injected: the memory is overwritten at once. Quiet: nothing tells that it has been sent. */
    memcpy(room, sent, 100);
    from[0].iov_base = room, from[0].iov_len = 100;
    message.count = 1, message.flags = BCL_ADI_INJECTED | BCL_ADI_QUIET;
    CHECK(bcl_adi_sendv(one, &message) == 0);
    memset(room, 0, 100);
    message.flags = 0, message.context = 7;
    CHECK(bcl_adi_sendv(one, &message) == 0);
    CHECK(bcl_adi_receivev(other, &receive) == 0);
    CHECK(ended(other, BCL_ADI_RECEIVED).len == 100);
    CHECK(memcmp(room, sent, 33) == 0);
    CHECK(bcl_adi_receivev(other, &receive) == 0);
    CHECK(ended(other, BCL_ADI_RECEIVED).status == 0);
    CHECK(ended(one, BCL_ADI_SENT).context == 7);

    message.flags = BCL_ADI_INJECTED, from[0].iov_len = BCL_ADI_INJECT_MAX + 1;
    REFUSED(BCL_ERR_INVALID, bcl_adi_sendv(one, &message));
    message.flags = BCL_ADI_INJECTED | BCL_ADI_DELIVERED, from[0].iov_len = 1;
    REFUSED(BCL_ERR_INVALID, bcl_adi_sendv(one, &message));
    message.flags = 64;
    REFUSED(BCL_ERR_INVALID, bcl_adi_sendv(one, &message));
    message.flags = 0, message.space = BCL_ADI_SPACES;
    REFUSED(BCL_ERR_INVALID, bcl_adi_sendv(one, &message));
    message.space = 1 << 8;
    REFUSED(BCL_ERR_INVALID, bcl_adi_sendv(one, &message));
    message.space = 0, message.reserved = 1;
    REFUSED(BCL_ERR_INVALID, bcl_adi_sendv(one, &message));
    message.reserved = 0, message.count = BCL_PIECES_MAX + 1;
    REFUSED(BCL_ERR_INVALID, bcl_adi_sendv(one, &message));
    message.count = 1, message.pieces = NULL;
    REFUSED(BCL_ERR_INVALID, bcl_adi_sendv(one, &message));
    receive.reserved = 1;
    REFUSED(BCL_ERR_INVALID, bcl_adi_receivev(other, &receive));
    receive.reserved = 0, receive.multi_min_free = 10;
    REFUSED(BCL_ERR_INVALID, bcl_adi_receivev(other, &receive));
}

static void a_buffer_for_several_messages(void) {
    struct iovec piece;
    bcl_adi_incoming receive;
    memset(&receive, 0, sizeof receive);
    piece.iov_base = room, piece.iov_len = 100;
    receive.wanted.from = here, receive.wanted.tag = 3, receive.context = 4;
    receive.pieces = &piece, receive.count = 1, receive.multi_min_free = 30;
    CHECK(bcl_adi_receivev(other, &receive) == 0);
    for (int number = 0; number < 2; number++) {
        bcl_adi_completion completion;
        CHECK(bcl_adi_send(one, there, 3, sent + number, 40, 0) == 0);
        completion = ended(other, BCL_ADI_RECEIVED);
        CHECK(completion.status == 0 && completion.len == 40 && completion.context == 4);
        CHECK(completion.start == room + 40 * number && completion.released == number);
        CHECK(memcmp(completion.start, sent + number, 40) == 0);
        CHECK(ended(one, BCL_ADI_SENT).status == 0);
    }
}

static void what_does_not_come_to_a_receive(void) {
    char text[200];
    bcl_adi_completion completion;
    CHECK(bcl_adi_receive(other, anybody, 8, 0, room, 10, 1) == 0);
    CHECK(bcl_adi_cancel(other, 0, 1) == 0);
    completion = ended(other, BCL_ADI_RECEIVED);
    CHECK(completion.status == BCL_ERR_CANCELED && completion.context == 1 && completion.tag == 8);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_adi_cancel(other, 0, 1));
    REFUSED(BCL_ERR_INVALID, bcl_adi_cancel(other, 4, 1));

    CHECK(bcl_adi_receive(other, anybody, 8, 0, room, 10, 1) == 0);
    CHECK(bcl_adi_send(one, there, 8, sent, LONG, 2) == 0);
    completion = ended(other, BCL_ADI_RECEIVED);
    CHECK(completion.status == BCL_ERR_TRUNCATED && completion.len == LONG && completion.value == 10);
    CHECK(bcl_adi_completion_text(&completion, text, sizeof text) == 0);
    CHECK(strstr(text, "receiving 300000 bytes with tag 0x8") && strstr(text, "failed"));
    CHECK(ended(one, BCL_ADI_SENT).status == 0);
    completion.type = 99;
    CHECK(bcl_adi_completion_text(&completion, text, sizeof text) == 0 && strstr(text, "not a completion"));
    REFUSED(BCL_ERR_INVALID, bcl_adi_completion_text(NULL, text, sizeof text));

    /* Nobody is there. */
    bcl_address nobody = there;
    nobody.port = 9;
    CHECK(bcl_adi_send(one, nobody, 1, sent, LONG, 3) == 0);
    completion = ended(one, BCL_ADI_SENT);
    CHECK(completion.status == BCL_ERR_NO_PORT && completion.context == 3);
    CHECK(bcl_adi_send(one, nobody, 1, sent, 1, 3) == 0);
    CHECK(ended(one, BCL_ADI_SENT).status == 0);
    CHECK(ended(one, BCL_ADI_LOST).status == BCL_ERR_NO_PORT);
    REFUSED(BCL_ERR_LOST, bcl_adi_send(one, nobody, 1, sent, 1, 3));
}

static void probes_and_claims(void) {
    bcl_adi_wanted wanted;
    bcl_adi_probed first, second;
    memset(&wanted, 0, sizeof wanted), memset(&first, 0, sizeof first), memset(&second, 0, sizeof second);
    wanted.ignore = UINT64_MAX;
    CHECK(bcl_adi_probe(other, &wanted, &first) == 0);
    CHECK(bcl_adi_claim(other, &wanted, &first) == 0);
    for (int number = 0; number < 2; number++) CHECK(bcl_adi_send(one, there, (uint64_t)number + 1, sent + number, 50, 0) == 0);
    while (bcl_adi_probe(other, &wanted, &first) == 0) look();
    CHECK(first.tag == 1 && first.len == 50 && first.claim == 0 && first.has_data == 0 && first.from.port == here.port);
    CHECK(bcl_adi_claim(other, &wanted, &first) == 1 && first.tag == 1);
    while (bcl_adi_claim(other, &wanted, &second) == 0) look();
    CHECK(second.tag == 2 && second.claim != first.claim);
    for (int number = 0; number < 2; number++) CHECK(ended(one, BCL_ADI_SENT).status == 0);
    CHECK(bcl_adi_discard(other, first.claim) == 0);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_adi_discard(other, first.claim));
    CHECK(bcl_adi_receive_claimed(other, second.claim, room, sizeof room, 6) == 0);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_adi_receive_claimed(other, second.claim, room, sizeof room, 6));
    CHECK(ended(other, BCL_ADI_RECEIVED).context == 6);
    CHECK(memcmp(room, sent + 1, 50) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_adi_probe(other, NULL, &first));
    REFUSED(BCL_ERR_INVALID, bcl_adi_claim(other, &wanted, NULL));
    wanted.space = 4;
    REFUSED(BCL_ERR_INVALID, bcl_adi_probe(other, &wanted, &first));
}

static void memory_that_peers_reach(void) {
    static double sums[4];
    double operands[2] = {1.5, 2.5}, found[2] = {0, 0};
    uint32_t word = 5, compared = 5, desired = 6, seen = 0;
    uint64_t notice = 1234;
    bcl_adi_place place;
    bcl_adi_change change;
    bcl_adi_completion completion;
    memset(room, 0, sizeof room), memset(&change, 0, sizeof change), memset(sums, 0, sizeof sums);
    place.owner = there, place.key = KEY, place.address = 1000;
    CHECK(bcl_adi_expose(other, KEY, room, LONG, 1000, BCL_ACCESS_GET | BCL_ACCESS_PUT) == 0);
    REFUSED(BCL_ERR_BUSY, bcl_adi_expose(other, KEY, room, LONG, 0, BCL_ACCESS_GET));
    REFUSED(BCL_ERR_INVALID, bcl_adi_expose(other, KEY + 1, room, LONG, 0, 0));
    REFUSED(BCL_ERR_INVALID, bcl_adi_expose(other, KEY + 1, room, LONG, 0, BCL_ACCESS_ATOMIC));
    REFUSED(BCL_ERR_INVALID, bcl_adi_expose(other, KEY + 1, NULL, LONG, 0, BCL_ACCESS_GET));

    static const size_t lens[] = {8, BCL_ADI_SHORT_MAX, LONG};
    for (int index = 0; index < 3; index++) {
        static unsigned char back[LONG];
        CHECK(bcl_adi_put(one, &place, sent, lens[index], index == 1 ? &notice : NULL, 30) == 0);
        completion = ended(one, BCL_ADI_PUT_DONE);
        CHECK(completion.status == 0 && completion.context == 30 && memcmp(room, sent, lens[index]) == 0);
        if (index == 1) {
            completion = ended(other, BCL_ADI_WRITTEN);
            CHECK(completion.has_data == 1 && completion.data == notice && completion.peer.port == here.port);
        }
        memset(back, 0, sizeof back);
        CHECK(bcl_adi_get(one, &place, back, lens[index], 31) == 0);
        completion = ended(one, BCL_ADI_GET_DONE);
        CHECK(completion.status == 0 && completion.context == 31 && memcmp(back, sent, lens[index]) == 0);
    }

    place.address = 1000 + LONG - 7;
    CHECK(bcl_adi_put(one, &place, sent, 8, NULL, 0) == 0);
    CHECK(ended(one, BCL_ADI_PUT_DONE).status == BCL_ERR_RMA_RANGE);
    place.key = KEY + 1;
    CHECK(bcl_adi_get(one, &place, &guard, 1, 0) == 0);
    CHECK(ended(one, BCL_ADI_GET_DONE).status == BCL_ERR_NO_WINDOW);
    CHECK(bcl_adi_expose(other, KEY + 1, sums, sizeof sums, 0, BCL_ACCESS_GET) == 0);
    place.address = 0;
    CHECK(bcl_adi_put(one, &place, sent, 8, NULL, 0) == 0);
    CHECK(ended(one, BCL_ADI_PUT_DONE).status == BCL_ERR_RMA_DENIED);
    CHECK(bcl_adi_hide(other, KEY + 1) == 0);
    REFUSED(BCL_ERR_NOT_FOUND, bcl_adi_hide(other, KEY + 1));

    CHECK(bcl_adi_expose(other, KEY + 1, sums, sizeof sums, 0, BCL_ACCESS_GET | BCL_ACCESS_PUT) == 0);
    change.function = BCL_ADI_SUM, change.type = BCL_ADI_DOUBLE, change.count = 2, change.operands = operands, change.found = found;
    place.address = 8;
    for (int turn = 0; turn < 2; turn++) {
        CHECK(bcl_adi_atomic(one, &place, &change, 40) == 0);
        completion = ended(one, BCL_ADI_ATOMIC_DONE);
        CHECK(completion.status == 0 && completion.context == 40);
    }
    CHECK(sums[0] == 0 && sums[1] == 3 && sums[2] == 5 && sums[3] == 0 && found[0] == 1.5 && found[1] == 2.5);
    change.function = BCL_ADI_BIT_OR;
    REFUSED(BCL_ERR_INVALID, bcl_adi_atomic(one, &place, &change, 0));
    change.function = 20;
    REFUSED(BCL_ERR_INVALID, bcl_adi_atomic(one, &place, &change, 0));
    change.function = BCL_ADI_SUM, change.operands = NULL;
    REFUSED(BCL_ERR_INVALID, bcl_adi_atomic(one, &place, &change, 0));
    change.operands = operands, change.count = UINT32_MAX;
    REFUSED(BCL_ERR_INVALID, bcl_adi_atomic(one, &place, &change, 0));
    change.count = 1, change.reserved = 1;
    REFUSED(BCL_ERR_INVALID, bcl_adi_atomic(one, &place, &change, 0));
    REFUSED(BCL_ERR_INVALID, bcl_adi_put(one, NULL, sent, 8, NULL, 0));

    CHECK(bcl_adi_expose(other, KEY + 2, &word, sizeof word, 0, BCL_ACCESS_GET | BCL_ACCESS_PUT) == 0);
    memset(&change, 0, sizeof change);
    change.function = BCL_ADI_SWAP_EQ, change.type = BCL_ADI_UINT32, change.count = 1;
    change.operands = &desired, change.compared = &compared, change.found = &seen;
    place.key = KEY + 2, place.address = 0;
    CHECK(bcl_adi_atomic(one, &place, &change, 41) == 0);
    CHECK(ended(one, BCL_ADI_ATOMIC_DONE).status == 0);
    CHECK(seen == 5 && word == 6);
    for (uint64_t key = KEY; key < KEY + 3; key++) CHECK(bcl_adi_hide(other, key) == 0);
}

static void *wait_for_ever(void *result) {
    bcl_adi_completion completion;
    *(int *)result = bcl_adi_wait(other, &completion, 1, -1);
    return NULL;
}

/* A descriptor wakes who sleeps on it, closing wakes who waits, and a child of fork has no endpoint. */
static void sleepers_children_and_ends(void) {
    int fd = -1, result = 0, status = 0;
    bcl_adi_completion completions[4];
    struct pollfd watched;
    pthread_t thread;
    pid_t child;
    CHECK(bcl_adi_wait(one, completions, 4, 10) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_adi_wait(one, completions, 0, 10));
    REFUSED(BCL_ERR_INVALID, bcl_adi_poll(one, NULL, 4));
    REFUSED(BCL_ERR_INVALID, bcl_adi_wait(one, completions, 1, -2));
    CHECK(bcl_adi_fd(other, &fd) == 0 && fd >= 0);
    CHECK(bcl_adi_receive(other, anybody, 1, 0, room, sizeof room, 1) == 0);
    CHECK(bcl_adi_poll(other, completions, 4) == 0);
    CHECK(bcl_adi_send(one, there, 1, sent, 10, 2) == 0);
    watched.fd = fd, watched.events = POLLIN;
    CHECK(poll(&watched, 1, 20000) == 1);
    while (bcl_adi_poll(other, completions, 4) == 0) {}
    CHECK(completions[0].type == BCL_ADI_RECEIVED && completions[0].context == 1);
    CHECK(ended(one, BCL_ADI_SENT).context == 2);
    CHECK(kept_count == 0);

    child = fork();
    if (child == 0) _exit(bcl_adi_send(one, there, 1, sent, 10, 2) != BCL_ERR_FORKED);
    CHECK(waitpid(child, &status, 0) == child && status == 0);

    CHECK(pthread_create(&thread, NULL, wait_for_ever, &result) == 0);
    usleep(50000);
    REFUSED(BCL_ERR_INVALID, bcl_adi_close(other, -1));
    CHECK(bcl_adi_close(other, 100) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && result == BCL_ERR_CLOSED);
    REFUSED(BCL_ERR_CLOSED, bcl_adi_close(other, 0));
    REFUSED(BCL_ERR_CLOSED, bcl_adi_poll(other, completions, 4));
    CHECK(bcl_adi_close(one, 0) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_adi_close(NULL, 0));
    REFUSED(BCL_ERR_INVALID, bcl_adi_open(NULL, 2, &one));
    CHECK(one == NULL);
}

int main(void) {
    check_at_most(100);
    for (size_t index = 0; index < LONG; index++) sent[index] = (unsigned char)(index * 7 + index / 251);
    for (uint32_t flags = 0; flags <= BCL_ADI_MANUAL; flags++) {
        one = open_endpoint(flags), other = open_endpoint(flags);
        CHECK(bcl_adi_address(one, &here) == 0 && bcl_adi_address(other, &there) == 0);
        CHECK(here.port != there.port);
        lengths_and_orders();
        every_way_to_send();
        a_buffer_for_several_messages();
        what_does_not_come_to_a_receive();
        probes_and_claims();
        memory_that_peers_reach();
        sleepers_children_and_ends();
    }
    return check_summary();
}
