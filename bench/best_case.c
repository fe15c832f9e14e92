/*
 * best_case - the best case of blocks that follow themselves, for scripts/compare-mca
 *
 * best_case MODEL < BLOCKS: a line is an address and the bytes of an x86-64 block, in hexadecimal. A line comes out for
 * each: address, instructions, those that are not known, best case in cycles, its bound, and the four bounds.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/decoder.h"
#include "code/schedule.h"

#define BLOCK_MAX 4096 /* bytes */

static size_t
read_bytes(const char *text, uint8_t *bytes, size_t capacity)
{
	size_t count = 0;
	unsigned value;

	while (count < capacity && sscanf(text + 2 * count, "%2x", &value) == 1)
		bytes[count++] = (uint8_t)value;
	return count;
}

static unsigned
count_unknown(const struct instruction_list *list)
{
	unsigned unknown = 0;

	for (size_t i = 0; i < list->count; i++)
		unknown += list->instructions[i].class == CLASS_UNKNOWN;
	return unknown;
}

static int
show_block(const struct pipeline *pipeline, struct decoder *decoder, uint64_t address, const uint8_t *bytes,
           size_t size)
{
	struct instruction_list list = {0};
	struct schedule schedule = {0};
	int err = decoder_decode(decoder, bytes, size, address, &list);

	if (!err)
		err = schedule_block(pipeline, list.instructions, list.count, true, NULL, NULL, &schedule);
	if (!err)
		printf("%" PRIx64 " %zu %u %.3f %s %.3f %.3f %.3f %.3f\n", address, list.count, count_unknown(&list),
		       schedule.best_cycles,
		       schedule.bound == BOUND_FRONT ? "front-end" : schedule_bound_name(schedule.bound),
		       schedule.front_cycles, schedule.unit_cycles, schedule.latency_cycles, schedule.store_cycles);
	schedule_fini(&schedule);
	instruction_list_free(&list);
	return err;
}

int
main(int argc, char **argv)
{
	static char line[2 * BLOCK_MAX + 64], hex[2 * BLOCK_MAX + 1];
	static uint8_t bytes[BLOCK_MAX];
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	char directory[PATH_MAX], note[1024];
	struct pipeline pipeline;
	uint64_t address;
	int err = 0;

	pipeline_directory(directory, sizeof(directory));
	if (argc != 2 || !decoder) {
		fprintf(stderr, "usage: best_case MODEL < BLOCKS\n");
		return 2;
	}
	if (pipeline_choose(directory, argv[1], "", &pipeline, note, sizeof(note))) {
		fprintf(stderr, "best_case: %s\n", note);
		return 1;
	}
	while (!err && fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%" SCNx64 " %8192s", &address, hex) == 2)
			err = show_block(&pipeline, decoder, address, bytes, read_bytes(hex, bytes, sizeof(bytes)));
	}
	decoder_free(decoder);
	return err ? 1 : 0;
}
