#include "dcpi-tools/emu/counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "dcpi-tools/emulated/code_read.h"

static bool
read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
	return TEMP_FAILURE_RETRY(pread(fd, bytes, size, (off_t)offset)) == (ssize_t)size;
}

/* 1, 0 when the record has not begun yet, -1 when it is none. */
static int
read_header(int fd, struct record_header *header)
{
	if (!read_at(fd, header, sizeof(*header), 0) || header->magic == 0)
		return 0;
	return header->magic == RECORD_MAGIC && header->vcpu_count <= RECORD_VCPUS_MAX ? 1 : -1;
}

static void
add_counts(uint64_t *sums, const uint64_t *counts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sums[i] += counts[i];
}

/* All but the times, which are no counts, are 64-bit counts from `threads` on. */
static void
add_counters(struct record_counters *sum, const struct record_counters *counters)
{
	const size_t count = (sizeof(*sum) - offsetof(struct record_counters, threads)) / sizeof(uint64_t);

	if (counters->clock > sum->clock)
		sum->clock = counters->clock;
	if (counters->began < sum->began)
		sum->began = counters->began;
	add_counts(&sum->threads, &counters->threads, count);
}

static int
read_vcpus(int fd, struct counters_program *program, size_t count)
{
	program->vcpus = calloc(count ? count : 1, sizeof(*program->vcpus));
	if (!program->vcpus)
		return -ENOMEM;
	program->sum.began = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		struct record_counters *counters = &program->vcpus[program->vcpu_count];

		if (!read_at(fd, counters, sizeof(*counters), RECORD_VCPU_OFFSET(i)))
			break; /* the rest is not there yet */
		add_counters(&program->sum, counters);
		program->vcpu_count++;
	}
	if (program->sum.began == UINT64_MAX)
		program->sum.began = program->start_cycles;
	return 0;
}

static bool
is_running(int pid)
{
	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

static int
read_program(int fd, struct counters *counters, int pid, int number)
{
	struct counters_program program = {.number = (unsigned)number};
	struct record_header header;
	int err, begun = read_header(fd, &header);

	counters->running += number == 0 && is_running(pid);
	counters->damaged += begun < 0;
	if (begun <= 0)
		return 0;
	program.pid = header.pid;
	program.parent = header.parent;
	memcpy(program.comm, header.comm, sizeof(program.comm) - 1);
	program.start_cycles = header.start_cycles;
	program.unfollowed = header.unfollowed;
	program.unrecorded = header.unrecorded;
	err = read_vcpus(fd, &program, header.vcpu_count);
	if (err)
		return err;
	counters->programs[counters->count++] = program;
	return 0;
}

static int
compare_programs(const void *left, const void *right)
{
	const struct counters_program *a = left, *b = right;

	if (a->start_cycles != b->start_cycles)
		return a->start_cycles < b->start_cycles ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

uint64_t
counters_busy(const struct record_counters *counters)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < REASON_COUNT; i++)
		if (i != REASON_BLOCKED)
			sum += counters->cycles[i];
	return sum;
}

static void
add_up(struct counters *counters)
{
	uint64_t start = UINT64_MAX;

	qsort(counters->programs, counters->count, sizeof(*counters->programs), compare_programs);
	counters->sum.began = UINT64_MAX;
	for (size_t i = 0; i < counters->count; i++) {
		add_counters(&counters->sum, &counters->programs[i].sum);
		if (counters->programs[i].start_cycles < start)
			start = counters->programs[i].start_cycles;
	}
	if (counters->count && counters->sum.clock > start)
		counters->elapsed_cycles = counters->sum.clock - start;
	counters->busy_cycles = counters_busy(&counters->sum);
}

static int
open_record(DIR *directory, const char *name, int *pid, int *number)
{
	if (!code_read_name(name, RECORD_PREFIX, pid, number))
		return -1;
	return openat(dirfd(directory), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

int
counters_read(const char *directory, struct counters *counters)
{
	DIR *files = opendir(directory);
	const struct dirent *entry;
	size_t capacity = 0;
	int err = 0;

	memset(counters, 0, sizeof(*counters));
	if (!files)
		return -errno;
	while (!err && (entry = readdir(files))) {
		struct counters_program *grown;
		int pid, number, fd = open_record(files, entry->d_name, &pid, &number);

		if (fd < 0)
			continue;
		grown = array_grow(counters->programs, &capacity, counters->count + 1, sizeof(*grown));
		if (grown)
			counters->programs = grown;
		err = grown ? read_program(fd, counters, pid, number) : -ENOMEM;
		close(fd);
	}
	closedir(files);
	if (!err && counters->count)
		add_up(counters);
	return err;
}

void
counters_fini(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		free(counters->programs[i].vcpus);
	free(counters->programs);
	memset(counters, 0, sizeof(*counters));
}

uint64_t
counters_elapsed(const char *directory)
{
	struct counters counters;
	uint64_t elapsed = counters_read(directory, &counters) == 0 ? counters.elapsed_cycles : 0;

	counters_fini(&counters);
	return elapsed;
}
