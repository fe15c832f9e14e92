#include "dcpi-tools/loc/trace_read.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/emulated/code_read.h"
#include "dcpi-tools/emulated/run_directory.h"

#define AT_ONCE      2048 /* instructions that are read */
#define HALVINGS_MAX 32   /* as line_set.c has them */
#define NO_INDEX     UINT32_MAX
#define KEYS_MAX     ((size_t)1 << 25) /* of all threads: beyond that fewer lines are sampled */

/* A file that is being added. */
struct trace_reading {
	int fd;
	struct trace *trace;
	struct record_header header;
	struct code_read code;
	uint32_t *indexes; /* of the trace, by instruction; NO_INDEX: it refers to nothing */
	uint64_t *offsets; /* by instruction: in its image */
	uint32_t *images;  /* by instruction: as struct traced_instruction has it */
};

int
trace_init(struct trace *trace)
{
	*trace = (struct trace){.images = image_table_new()};
	return trace->images ? 0 : -ENOMEM;
}

void
trace_fini(struct trace *trace)
{
	image_table_free(trace->images);
	free(trace->instructions);
	free(trace->keys);
	*trace = (struct trace){.images = NULL};
}

/* ---- instructions ---- */

/* A score that sums of references can be: what is printed must be numbers. */
static bool
is_score(const struct locality_score *score)
{
	return score->judged <= score->references && score->references < UINT64_MAX / 4 && score->spatial >= 0 &&
	       score->temporal >= 0 && score->spatial <= (double)score->references &&
	       score->temporal <= (double)score->judged;
}

static int
add_instruction(struct trace_reading *reading, uint32_t number, const struct trace_instruction *read)
{
	struct trace *trace = reading->trace;
	struct traced_instruction *added;

	if (!is_score(&read->exact) || !is_score(&read->sampled))
		return -DCPI_EDAMAGED;
	if (read->kind != TRACE_DATA || read->exact.references + read->sampled.references == 0)
		return 0;
	if (reading->indexes[number] == NO_INDEX) {
		if (trace->count == NO_INDEX)
			return -ENOMEM;
		added = ARRAY_APPEND(trace->instructions, trace->count, trace->room);
		if (!added)
			return -ENOMEM;
		*added = (struct traced_instruction){
			.image = reading->images[number], .offset = reading->offsets[number], .low = UINT64_MAX};
		reading->indexes[number] = (uint32_t)(trace->count - 1);
	}
	added = &trace->instructions[reading->indexes[number]];
	locality_score_add(&added->exact, &read->exact);
	locality_score_add(&added->sampled, &read->sampled);
	added->low = read->low < added->low ? read->low : added->low;
	added->high = read->high > added->high ? read->high : added->high;
	added->stores |= read->stores != 0;
	added->bytes = read->bytes > added->bytes ? read->bytes : added->bytes;
	return 0;
}

static int
read_instructions(struct trace_reading *reading, uint64_t offset)
{
	struct trace_instruction *read = calloc(AT_ONCE, sizeof(*read));
	const uint32_t end = reading->code.instruction_count + 1;
	int err = read ? 0 : -ENOMEM;

	for (uint32_t first = 0; first < end && !err; first += AT_ONCE) {
		const uint32_t count = end - first < AT_ONCE ? end - first : AT_ONCE;

		err = code_read_at(reading->fd, read, count * sizeof(*read), offset + first * sizeof(*read));
		for (uint32_t i = first == 0; i < count && !err; i++)
			err = add_instruction(reading, first + i, &read[i]);
	}
	free(read);
	return err;
}

/* ---- lines ---- */

/* All keys must be samples of one kind: the rarest. */
static void
sample_equally(struct trace *trace, uint32_t halvings)
{
	size_t kept = 0;

	if (halvings <= trace->halvings)
		return;
	for (size_t at = 0; at < trace->key_count; at += TRACE_LINES_MAX) {
		const size_t left = trace->key_count - at, count = left < TRACE_LINES_MAX ? left : TRACE_LINES_MAX;
		const uint32_t part = line_keys_sample(trace->keys + at, (uint32_t)count, halvings);

		memmove(trace->keys + kept, trace->keys + at, part * sizeof(*trace->keys));
		kept += part;
	}
	trace->key_count = kept;
	trace->halvings = halvings;
}

static int
add_keys(struct trace_reading *reading, uint64_t *keys, uint32_t count, uint32_t halvings)
{
	struct trace *trace = reading->trace;
	uint64_t *grown;

	sample_equally(trace, halvings);
	count = line_keys_sample(keys, count, trace->halvings);
	grown = array_grow(trace->keys, &trace->key_room, trace->key_count + count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	trace->keys = grown;
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t owner = keys[i] >> LINE_SET_LINE_BITS,
			       line = keys[i] & ((UINT64_C(1) << LINE_SET_LINE_BITS) - 1);

		if (owner > reading->code.instruction_count)
			return -DCPI_EDAMAGED;
		if (reading->indexes[owner] == NO_INDEX)
			continue;
		if (reading->indexes[owner] >= LINE_SET_OWNERS_MAX)
			trace->lost_lines++;
		else
			trace->keys[trace->key_count++] =
				(uint64_t)reading->indexes[owner] << LINE_SET_LINE_BITS | line;
	}
	return 0;
}

static int
read_lines(struct trace_reading *reading, uint64_t offset)
{
	struct line_keys beginning;
	uint64_t *keys;
	int err = code_read_at(reading->fd, &beginning, sizeof(beginning), offset);

	if (err)
		return err;
	if (beginning.count > TRACE_LINES_MAX || beginning.halvings > HALVINGS_MAX)
		return -DCPI_EDAMAGED;
	keys = malloc((size_t)beginning.count * sizeof(*keys) + 1);
	if (!keys)
		return -ENOMEM;
	err = code_read_at(reading->fd, keys, beginning.count * sizeof(*keys), offset + sizeof(beginning));
	if (!err)
		err = add_keys(reading, keys, beginning.count, beginning.halvings);
	free(keys);
	return err;
}

/* ---- files ---- */

static int
add_bursts(struct trace_bursts *sum, const struct trace_bursts *bursts)
{
	if (!isfinite(bursts->judged) || !isfinite(bursts->temporal) || !isfinite(bursts->judged_squares) ||
	    !isfinite(bursts->temporal_squares) || !isfinite(bursts->products))
		return -DCPI_EDAMAGED;
	sum->count += bursts->count;
	sum->judged += bursts->judged;
	sum->temporal += bursts->temporal;
	sum->judged_squares += bursts->judged_squares;
	sum->temporal_squares += bursts->temporal_squares;
	sum->products += bursts->products;
	return 0;
}

static int
read_vcpu(struct trace_reading *reading, uint32_t vcpu)
{
	const uint64_t offset = TRACE_VCPU_OFFSET(vcpu);
	struct {
		struct trace_bursts bursts;
		uint64_t left_out;
	} beginning;
	int err = code_read_at(reading->fd, &beginning, sizeof(beginning), offset);

	if (!err)
		err = add_bursts(&reading->trace->bursts, &beginning.bursts);
	if (!err)
		err = read_instructions(reading, offset + offsetof(struct trace_vcpu, instructions));
	reading->trace->left_out += beginning.left_out;
	return err ? err : read_lines(reading, offset + offsetof(struct trace_vcpu, lines));
}

/* Where each instruction is. */
static int
place_instructions(struct trace_reading *reading)
{
	const struct code_read *code = &reading->code;
	const size_t room = (size_t)code->instruction_count + 1;

	reading->indexes = malloc(room * sizeof(*reading->indexes));
	reading->offsets = calloc(room, sizeof(*reading->offsets));
	reading->images = calloc(room, sizeof(*reading->images));
	if (!reading->indexes || !reading->offsets || !reading->images)
		return -ENOMEM;
	memset(reading->indexes, 0xff, room * sizeof(*reading->indexes));
	for (size_t i = 1; i < code->block_count; i++) {
		const struct code_read_block *block = &code->blocks[i];
		uint64_t offset = block->offset;

		for (uint16_t k = 0; k < block->instruction_count; k++) {
			reading->offsets[block->first + k] = offset;
			reading->images[block->first + k] = block->image;
			offset += block->sizes[k];
		}
	}
	return 0;
}

static int
read_all(struct trace_reading *reading)
{
	struct record_header *header = &reading->header;
	int err = code_read_at(reading->fd, header, sizeof(*header), 0);

	if (err)
		return err;
	if (header->magic != TRACE_MAGIC || header->vcpu_count > TRACE_VCPUS_MAX)
		return -DCPI_EDAMAGED;
	err = code_read_init(&reading->code, reading->fd, PROCESS_FILE_HEADER_SIZE, header->log_size,
	                     reading->trace->images);
	if (!err && reading->code.instruction_count >= TRACE_INSTRUCTIONS_MAX)
		err = -DCPI_EDAMAGED;
	if (!err)
		err = place_instructions(reading);
	for (uint32_t i = 0; !err && i < header->vcpu_count; i++)
		err = read_vcpu(reading, i);
	return err;
}

int
trace_read_file(struct trace *trace, int fd)
{
	struct trace_reading reading = {.fd = fd, .trace = trace};
	int err = read_all(&reading);

	if (!err) {
		trace->unfollowed += reading.header.unfollowed;
		trace->unrecorded += reading.header.unrecorded;
	}
	code_read_fini(&reading.code);
	free(reading.indexes);
	free(reading.offsets);
	free(reading.images);
	return err;
}

static int
read_named(void *context, const struct run_file *file)
{
	struct trace *trace = context;
	int err = file->fd >= 0 ? trace_read_file(trace, file->fd) : -DCPI_EDAMAGED;

	if (err == -DCPI_EDAMAGED) {
		trace->damaged++;
		return 0;
	}
	trace->processes += file->number == 0;
	trace->running += run_file_is_running(file);
	return err;
}

int
trace_read(struct trace *trace, const char *directory)
{
	return run_directory_each_file(directory, TRACE_PREFIX, read_named, trace);
}
