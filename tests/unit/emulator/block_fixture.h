/*
 * block_fixture.h - blocks out of hexadecimal, one instruction a string
 */
#ifndef DCPI_TESTS_EMULATOR_BLOCK_FIXTURE_H
#define DCPI_TESTS_EMULATOR_BLOCK_FIXTURE_H

#include "tests/unit/test.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/block/block.h"
#include "tests/unit/code/describe.h"

#define FIXTURE_ADDRESS 0x401000
#define FIXTURE_BYTES   8192
#define FIXTURE_SIZES   1024

struct block_bytes {
	uint8_t bytes[FIXTURE_BYTES], sizes[FIXTURE_SIZES];
	size_t size, count;
};

static inline void
block_bytes_add(struct block_bytes *code, const char *hex)
{
	const size_t size = bytes_of_hex(hex, code->bytes + code->size, sizeof(code->bytes) - code->size);

	code->sizes[code->count++] = (uint8_t)size;
	code->size += size;
}

/* The block of these instructions, ended by NULL, as number `number`. */
static inline const struct block *
block_of(struct blocks *blocks, uint32_t number, const char *const instructions[])
{
	struct block_bytes *code = calloc(1, sizeof(*code));
	const struct block *block;

	assert_non_null(code);
	for (size_t i = 0; instructions[i]; i++)
		block_bytes_add(code, instructions[i]);
	block = blocks_add(blocks, FIXTURE_ADDRESS, code->bytes, code->sizes, code->count, number, 1);
	free(code);
	assert_non_null(block);
	return block;
}

#define BLOCK_OF(blocks, number, ...) block_of(blocks, number, (const char *const[]){__VA_ARGS__, NULL})

/* The pipeline of this processor; free() it. */
static inline struct pipeline *
fixture_pipeline(const char *cpu)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	char directory[4096], note[512];

	assert_non_null(pipeline);
	pipeline_directory(directory, sizeof(directory));
	assert_int_equal(pipeline_choose(directory, cpu, "", pipeline, note, sizeof(note)), 0);
	return pipeline;
}

static inline struct blocks *
blocks_for(const char *cpu, uint16_t machine)
{
	struct pipeline *pipeline = fixture_pipeline(cpu);
	struct blocks *blocks = blocks_new(pipeline, machine, BLOCK_CALLBACKS_8);
	free(pipeline);
	assert_non_null(blocks);
	return blocks;
}

/* A test's setup: blocks of a pipeline in order. And its end, of any. */
static inline int
blocks_setup(void **state)
{
	*state = blocks_for("in-order-2", EM_X86_64);
	return 0;
}

static inline int
blocks_teardown(void **state)
{
	blocks_free(*state);
	return 0;
}

#endif
