#include "dcpi-tools/mem/copy_cost.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"

#define BYTES_MAX (UINT64_C(32) << 20) /* that are copied: more takes in proportion */
#define NODES_MAX 16
#define PAGE      4096
#define RESULT_FD 3
#define NS_PER_S  1e9

/* ---- emulated ---- */

/* A thread's part of a copy. */
struct copying {
	const char *from;
	char *to;
	size_t bytes;
	cpu_set_t processors; /* of its node */
	pthread_barrier_t *begin;
	double seconds;
};

static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / NS_PER_S;
}

/* As a program would do it once: into memory that nobody has touched, and that so is of this node. */
static void *
copy(void *data)
{
	struct copying *copying = data;
	double began;

	(void)sched_setaffinity(0, sizeof(copying->processors), &copying->processors);
	pthread_barrier_wait(copying->begin);
	began = now_s();
	memcpy(copying->to, copying->from, copying->bytes);
	__asm__ volatile("" : : "r"(copying->to) : "memory"); /* nobody reads the copy: it must be made nevertheless */
	copying->seconds = now_s() - began;
	return NULL;
}

/*
 * The processors of each node that has some for this program, as the kernel says of each where it is. How many such
 * nodes.
 */
static unsigned
find_nodes(cpu_set_t nodes[NODES_MAX])
{
	unsigned cpu, node, count = 0;
	cpu_set_t one;

	memset(nodes, 0, NODES_MAX * sizeof(*nodes));
	for (int i = 0; i < CPU_SETSIZE; i++) {
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one) < 0)
			break;
		/* not getcpu(): the vDSO of QEMU 10 has no nodes */
		if (syscall(SYS_getcpu, &cpu, &node, NULL) || node >= NODES_MAX)
			continue;
		CPU_SET(i, &nodes[node]);
	}
	for (node = 0; node < NODES_MAX; node++) {
		if (CPU_COUNT(&nodes[node]))
			nodes[count++] = nodes[node];
	}
	return count;
}

/* Copies for all nodes but the first, each made by so many threads of the node. The longest time, s; -1: no memory. */
static double
copy_to_nodes(const char *from, size_t bytes, const cpu_set_t *nodes, unsigned count, unsigned threads)
{
	const size_t part = (bytes / threads / PAGE + 1) * PAGE; /* the last threads may have less, or nothing */
	const unsigned all = (count - 1) * threads;
	struct copying *copyings = calloc(all, sizeof(*copyings));
	pthread_t *running = calloc(all, sizeof(*running));
	char *to = malloc(bytes * (count - 1));
	pthread_barrier_t begin;
	double seconds = 0;

	if (!copyings || !running || !to || pthread_barrier_init(&begin, NULL, all))
		return -1;
	for (unsigned i = 0; i < all; i++) {
		const size_t next = i % threads * part, at = next < bytes ? next : bytes;

		copyings[i] = (struct copying){
			.from = from + at,
			.to = to + i / threads * bytes + at,
			.bytes = bytes - at < part ? bytes - at : part,
			.processors = nodes[1 + i / threads],
			.begin = &begin,
		};
		if (pthread_create(&running[i], NULL, copy, &copyings[i]))
			return -1;
	}
	for (unsigned i = 0; i < all; i++) {
		pthread_join(running[i], NULL);
		seconds = copyings[i].seconds > seconds ? copyings[i].seconds : seconds;
	}
	free(copyings);
	free(running);
	free(to);
	return seconds;
}

int
mem_copy_cost_main(int argc, char **argv)
{
	const size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	cpu_set_t nodes[NODES_MAX];
	const unsigned count = find_nodes(nodes);
	const bool is_single = argc > 2 && strcmp(argv[2], "1") == 0;
	char *from = bytes && bytes <= BYTES_MAX ? malloc(bytes) : NULL;
	double seconds = 0;

	if (!from || !count || sched_setaffinity(0, sizeof(nodes[0]), &nodes[0]))
		return STATUS_FAILURE;
	memset(from, 1, bytes);
	if (count > 1)
		seconds = copy_to_nodes(from, bytes, nodes, count, is_single ? 1 : (unsigned)CPU_COUNT(&nodes[1]));
	free(from);
	if (seconds < 0)
		return STATUS_FAILURE;
	dprintf(RESULT_FD, "%.9f\n", seconds);
	return STATUS_OK;
}

/* ---- by dcpimem ---- */

static int
pass_result(void *context)
{
	const int *pipe_ends = context;

	if (dup2(pipe_ends[1], RESULT_FD) < 0)
		return message_cannot(NULL, "measure what copying takes", -errno, NULL);
	return STATUS_OK;
}

static int
measure(const struct emulation_request *like, uint64_t bytes, bool is_single, int pipe_ends[2], double *seconds,
        bool *asked)
{
	char self[PATH_MAX], number[32], text[64] = "";
	char *const command[] = {self, COPY_COST_COMMAND, number, is_single ? "1" : NULL, NULL};
	const struct emulation_watch watch = {.begin = pass_result, .context = pipe_ends};
	struct setup setup = *like->setup;
	const struct emulation_request request = {
		.setup = &setup,
		.title = "copying",
		.command = command,
		.is_quiet = like->is_quiet,
		.is_silent = true,
		.watch = &watch,
	};
	struct emulation_outcome outcome;
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int status;

	if (length < 0)
		return message_cannot("/proc/self/exe", "find this program", -errno, NULL);
	self[length] = '\0';
	setup.access_period = 0;
	snprintf(number, sizeof(number), "%" PRIu64, bytes);
	status = emulation_run(&request, &outcome);
	*asked = outcome.run.asked;
	if (!status && *asked)
		status = STATUS_FAILURE;
	emulation_fini(&outcome);
	close(pipe_ends[1]);
	pipe_ends[1] = -1;
	if (!status && (read(pipe_ends[0], text, sizeof(text) - 1) <= 0 || sscanf(text, "%lf", seconds) != 1))
		status = message_cannot(NULL, "measure what copying takes", -EPROTO, NULL);
	return status;
}

int
copy_cost_measure(const struct emulation_request *like, uint64_t bytes, bool is_single, double *seconds, bool *asked)
{
	const uint64_t measured = bytes < BYTES_MAX ? bytes : BYTES_MAX;
	int pipe_ends[2], status;

	*seconds = 0;
	if (!bytes)
		return STATUS_OK;
	if (pipe(pipe_ends) < 0)
		return message_cannot(NULL, "measure what copying takes", -errno, NULL);
	status = measure(like, measured, is_single, pipe_ends, seconds, asked);
	*seconds *= (double)bytes / (double)measured;
	close(pipe_ends[0]);
	if (pipe_ends[1] >= 0)
		close(pipe_ends[1]);
	return status;
}
