/*
 * table_fixture.h - tables that tests write by hand
 */
#ifndef DCPI_TESTS_UNIT_UNWIND_TABLE_FIXTURE_H
#define DCPI_TESTS_UNIT_UNWIND_TABLE_FIXTURE_H

#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "unwind/table.h"

/* The offset of row `number`. */
static inline uint32_t
row_offset(const struct unwind_table *table, uint32_t number)
{
	const struct unwind_block *block = &table->blocks[number / UNWIND_BLOCK_ROWS];
	struct byte_reader reader = {.at = table->rows + block->at, .end = table->rows_end};
	uint32_t offset = block->offset;

	(void)read_varint(&reader);
	for (uint32_t i = 0; i < number % UNWIND_BLOCK_ROWS; i++) {
		offset += (uint32_t)read_varint(&reader);
		(void)read_varint(&reader);
	}
	assert_false(reader.failed);
	return offset;
}

/* The usual rules of x86-64: the CFA is `number` + `offset`, the return address is below it. */
static inline struct unwind_frame_rules
x86_64_rules(uint8_t number, int64_t offset)
{
	struct unwind_frame_rules rules = {.cfa_register = number, .cfa.value = offset};

	rules.registers[UNWIND_X86_64_RIP] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -8};
	return rules;
}

static inline void
add_row(struct unwind_writer *writer, uint64_t offset, const struct unwind_frame_rules *rules)
{
	assert_int_equal(unwind_writer_add(writer, offset, rules), 0);
}

/* The writer's table, loaded; the writer is freed. */
static inline struct unwind_table *
table_of(struct unwind_writer *writer)
{
	struct unwind_table *table;
	uint8_t *bytes;
	size_t size;

	assert_int_equal(unwind_writer_finish(writer, &bytes, &size), 0);
	assert_int_equal(unwind_table_load(bytes, size, &table), 0);
	free(bytes);
	unwind_writer_free(writer);
	return table;
}

#endif
