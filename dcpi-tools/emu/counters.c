#include "dcpi-tools/emu/counters.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "dcpi-tools/emulated/run_directory.h"

static bool
read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
	return TEMP_FAILURE_RETRY(pread(fd, bytes, size, (off_t)offset)) == (ssize_t)size;
}

/* 1; 0: the record has not begun yet; -1: no record. */
static int
read_header(int fd, struct record_header *header)
{
	if (!read_at(fd, header, sizeof(*header), 0) || header->magic == 0)
		return 0;
	return header->magic == RECORD_MAGIC && header->vcpu_count <= RECORD_VCPUS_MAX ? 1 : -1;
}

/* `clock` and `began` are times; all members from `threads` on are 64-bit counts. */
static void
add_counters(struct record_counters *sum, const struct record_counters *counters)
{
	const size_t count = (sizeof(*sum) - offsetof(struct record_counters, threads)) / sizeof(uint64_t);
	const uint64_t *counts = &counters->threads;
	uint64_t *sums = &sum->threads;

	if (counters->clock > sum->clock)
		sum->clock = counters->clock;
	if (counters->began < sum->began)
		sum->began = counters->began;
	for (size_t i = 0; i < count; i++)
		sums[i] += counts[i];
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
		record_add_events(counters);
		add_counters(&program->sum, counters);
		program->vcpu_count++;
	}
	if (program->sum.began == UINT64_MAX)
		program->sum.began = program->start_cycles;
	return 0;
}

static int
read_program(struct counters_program *program, const struct run_file *file, const struct record_header *header)
{
	*program = (struct counters_program){
		.pid = header->pid,
		.parent = header->parent,
		.number = (unsigned)file->number,
		.start_cycles = header->start_cycles,
		.unfollowed = header->unfollowed,
		.unrecorded = header->unrecorded,
	};
	memcpy(program->comm, header->comm, sizeof(program->comm) - 1);
	return read_vcpus(file->fd, program, header->vcpu_count);
}

struct counters_reading {
	struct counters *counters;
	size_t capacity;
};

static int
read_file(void *context, const struct run_file *file)
{
	struct counters_reading *reading = context;
	struct counters *counters = reading->counters;
	struct counters_program *grown;
	struct record_header header;
	int err, begun = file->fd < 0 ? -1 : read_header(file->fd, &header);

	counters->running += run_file_is_running(file);
	counters->damaged += begun < 0;
	if (begun <= 0)
		return 0;
	grown = array_grow(counters->programs, &reading->capacity, counters->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	counters->programs = grown;
	err = read_program(&grown[counters->count], file, &header);
	counters->count += err == 0;
	return err;
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

int
counters_read(const char *directory, struct counters *counters)
{
	struct counters_reading reading = {.counters = counters};
	int err;

	memset(counters, 0, sizeof(*counters));
	err = run_directory_each_file(directory, RECORD_PREFIX, read_file, &reading);
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
