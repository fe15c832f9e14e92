#include "dcpi-tools/emu/record_read.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
