/*
 * Whatever a model holds, it is taken or refused with a sentence, and blocks are scheduled by one that was taken: in
 * finite time, and never in less than none. Behind the first NUL of the input are the block's instructions.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/schedule.h"

#define BLOCK_MAX 64
#define BYTES     8 /* of the input, for an instruction */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 forgets the string before a syntax error: some bytes each time a wrong file is read. */
const char *
__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}

static struct instruction
instruction_of(const uint8_t *bytes)
{
	struct instruction instruction = {
		.address = 16,
		.size = 4,
		.class = bytes[0] % CLASS_COUNT,
		.read_count = bytes[1] % 4,
		.write_count = bytes[1] / 4 % 3,
		.loads = bytes[2] & 1,
		.stores = bytes[2] & 2,
		.clears = bytes[2] & 4,
		.is_wide = bytes[2] & 8,
	};

	for (unsigned i = 0; i < instruction.read_count; i++)
		instruction.reads[i] = bytes[3 + i] % REGISTER_COUNT;
	for (unsigned i = 0; i < instruction.write_count; i++)
		instruction.writes[i] = bytes[6 + i] % REGISTER_COUNT;
	instruction.address_reads = instruction.read_count ? bytes[2] / 16 % (instruction.read_count + 1) : 0;
	return instruction;
}

static void
schedule_some(const struct pipeline *pipeline, const struct instruction *block, size_t count, bool follows_itself)
{
	struct schedule_state after;
	struct schedule schedule;
	double sum = 0;

	if (schedule_block(pipeline, block, count, follows_itself, NULL, &after, &schedule))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!(schedule.lines[i].minimum_cycles >= 0))
			abort();
		sum += schedule.lines[i].minimum_cycles;
	}
	if (!isfinite(schedule.best_cycles) || fabs(sum - schedule.best_cycles) > 1e-6 * (1 + sum))
		abort();
	for (size_t i = 0; i < schedule.stall_count; i++)
		if (schedule.stalls[i].instruction >= count || schedule.stalls[i].reason >= STALL_REASON_COUNT)
			abort();
	schedule_fini(&schedule);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct instruction block[BLOCK_MAX];
	struct pipeline pipeline;
	size_t count = 0, length;
	char why[512] = "";
	char *text = calloc(1, size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	length = strlen(text);
	if (pipeline_parse("model", text, &pipeline, why, sizeof(why)) && !*why)
		abort();
	for (size_t at = length + 1; at + BYTES <= size && count < BLOCK_MAX; at += BYTES)
		block[count++] = instruction_of(data + at);
	if (count && !*why) {
		schedule_some(&pipeline, block, count, false);
		schedule_some(&pipeline, block, count, true);
	}
	free(text);
	return 0;
}
