/* What sockets.c of the design brief measures, on UDP sockets that are not connected: both ends name the other in every
 * `sendto` and are told it by every `recvfrom`, so the kernel looks up the route of every packet.
 *
 * Usage: unconnected ROLE OTHER_ADDRESS SIZE_BYTES ITERATIONS
 * Role 1 answers, on core 1; role 0 starts a second later, on core 0, and prints one-way times as sockets.c does. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 7110, SIZE_MAX_BYTES = 65507 };

static char buffer[SIZE_MAX_BYTES];

static double now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void pin(int core)
{
	cpu_set_t cores;

	CPU_ZERO(&cores);
	CPU_SET(core, &cores);
	sched_setaffinity(0, sizeof cores, &cores);
}

static void take_one(int fd)
{
	struct sockaddr_in from;
	socklen_t from_len;

	do {
		from_len = sizeof from;
	} while (recvfrom(fd, buffer, sizeof buffer, MSG_DONTWAIT, (void *)&from, &from_len) < 0);
}

int main(int count, char **arguments)
{
	if (count != 5) {
		fprintf(stderr, "usage: unconnected ROLE OTHER_ADDRESS SIZE_BYTES ITERATIONS\n");
		return 2;
	}
	int role = atoi(arguments[1]), size = atoi(arguments[3]), iterations = atoi(arguments[4]);
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT + role)};
	struct sockaddr_in other = {.sin_family = AF_INET, .sin_port = htons(PORT + !role)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	double *times = calloc(iterations, sizeof *times);

	pin(role);
	if (inet_pton(AF_INET, arguments[2], &other.sin_addr) != 1 || bind(fd, (void *)&own, sizeof own) || !times) {
		perror("unconnected");
		return 1;
	}
	if (role == 0)
		sleep(1);
	for (int i = 0; i < iterations; i++) {
		double begin = now_us();

		if (role == 1)
			take_one(fd);
		sendto(fd, buffer, size, 0, (void *)&other, sizeof other);
		if (role == 0)
			take_one(fd);
		times[i] = (now_us() - begin) / 2;
	}
	if (role == 0) {
		qsort(times, iterations, sizeof *times, by_value);
		printf("udp unconnected size %d one-way us: min %.2f p50 %.2f p99 %.2f\n", size, times[0],
		       times[iterations / 2], times[iterations * 99 / 100]);
	}
	return 0;
}
