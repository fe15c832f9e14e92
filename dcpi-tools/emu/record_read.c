#include "dcpi-tools/emu/record_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/emulated/run_directory.h"

#define CHUNK_SIZE 65536 /* a multiple of the size of each element */

int
record_reading_init(struct record_reading *reading, int fd, struct image_table *images)
{
	struct record_header *header = &reading->header;
	int err;

	memset(reading, 0, sizeof(*reading));
	reading->fd = fd;
	err = code_read_at(fd, header, sizeof(*header), 0);
	if (err)
		return err;
	if (header->magic != RECORD_MAGIC || header->vcpu_count > RECORD_VCPUS_MAX)
		return -DCPI_EDAMAGED;
	header->comm[sizeof(header->comm) - 1] = '\0';
	err = code_read_init(&reading->code, fd, RECORD_HEADER_SIZE, header->log_size, images);
	return err || reading->code.instruction_count < RECORD_INSTRUCTIONS_MAX ? err : -DCPI_EDAMAGED;
}

void
record_reading_fini(struct record_reading *reading)
{
	code_read_fini(&reading->code);
	memset(reading, 0, sizeof(*reading));
}

/* What is done with a part of an array, from its `first` element on. */
typedef int visit_elements(void *context, const void *elements, size_t first, size_t count);

/* Where there is data from `offset` on, before `end`; `end` when there is none. */
static uint64_t
find_data(int fd, uint64_t offset, uint64_t end)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? end : offset; /* a file system without SEEK_DATA */
	return (uint64_t)data < end ? (uint64_t)data : end;
}

/* The `count` elements of `size` bytes, a divisor of the chunk's, at `offset`: those that may not be zero. */
static int
read_elements(int fd, uint64_t offset, size_t size, size_t count, visit_elements *visit, void *context)
{
	_Alignas(uint64_t) uint8_t chunk[CHUNK_SIZE];
	const uint64_t end = offset + (uint64_t)size * count;
	uint64_t at = offset;
	int err = 0;

	while (!err && (at = find_data(fd, at, end)) < end) {
		size_t length;

		at -= (at - offset) % size;
		length = end - at < CHUNK_SIZE ? (size_t)(end - at) : CHUNK_SIZE;
		err = code_read_at(fd, chunk, length, at);
		if (!err)
			err = visit(context, chunk, (size_t)((at - offset) / size), length / size);
		at += length;
	}
	return err;
}

static int
add_executions(void *context, const void *elements, size_t first, size_t count)
{
	uint64_t *sums = (uint64_t *)context + first;
	const uint64_t *executions = elements;

	for (size_t i = 0; i < count; i++)
		sums[i] += executions[i];
	return 0;
}

int
record_read_executions(const struct record_reading *reading, uint64_t *executions)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < reading->header.vcpu_count; i++)
		err = read_elements(reading->fd, RECORD_VCPU_OFFSET(i) + offsetof(struct record_vcpu, executions),
		                    sizeof(uint64_t), reading->code.block_count, add_executions, executions);
	return err;
}

static int
add_samples(void *context, const void *elements, size_t first, size_t count)
{
	uint64_t *sums = (uint64_t *)context + first;
	const uint32_t *samples = elements;

	for (size_t i = 0; i < count; i++)
		sums[i] += samples[i];
	return 0;
}

int
record_read_samples(const struct record_reading *reading, enum setup_event event, uint64_t *samples)
{
	const size_t array = sizeof(((struct record_vcpu *)NULL)->samples[0]);
	int err = 0;

	for (uint32_t i = 0; !err && i < reading->header.vcpu_count; i++)
		err = read_elements(
			reading->fd, RECORD_VCPU_OFFSET(i) + offsetof(struct record_vcpu, samples) + event * array,
			sizeof(uint32_t), (size_t)reading->code.instruction_count + 1, add_samples, samples);
	return err;
}

struct stall_visit {
	record_stall_visit *visit;
	void *context;
	uint32_t instruction_count;
};

static int
visit_stalls(void *context, const void *elements, size_t first, size_t count)
{
	const struct stall_visit *visit = context;
	const struct record_stall *stalls = elements;
	int err = 0;

	(void)first;
	for (size_t i = 0; !err && i < count; i++) {
		if (!stalls[i].stalled)
			continue;
		if (stalls[i].stalled > visit->instruction_count || stalls[i].culprit > visit->instruction_count ||
		    stalls[i].reason >= REASON_COUNT)
			err = -DCPI_EDAMAGED;
		else
			err = visit->visit(visit->context, &stalls[i]);
	}
	return err;
}

int
record_read_stalls(const struct record_reading *reading, record_stall_visit *visit, void *context)
{
	struct stall_visit stalls = {visit, context, reading->code.instruction_count};
	int err = 0;

	for (uint32_t i = 0; !err && i < reading->header.vcpu_count; i++)
		err = read_elements(reading->fd, RECORD_VCPU_OFFSET(i) + offsetof(struct record_vcpu, stalls),
		                    sizeof(struct record_stall), RECORD_STALLS, visit_stalls, &stalls);
	return err;
}

static int
add_blocks(const struct record_reading *reading, struct executed *executed)
{
	const struct code_read *code = &reading->code;
	uint64_t *executions = calloc(code->block_count + 1, sizeof(*executions));
	int err = executions ? record_read_executions(reading, executions) : -ENOMEM;

	for (size_t i = 1; !err && i < code->block_count; i++) {
		executed->instructions += executions[i] * code->blocks[i].instruction_count;
		executed->loads += executions[i] * code->blocks[i].loads;
		executed->stores += executions[i] * code->blocks[i].stores;
		executed->branches += executions[i] * code->blocks[i].branches;
	}
	free(executions);
	return err;
}

struct executed_sum {
	struct image_table *images;
	struct executed *executed;
};

static int
add_file(void *context, const struct run_file *file)
{
	const struct executed_sum *sum = context;
	struct record_reading reading;
	int err;

	if (file->fd < 0)
		return 0;
	err = record_reading_init(&reading, file->fd, sum->images);
	if (!err)
		err = add_blocks(&reading, sum->executed);
	record_reading_fini(&reading);
	return err == -DCPI_EDAMAGED ? 0 : err;
}

int
executed_read(const char *directory, struct executed *executed)
{
	struct executed_sum sum = {.images = image_table_new(), .executed = executed};
	int err;

	memset(executed, 0, sizeof(*executed));
	err = sum.images ? run_directory_each_file(directory, RECORD_PREFIX, add_file, &sum) : -ENOMEM;
	image_table_free(sum.images);
	return err;
}

/* ---- Counters ---- */

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
