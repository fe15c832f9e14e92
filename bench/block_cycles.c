/*
 * block_cycles - what blocks of x86-64 code take on this CPU, for scripts/compare-silicon
 *
 * block_cycles < BLOCKS: a line is an address and the bytes of a block, in hexadecimal; a conditional branch may end
 * it. A line comes out for each: the address; cycles of an iteration, or "-"; and "goes-on" when the branch was taken
 * every time (or there is none), "ends" when not, or the reason why it could not run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/silicon/silicon.h"
#include "code/decoder.h"

static size_t
read_bytes(const char *text, uint8_t *bytes, size_t capacity)
{
	size_t count = 0;
	unsigned value;

	while (count < capacity && sscanf(text + 2 * count, "%2x", &value) == 1)
		bytes[count++] = (uint8_t)value;
	return count;
}

/* How long the displacement is of the branch at the end. */
static int
block_look(struct decoder *decoder, struct silicon_block *block)
{
	struct instruction_list list = {0};
	const struct instruction *last;
	int err = decoder_decode(decoder, block->bytes, block->size, 0x1000, &list);

	if (!err && !list.count)
		err = -EINVAL;
	if (err)
		goto out;
	last = &list.instructions[list.count - 1];
	block->instructions = list.count;
	block->displacement_size = last->flow != FLOW_BRANCH ? 0 : last->size >= 6 ? 4 : 1;
	for (size_t i = 0; i < list.count && !err; i++)
		if (list.instructions[i].class == CLASS_SYSTEM || list.instructions[i].class == CLASS_UNKNOWN ||
		    (list.instructions[i].flow != FLOW_NEXT && &list.instructions[i] != last))
			err = -EPERM;
	if (!err && last->flow != FLOW_NEXT && last->flow != FLOW_BRANCH)
		err = -EPERM;
out:
	instruction_list_free(&list);
	return err;
}

static void
block_show(uint64_t address, const struct silicon_result *result)
{
	if (result->err)
		printf("%" PRIx64 " - %s\n", address, strerrorname_np(-result->err));
	else
		printf("%" PRIx64 " %.3f %s\n", address, result->cycles, result->goes_on ? "goes-on" : "ends");
	fflush(stdout);
}

int
main(void)
{
	static char line[2 * SILICON_BLOCK_MAX + 64], hex[2 * SILICON_BLOCK_MAX + 1];
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	uint64_t address;

	bench_require(decoder ? 0 : -errno, "decoder");
	if (!__builtin_cpu_supports("avx"))
		bench_require(-ENOTSUP, "a CPU without AVX");
	while (fgets(line, sizeof(line), stdin)) {
		struct silicon_result result = {0};
		struct silicon_block block = {0};

		if (sscanf(line, "%" SCNx64 " %4096s", &address, hex) != 2)
			continue;
		block.size = read_bytes(hex, block.bytes, sizeof(block.bytes));
		result.err = block_look(decoder, &block);
		if (!result.err)
			bench_require(silicon_measure(&block, &result), "measurement");
		block_show(address, &result);
	}
	decoder_free(decoder);
	return 0;
}
