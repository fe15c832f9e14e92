/*
 * blocks_bench.c - what it takes to prepare blocks of code for the emulator, and how many variants they get
 *
 * blocks_bench CPU FILE...: for each FILE its code as blocks, each entered from the one before it and, where it is
 * known, from the blocks that branch to it. Microseconds an instruction for blocks_add() and for the variants, the best
 * of three passes that know nothing yet; variants and bytes; and how many accesses are left that need a callback.
 */
#include <malloc.h>
#include <stdlib.h>

#include "bench/text_section.h"
#include "emulator/block/block.h"

#define PASSES 3

struct block_layout {
	size_t instruction_count, block_count;
	uint8_t *sizes;   /* of instructions */
	uint16_t *counts; /* instructions of blocks */
};

struct blocks_result {
	double add_us, variants_us; /* an instruction */
	size_t variants, bytes, accesses, leaders;
};

/* Where the emulator would end a block. */
static struct block_layout
lay_out(const struct text_section *text)
{
	struct decoder *decoder = decoder_new(text->architecture);
	struct block_layout layout = {.sizes = calloc(text->size, 1), .counts = calloc(text->size, sizeof(uint16_t))};
	unsigned count = 0;

	if (!decoder || !layout.sizes || !layout.counts)
		bench_require(-ENOMEM, "layout");
	for (size_t at = 0; at < text->size;) {
		struct instruction instruction;
		const size_t size = decoder_decode_one(decoder, text->bytes + at, text->size - at, text->address + at,
		                                       &instruction);

		layout.sizes[layout.instruction_count++] = (uint8_t)size;
		at += size;
		count++;
		if (instruction.flow == FLOW_NEXT && count < BLOCK_INSTRUCTIONS_MAX && at < text->size)
			continue;
		layout.counts[layout.block_count++] = (uint16_t)count;
		count = 0;
	}
	decoder_free(decoder);
	return layout;
}

static const struct block **
add_all(struct blocks *blocks, const struct text_section *text, const struct block_layout *layout)
{
	const struct block **added = calloc(layout->block_count, sizeof(struct block *));
	size_t at = 0, first = 0;

	if (!added)
		bench_require(-ENOMEM, "blocks");
	for (size_t i = 0; i < layout->block_count; i++) {
		added[i] = blocks_add(blocks, text->address + at, text->bytes + at, layout->sizes + first,
		                      layout->counts[i], (uint32_t)i + 1, (uint32_t)first + 1);
		if (!added[i]) {
			bench_require(-ENOMEM, "blocks");
			break;
		}
		at += added[i]->size;
		first += layout->counts[i];
	}
	return added;
}

static int
compare_address(const void *key, const void *element)
{
	const uint64_t address = *(const uint64_t *)key;
	const struct block *block = *(const struct block *const *)element;

	return address < block->address ? -1 : address > block->address;
}

/* Walks: from each block on, eight blocks along branches that are taken and not in turn. */
static size_t
walk_all(struct blocks *blocks, const struct block **added, size_t count)
{
	size_t visits = 0;

	for (size_t i = 0; i < count; i++) {
		const struct variant *variant = blocks_first_variant(blocks, added[i]);

		for (unsigned step = 0; step < 8; step++) {
			const struct block *from = variant->block;
			const uint64_t to = from->target && (step + i) % 2 ? from->target : from->fall;
			const struct block **next = bsearch(&to, added, count, sizeof(struct block *), compare_address);

			if (!next)
				break;
			variant = blocks_find_variant(blocks, variant, *next);
			visits++;
		}
	}
	return visits;
}

static void
count_accesses(const struct block **added, size_t count, struct blocks_result *result)
{
	for (size_t i = 0; i < count; i++) {
		for (unsigned k = 0; k < added[i]->count; k++) {
			const struct block_instruction *instruction = &added[i]->instructions[k];

			if (!instruction->loads && !instruction->stores)
				continue;
			result->accesses++;
			result->leaders += instruction->leader == BLOCK_ALONE || instruction->leader == k;
		}
	}
}

static struct blocks_result
measure(const struct pipeline *pipeline, const struct text_section *text, const struct block_layout *layout)
{
	struct blocks_result best = {.add_us = 1e9, .variants_us = 1e9};

	for (int pass = 0; pass < PASSES; pass++) {
		const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
		struct blocks *blocks = blocks_new(pipeline, text->machine, BLOCK_CALLBACKS_8);
		struct blocks_result result = {0};
		const struct block **added;
		uint64_t start, end;

		if (!blocks) {
			bench_require(-errno, "blocks");
			break;
		}
		start = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		added = add_all(blocks, text, layout);
		end = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		result.add_us = (double)(end - start) / 1e3 / (double)layout->instruction_count;
		start = end;
		walk_all(blocks, added, layout->block_count);
		end = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		result.variants_us = (double)(end - start) / 1e3 / (double)layout->instruction_count;
		count_accesses(added, layout->block_count, &result);
		result.variants = blocks_variant_count(blocks);
		result.bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;
		if (best.add_us < result.add_us)
			result.add_us = best.add_us;
		if (best.variants_us < result.variants_us)
			result.variants_us = best.variants_us;
		best = result;
		free(added);
		blocks_free(blocks);
	}
	return best;
}

int
main(int argc, char **argv)
{
	struct pipeline pipeline;
	char directory[4096], note[512];

	pipeline_directory(directory, sizeof(directory));
	if (argc < 3 || pipeline_choose(directory, argv[1], "", &pipeline, note, sizeof(note)))
		bench_require(-EINVAL, "blocks_bench CPU FILE...");
	for (int i = 2; i < argc; i++) {
		const struct text_section text = find_text(argv[i]);
		struct block_layout layout = lay_out(&text);
		const struct blocks_result result = measure(&pipeline, &text, &layout);

		printf("%s: %zu instructions in %zu blocks, %.2f us each, variants %.2f us; %.2f variants a block, "
		       "%.0f bytes an instruction; %zu accesses, %.1f %% need a callback\n",
		       argv[i], layout.instruction_count, layout.block_count, result.add_us, result.variants_us,
		       (double)result.variants / (double)layout.block_count,
		       (double)result.bytes / (double)layout.instruction_count, result.accesses,
		       100.0 * (double)result.leaders / (double)result.accesses);
		free(layout.sizes);
		free(layout.counts);
	}
	return EXIT_SUCCESS;
}
