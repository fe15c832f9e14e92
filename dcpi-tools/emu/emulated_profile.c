#include "dcpi-tools/emu/emulated_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/emu/record_read.h"
#include "dcpi-tools/emu/stall_truth.h"
#include "dcpi-tools/emulated/counted.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "event/event.h"
#include "machine/emulated_cpu.h"

#define PROFILE_NO_EVENT UINT16_MAX

struct profile_events {
	struct event events[EVENTS_MAX];
	uint16_t count;
	uint16_t sampled[SETUP_EVENT_COUNT]; /* numbers of them; PROFILE_NO_EVENT */
	uint16_t executions;
	uint16_t truth[REASON_COUNT];
};

static struct event *
add_event(struct profile_events *events, const char *name, const char *unit, uint32_t type, uint16_t *number)
{
	struct event *event = &events->events[events->count];

	counted_describe_event(event, name, unit, "");
	event->encoding.type = type;
	*number = events->count++;
	return event;
}

static void
add_sampled(struct profile_events *events, const struct setup *setup, enum setup_event which)
{
	const bool is_time = which == SETUP_EVENT_CYCLES;
	struct event *event = add_event(events, setup_event_name(which), is_time ? "cycles" : "events",
	                                EVENT_TYPE_EMULATED, &events->sampled[which]);

	event->period = setup->periods[which];
	event->precise = EVENT_PRECISE_MAX;
	if (!is_time)
		return;
	event->rate = (uint64_t)(setup->machine.clock_mhz * 1e6 / (double)event->period);
	snprintf(event->note, sizeof(event->note), "virtual cycles of %s, which was emulated", setup->machine.name);
}

static const uint8_t truths[REASON_COUNT] = {
	[REASON_EXECUTION] = TRUTH_COUNT,       [REASON_CODE_CACHE] = TRUTH_CODE_CACHE,
	[REASON_CODE_TLB] = TRUTH_CODE_TLB,     [REASON_DATA_CACHE] = TRUTH_DATA_CACHE,
	[REASON_DATA_TLB] = TRUTH_DATA_TLB,     [REASON_WRITE_BUFFER] = TRUTH_WRITE_BUFFER,
	[REASON_MISPREDICT] = TRUTH_MISPREDICT, [REASON_TRANSFER] = TRUTH_TRANSFER,
	[REASON_BANDWIDTH] = TRUTH_BANDWIDTH,   [REASON_CALL] = TRUTH_CALL,
	[REASON_BLOCKED] = TRUTH_BLOCKED,
};

static void
add_truth(struct profile_events *events, const struct setup *setup, unsigned reason)
{
	const char *name = stall_truth_event_name(truths[reason]);
	struct event *event;

	if (!name)
		return;
	event = add_event(events, name, "stall cycles", EVENT_TYPE_TRUTH, &events->truth[reason]);
	snprintf(event->note, sizeof(event->note), "no samples, but cycles that instructions of %s waited",
	         setup->machine.name);
}

static void
describe_events(struct profile_events *events, const struct setup *setup)
{
	memset(events, 0, sizeof(*events));
	events->executions = PROFILE_NO_EVENT;
	for (unsigned i = 0; i < SETUP_EVENT_COUNT; i++) {
		events->sampled[i] = PROFILE_NO_EVENT;
		if (setup->parts & SETUP_SAMPLES && setup->periods[i] > 0)
			add_sampled(events, setup, i);
	}
	if (setup->parts & SETUP_COUNTS)
		add_event(events, "executions", "executions", EVENT_TYPE_DCPIX, &events->executions);
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		events->truth[i] = PROFILE_NO_EVENT;
		if (setup->parts & SETUP_TRUTH)
			add_truth(events, setup, i);
	}
}

/* A record file that is added to the profile. */
struct emulated_file {
	const struct profile_events *events;
	struct counted *counted;
	struct record_reading reading;
	uint32_t *blocks;  /* of each instruction */
	uint64_t *offsets; /* of each instruction, in its image */
	uint64_t *counts;  /* of each block, or of each instruction */
	uint32_t context;
};

static int
emulated_file_open(struct emulated_file *file, int fd, const char *label)
{
	const struct code_read *code = &file->reading.code;
	struct context context = {.comm = file->reading.header.comm, .cgroup = "", .label = label};
	int err = record_reading_init(&file->reading, fd, file->counted->images);

	if (err)
		return err;
	file->blocks = calloc((size_t)code->instruction_count + 1, sizeof(*file->blocks));
	file->offsets = calloc((size_t)code->instruction_count + 1, sizeof(*file->offsets));
	file->counts = calloc((size_t)code->instruction_count + 2, sizeof(*file->counts));
	if (!file->blocks || !file->offsets || !file->counts)
		return -ENOMEM;
	for (uint32_t i = 1; i < code->block_count; i++) {
		const struct code_read_block *block = &code->blocks[i];
		uint64_t offset = block->offset;

		for (uint32_t k = 0; k < block->instruction_count; k++) {
			file->blocks[block->first + k] = i;
			file->offsets[block->first + k] = offset;
			offset += block->sizes[k];
		}
	}
	return context_table_intern(file->counted->contexts, &context, &file->context);
}

/* The image of an instruction, the session's number + 1; 0: none. */
static uint32_t
image_of(const struct emulated_file *file, uint32_t instruction)
{
	return file->reading.code.blocks[file->blocks[instruction]].image;
}

static int
add_count(struct emulated_file *file, uint16_t event, uint32_t instruction, uint64_t count)
{
	const uint32_t image = image_of(file, instruction);
	const struct sample_key key = {
		.offset = file->offsets[instruction],
		.image = image - 1,
		.context = file->context,
		.event = event,
	};

	if (image)
		return counted_add(file->counted, &key, count);
	counted_add_anonymous(file->counted, event, count);
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
add_executions(struct emulated_file *file, uint16_t event)
{
	const struct code_read *code = &file->reading.code;
	int err = record_read_executions(&file->reading, file->counts);

	if (!err)
		err = drop_repetitions(code, file->counts);
	for (size_t i = 1; !err && i < code->block_count; i++)
		for (uint32_t k = 0; !err && file->counts[i] > 0 && k < code->blocks[i].instruction_count; k++)
			err = add_count(file, event, code->blocks[i].first + k, file->counts[i]);
	return err;
}

static int
add_samples(struct emulated_file *file, uint16_t event, enum setup_event sampled)
{
	const uint32_t instructions = file->reading.code.instruction_count;
	int err;

	memset(file->counts, 0, ((size_t)instructions + 1) * sizeof(*file->counts));
	err = record_read_samples(&file->reading, sampled, file->counts);
	for (uint32_t i = 1; !err && i <= instructions; i++)
		if (file->counts[i] > 0)
			err = add_count(file, event, i, file->counts[i]);
	return err;
}

/* An edge stays within one image: a culprit in another image becomes TRUTH_ELSEWHERE. */
static int
add_stall(void *context, const struct record_stall *stall)
{
	struct emulated_file *file = context;
	const uint32_t image = image_of(file, stall->stalled);
	struct profile_edge edge = {
		.from = file->offsets[stall->stalled],
		.to = file->offsets[stall->culprit],
		.count = stall->cycles,
		.image = image - 1,
		.event = file->events->truth[stall->reason],
	};

	if (!image || stall->cycles == 0 || edge.event == PROFILE_NO_EVENT)
		return 0;
	if (!stall->culprit)
		edge.to = edge.from;
	else if (image_of(file, stall->culprit) != image)
		edge.to = TRUTH_ELSEWHERE;
	return edge_list_gather(&file->counted->edges, &edge);
}

static int
add_all(struct emulated_file *file)
{
	const struct profile_events *events = file->events;
	int err = 0;

	if (events->executions != PROFILE_NO_EVENT)
		err = add_executions(file, events->executions);
	for (unsigned i = 0; !err && i < SETUP_EVENT_COUNT; i++)
		if (events->sampled[i] != PROFILE_NO_EVENT)
			err = add_samples(file, events->sampled[i], i);
	return err ? err : record_read_stalls(&file->reading, add_stall, file);
}

struct emulated_files {
	const struct profile_events *events;
	struct counted *counted;
	const char *label;
	size_t programs;
};

/* A damaged file is left out: counters_read() counts those. */
static int
add_file(void *context, const struct run_file *file)
{
	struct emulated_files *files = context;
	struct emulated_file adding = {.events = files->events, .counted = files->counted};
	int err;

	if (file->fd < 0)
		return 0;
	err = emulated_file_open(&adding, file->fd, files->label);
	if (!err)
		err = add_all(&adding);
	record_reading_fini(&adding.reading);
	free(adding.blocks);
	free(adding.offsets);
	free(adding.counts);
	files->programs += err == 0;
	return err == -DCPI_EDAMAGED ? 0 : err;
}

int
emulated_profile_write(const struct emulated_profile *profile, const char *directory, uint32_t *epoch)
{
	struct profile_events *events = calloc(1, sizeof(*events));
	struct counted counted = {0};
	struct emulated_files files = {
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
		.memory = profile->memory,
	};
	int err = events ? counted_init(&counted) : -ENOMEM;

	*epoch = 0;
	emulated_cpu_describe(&profile->setup->machine, cpu, sizeof(cpu));
	if (err)
		goto out;
	describe_events(events, profile->setup);
	description.events = events->events;
	description.event_count = events->count;
	err = run_directory_each_file(profile->records, RECORD_PREFIX, add_file, &files);
	if (!err && files.programs == 0)
		err = -DCPI_EDAMAGED;
	if (!err)
		err = counted_write(&counted, directory, &description, epoch);
out:
	counted_fini(&counted);
	free(events);
	return err;
}
