/*
 * Collective operations, as bcl_coll.h has them: processes of a team in groups, whose results are compared with what they should be; what
 * cannot be is refused with a code and a sentence; who has ended is not waited for.
 */
#include "check.h"
#include <bcl_coll.h>
#include <signal.h>
#include <sys/wait.h>

enum { MEMBERS = 4, LEN = 40000 };
static bcl_coll_team *team;
static bcl_coll *all;
static uint32_t own;

static void joined(uint32_t member) {
    bbp_options options = BBP_OPTIONS_INIT;
    options.members = MEMBERS;
    options.member = own = member;
    if (bcl_coll_join("test", &options, &team) != 0 || bcl_coll_wait_all(team, 30000) != 1 || bcl_coll_group(team, NULL, 0, 0, &all) != 0) {
        printf("cannot join: %s\npassed %d failed %d\n", bcl_last_error(), checks_passed, checks_failed + 1);
        exit(1);
    }
}

static int pauses;

static void meanwhile(void *context) {
    ++*(int *)context;
}

/* Who waits for one that comes late does something else. */
static void a_wait_is_used(void) {
    CHECK(bcl_coll_meanwhile(team, meanwhile, &pauses) == 0);
    REFUSED(BCL_ERR_BUSY, bcl_coll_meanwhile(team, meanwhile, &pauses));
    REFUSED(BCL_ERR_INVALID, bcl_coll_meanwhile(team, NULL, NULL));
    if (own == 1)
        usleep(50000);
    CHECK(bcl_coll_barrier(all) == 0);
    CHECK(own == 1 || pauses > 0);
}

static void what_cannot_be_is_refused(void) {
    bbp_options options = BBP_OPTIONS_INIT;
    bcl_coll_team *no_team = NULL;
    bcl_coll *group = NULL;
    uint32_t twice[2] = {0, 0}, without[1] = {1};
    double number = 1;
    options.members = MEMBERS;
    options.data = 4096;
    REFUSED(BCL_ERR_INVALID, bcl_coll_join("small", &options, &no_team));
    REFUSED(BCL_ERR_INVALID, bcl_coll_join(NULL, &options, &no_team));
    REFUSED(BCL_ERR_INVALID, bcl_coll_group(team, twice, 2, 1, &group));
    REFUSED(BCL_ERR_INVALID, bcl_coll_group(team, without, 1, 1, &group));
    REFUSED(BCL_ERR_INVALID, bcl_coll_group(team, NULL, 1, 1, &group));
    REFUSED(BCL_ERR_INVALID, bcl_coll_group(team, NULL, 0, BCL_COLL_CONTEXT_MAX + 1, &group));
    REFUSED(BCL_ERR_INVALID, bcl_coll_group(team, NULL, 0, 1, NULL));
    CHECK(no_team == NULL && group == NULL);
    REFUSED(BCL_ERR_INVALID, bcl_coll_broadcast(all, MEMBERS, &number, sizeof number));
    REFUSED(BCL_ERR_INVALID, bcl_coll_broadcast(all, 0, NULL, 1));
    REFUSED(BCL_ERR_INVALID, bcl_coll_allreduce(all, BCL_ADI_READ, BCL_ADI_DOUBLE, &number, 1));
    REFUSED(BCL_ERR_INVALID, bcl_coll_allreduce(all, BCL_ADI_BIT_OR, BCL_ADI_DOUBLE, &number, 1));
    REFUSED(BCL_ERR_INVALID, bcl_coll_allreduce(all, 99, BCL_ADI_DOUBLE, &number, 1));
    REFUSED(BCL_ERR_INVALID, bcl_coll_allreduce(all, BCL_ADI_SUM, BCL_ADI_DOUBLE, &number, SIZE_MAX / 4));
    REFUSED(BCL_ERR_INVALID, bcl_coll_reduce(all, MEMBERS, BCL_ADI_SUM, BCL_ADI_DOUBLE, &number, 1));
    REFUSED(BCL_ERR_INVALID, bcl_coll_allgather(all, &number, SIZE_MAX, &number));
    REFUSED(BCL_ERR_INVALID, bcl_coll_barrier(NULL));
    REFUSED(BCL_ERR_INVALID, bcl_coll_wait_all(NULL, 0));
    REFUSED(BCL_ERR_PEER_GONE, bcl_coll_wait_all(team, 0));
}

static void all_do_the_same(void) {
    static unsigned char data[LEN];
    uint32_t rank = 99, size = 0, turn, other, i;
    CHECK(bcl_coll_rank(all, &rank, &size) == 0 && rank == own && size == MEMBERS);
    for (turn = 0; turn < 50; turn++) {
        uint32_t root = turn % MEMBERS, mine[2] = {own, turn}, gathered[2 * MEMBERS];
        size_t len = turn % 10 == 9 ? LEN : turn;
        double numbers[3] = {own, turn, 0.5}, expected = 0;
        int32_t greatest = (int32_t)own;
        memset(data, own == root ? (int)turn : 0, sizeof data);
        CHECK(bcl_coll_broadcast(all, root, data, len) == 0);
        CHECK(len == 0 || (data[0] == turn && data[len - 1] == turn));
        CHECK(bcl_coll_allgather(all, mine, sizeof mine, gathered) == 0);
        for (other = 0; other < MEMBERS; other++)
            CHECK(gathered[2 * other] == other && gathered[2 * other + 1] == turn);
        CHECK(bcl_coll_allreduce(all, BCL_ADI_SUM, BCL_ADI_DOUBLE, numbers, 3) == 0);
        for (i = 0; i < MEMBERS; i++)
            expected += i;
        CHECK(numbers[0] == expected && numbers[1] == MEMBERS * (double)turn && numbers[2] == MEMBERS * 0.5);
        CHECK(bcl_coll_reduce(all, root, BCL_ADI_MAX, BCL_ADI_INT32, &greatest, 1) == 0);
        CHECK(greatest == (int32_t)(own == root ? MEMBERS - 1 : own));
        CHECK(bcl_coll_barrier(all) == 0);
    }
}

static void groups_are_of_some(void) {
    uint32_t even[2] = {2, 0}, odd[2] = {3, 1}, rank = 99, number = own;
    bcl_coll *mine = NULL;
    CHECK(bcl_coll_group(team, own % 2 ? odd : even, 2, 7, &mine) == 0);
    CHECK(bcl_coll_rank(mine, &rank, NULL) == 0 && rank == (own < 2));
    CHECK(bcl_coll_allreduce(mine, BCL_ADI_SUM, BCL_ADI_UINT32, &number, 1) == 0);
    CHECK(number == (own % 2 ? 4 : 2));
    CHECK(bcl_coll_release(mine) == 0);
    REFUSED(BCL_ERR_CLOSED, bcl_coll_barrier(mine));
}

static int part(uint32_t member) {
    joined(member);
    all_do_the_same();
    groups_are_of_some();
    a_wait_is_used();
    CHECK(bcl_coll_barrier(all) == 0);
    if (member == MEMBERS - 1)
        raise(SIGKILL);
    REFUSED(BCL_ERR_PEER_GONE, bcl_coll_broadcast(all, MEMBERS - 1, NULL, 0));
    CHECK(strstr(bcl_last_error(), "member 3") != NULL && strstr(bcl_last_error(), "has ended") != NULL);
    return checks_failed;
}

int main(void) {
    pid_t children[MEMBERS];
    uint32_t member;
    int status;
    check_at_most(60);
    for (member = 1; member < MEMBERS; member++) {
        children[member] = fork();
        if (children[member] == 0)
            _exit(part(member));
    }
    CHECK(part(0) == 0);
    for (member = 1; member < MEMBERS; member++) {
        CHECK(waitpid(children[member], &status, 0) == children[member]);
        CHECK(member == MEMBERS - 1 ? WIFSIGNALED(status) : status == 0);
    }
    what_cannot_be_is_refused();
    CHECK(bcl_coll_release(all) == 0);
    CHECK(bcl_coll_leave(team) == 0);
    REFUSED(BCL_ERR_INVALID, bcl_coll_leave(NULL));
    return check_summary();
}
