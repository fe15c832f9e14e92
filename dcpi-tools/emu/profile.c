#include "dcpi-tools/emu/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/stall_truth.h"
#include "dcpi-tools/emu/profile_events.h"
#include "dcpi-tools/emu/record_read.h"
#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/emulated/run_files.h"
#include "machine/emulated_cpu.h"

/* A file on its way. */
struct emu_adding {
	const struct profile_events *events;
	struct counted *counted;
	struct record_reading reading;
	uint32_t *blocks;  /* of each instruction */
	uint64_t *offsets; /* of each instruction, in its image */
	uint64_t *counts;  /* of each block, or of each instruction */
	uint32_t context;
};

static int
adding_init(struct emu_adding *adding, int fd, const char *label)
{
	const struct code_read *code = &adding->reading.code;
	struct context context = {.comm = adding->reading.header.comm, .cgroup = "", .label = label};
	int err = record_reading_init(&adding->reading, fd, adding->counted->images);

	if (err)
		return err;
	adding->blocks = calloc((size_t)code->instruction_count + 1, sizeof(*adding->blocks));
	adding->offsets = calloc((size_t)code->instruction_count + 1, sizeof(*adding->offsets));
	adding->counts = calloc((size_t)code->instruction_count + 2, sizeof(*adding->counts));
	if (!adding->blocks || !adding->offsets || !adding->counts)
		return -ENOMEM;
	for (uint32_t i = 1; i < code->block_count; i++) {
		const struct code_read_block *block = &code->blocks[i];
		uint64_t offset = block->offset;

		for (uint32_t k = 0; k < block->instruction_count; k++) {
			adding->blocks[block->first + k] = i;
			adding->offsets[block->first + k] = offset;
			offset += block->sizes[k];
		}
	}
	return context_table_intern(adding->counted->contexts, &context, &adding->context);
}

static void
adding_fini(struct emu_adding *adding)
{
	record_reading_fini(&adding->reading);
	free(adding->blocks);
	free(adding->offsets);
	free(adding->counts);
}

/* The image of an instruction, the session's number + 1; 0: none. */
static uint32_t
image_of(const struct emu_adding *adding, uint32_t instruction)
{
	return adding->reading.code.blocks[adding->blocks[instruction]].image;
}

static int
add_count(struct emu_adding *adding, uint16_t event, uint32_t instruction, uint64_t count)
{
	const uint32_t image = image_of(adding, instruction);
	const struct sample_key key = {
		.offset = adding->offsets[instruction],
		.image = image - 1,
		.context = adding->context,
		.event = event,
	};

	if (image)
		return counted_add(adding->counted, &key, count);
	counted_add_anonymous(adding->counted, event, count);
	return 0;
}

static int
compare_places(const void *left, const void *right)
{
	const struct code_read_block *const *a = left, *const *b = right;

	if ((*a)->image != (*b)->image)
		return (*a)->image < (*b)->image ? -1 : 1;
	return ((*a)->last > (*b)->last) - ((*a)->last < (*b)->last);
}

/*
 * An x86 instruction behind rep is entered once for each time it repeats, alone; its execution began with the block
 * that it ends. Where there is such a block, what is entered alone is no execution.
 */
static int
drop_repetitions(const struct code_read *code, uint64_t *executions)
{
	const struct code_read_block **ends = calloc(code->block_count, sizeof(struct code_read_block *));
	size_t count = 0;

	if (!ends)
		return -ENOMEM;
	for (size_t i = 1; i < code->block_count; i++)
		if (code->blocks[i].repeats && code->blocks[i].instruction_count > 1 && executions[i] > 0)
			ends[count++] = &code->blocks[i];
	qsort((void *)ends, count, sizeof(struct code_read_block *), compare_places);
	for (size_t i = 1; i < code->block_count; i++) {
		const struct code_read_block *alone = &code->blocks[i];

		if (alone->repeats && alone->instruction_count == 1 &&
		    bsearch(&alone, (void *)ends, count, sizeof(struct code_read_block *), compare_places))
			executions[i] = 0;
	}
	free((void *)ends);
	return 0;
}

static int
add_executions(struct emu_adding *adding, uint16_t event)
{
	const struct code_read *code = &adding->reading.code;
	int err = record_read_executions(&adding->reading, adding->counts);

	if (!err)
		err = drop_repetitions(code, adding->counts);
	for (size_t i = 1; !err && i < code->block_count; i++)
		for (uint32_t k = 0; !err && adding->counts[i] > 0 && k < code->blocks[i].instruction_count; k++)
			err = add_count(adding, event, code->blocks[i].first + k, adding->counts[i]);
	return err;
}

static int
add_samples(struct emu_adding *adding, uint16_t event, enum setup_event sampled)
{
	const uint32_t instructions = adding->reading.code.instruction_count;
	int err;

	memset(adding->counts, 0, ((size_t)instructions + 1) * sizeof(*adding->counts));
	err = record_read_samples(&adding->reading, sampled, adding->counts);
	for (uint32_t i = 1; !err && i <= instructions; i++)
		if (adding->counts[i] > 0)
			err = add_count(adding, event, i, adding->counts[i]);
	return err;
}

/* Who is to blame in another image has no place there: TRUTH_ELSEWHERE. */
static int
add_stall(void *context, const struct record_stall *stall)
{
	struct emu_adding *adding = context;
	const uint32_t image = image_of(adding, stall->stalled);
	struct profile_edge edge = {
		.from = adding->offsets[stall->stalled],
		.to = adding->offsets[stall->culprit],
		.count = stall->cycles,
		.image = image - 1,
		.event = adding->events->truth[stall->reason],
	};

	if (!image || stall->cycles == 0 || edge.event == PROFILE_NO_EVENT)
		return 0;
	if (!stall->culprit)
		edge.to = edge.from;
	else if (image_of(adding, stall->culprit) != image)
		edge.to = TRUTH_ELSEWHERE;
	return edge_list_gather(&adding->counted->edges, &edge);
}

static int
add_all(struct emu_adding *adding)
{
	const struct profile_events *events = adding->events;
	int err = 0;

	if (events->executions != PROFILE_NO_EVENT)
		err = add_executions(adding, events->executions);
	for (unsigned i = 0; !err && i < SETUP_EVENT_COUNT; i++)
		if (events->sampled[i] != PROFILE_NO_EVENT)
			err = add_samples(adding, events->sampled[i], i);
	return err ? err : record_read_stalls(&adding->reading, add_stall, adding);
}

struct filling {
	const struct profile_events *events;
	struct counted *counted;
	const char *label;
	size_t programs;
};

/* One that is damaged is left out: counters.h tells of it. */
static int
add_file(void *context, const struct run_file *file)
{
	struct filling *filling = context;
	struct emu_adding adding = {.events = filling->events, .counted = filling->counted};
	int err;

	if (file->fd < 0)
		return 0;
	err = adding_init(&adding, file->fd, filling->label);
	if (!err)
		err = add_all(&adding);
	adding_fini(&adding);
	filling->programs += err == 0;
	return err == -DCPI_EDAMAGED ? 0 : err;
}

int
emulated_profile_write(const struct emulated_profile *profile, const char *directory, uint32_t *epoch)
{
	struct profile_events *events = calloc(1, sizeof(*events));
	struct counted counted = {0};
	struct filling filling = {
		.events = events,
		.counted = &counted,
		.label = profile->label ? profile->label : "",
	};
	char cpu[EPOCH_TEXT_SIZE];
	struct counted_epoch description = {
		.label = profile->label ? profile->label : "dcpiemu",
		.start_ns = profile->start_ns,
		.end_ns = profile->end_ns,
		.cpu = cpu,
		.cpu_count = profile->setup->threads,
	};
	int err = events ? counted_init(&counted) : -ENOMEM;

	*epoch = 0;
	emulated_cpu_describe(&profile->setup->machine, cpu, sizeof(cpu));
	if (!err) {
		profile_events_init(events, profile->setup);
		description.events = events->events;
		description.event_count = events->count;
		err = run_files_each(profile->records, RECORD_PREFIX, add_file, &filling);
	}
	if (!err && filling.programs == 0)
		err = -DCPI_EDAMAGED;
	if (!err)
		err = counted_write(&counted, directory, &description, epoch);
	counted_fini(&counted);
	free(events);
	return err;
}
