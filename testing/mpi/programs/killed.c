/* A rank is killed while the others are with it in the phase of their job that the argument names: they are told in bounded time,
   by an error of MPI, or are ended by their launcher before. */
#include "check.h"

#include <pthread.h>
#include <time.h>

enum { TAG = 9, LONG = 16 << 20, KILLED_AFTER_MS = 300, TOLD_WITHIN_S = 10 };

static unsigned char *in, *out;
static MPI_Win window;
static int victim;

/* Whoever is in this phase is in it until a call fails. */
static int first_message(void) {
    return MPI_Send(out, 8, MPI_BYTE, victim, TAG, MPI_COMM_WORLD);
}

static int posted_receive(void) {
    return MPI_Recv(in, 8, MPI_BYTE, victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int short_messages(void) {
    return rank == victim ? MPI_Recv(in, 8, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                          : MPI_Send(out, 8, MPI_BYTE, victim, TAG, MPI_COMM_WORLD);
}

static int long_messages(void) {
    return rank == victim ? MPI_Recv(in, LONG, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                          : MPI_Send(out, LONG, MPI_BYTE, victim, TAG, MPI_COMM_WORLD);
}

static int long_receives(void) {
    return rank == victim ? MPI_Send(out, LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD)
                          : MPI_Recv(in, LONG, MPI_BYTE, victim, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int collectives(void) {
    return MPI_Allreduce(out, in, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static int one_sided(void) {
    if (rank == victim) return MPI_SUCCESS;
    int status = MPI_Put(out, 5000, MPI_BYTE, victim, 0, 5000, MPI_BYTE, window);
    if (status == MPI_SUCCESS) status = MPI_Get(in, 5000, MPI_BYTE, victim, 0, 5000, MPI_BYTE, window);
    return status == MPI_SUCCESS ? MPI_Win_flush(victim, window) : status;
}

static const struct {
    const char *name;
    int (*call)(void);
} phases[] = {
    {"first-message", first_message}, {"posted", posted_receive},       {"short", short_messages}, {"long", long_messages},
    {"long-back", long_receives},     {"collectives", collectives},     {"window", one_sided},
};

static void *killer(void *nothing) {
    struct timespec pause = {0, KILLED_AFTER_MS * 1000000L};
    nanosleep(&pause, NULL);
    kill(getpid(), SIGKILL);
    return nothing;
}

static void too_late(int number) {
    static const char line[] = "WRONG: nobody has told this rank that another is dead\n";
    (void)number;
    if (write(2, line, sizeof line - 1) > 0) _exit(3);
    _exit(3);
}

/* Until it is dead, or somebody else is known to be. */
static void stay_in(int (*call)(void)) {
    int status;
    do status = call();
    while (status == MPI_SUCCESS || rank == victim);
    char text[MPI_MAX_ERROR_STRING];
    int len;
    MPI_Error_string(status, text, &len);
    fprintf(stderr, "rank %d was told: %s\n", rank, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv, 2, MPI_THREAD_SINGLE);
    const char *name = argc == 2 ? argv[1] : "none";
    size_t phase = 0;
    while (phase < sizeof phases / sizeof *phases && strcmp(phases[phase].name, name)) phase++;
    REQUIRE(phase < sizeof phases / sizeof *phases, "there is no phase '%s'", name);
    victim = ranks - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    in = memory(LONG), out = memory(LONG);
    memset(out, 1, LONG);
    signal(SIGALRM, too_late);
    step("phase %s", name);
    if (phases[phase].call == one_sided) {
        MPI_Win_create(in, LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
        MPI_Win_lock_all(0, window);
    }
    if (phases[phase].call == first_message) {
        if (rank == victim) kill(getpid(), SIGKILL);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    alarm(TOLD_WITHIN_S);
    if (rank == victim) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, killer, NULL) == 0, "no thread can be had");
        if (phases[phase].call == posted_receive) pause();
    }
    stay_in(phases[phase].call);
    return 1;
}
