/* The bytes of an unwind table come from a process that read any file, or from a database: loading them must be safe.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

/* What unwind.c relies on. */
static void
check_rules(const struct unwind_table *table, const struct unwind_rules *rules)
{
	const unsigned limit = table->machine == UNWIND_X86_64 ? 17 : 33;

	require((uint64_t)rules->first + rules->count <= table->register_rule_count);
	require(rules->cfa_register == UNWIND_CFA_EXPRESSION ? (uint32_t)rules->cfa_value < table->expression_count
	                                                     : rules->cfa_register < limit);
	for (unsigned i = 0; i < rules->count; i++) {
		const struct unwind_register_rule *rule = &table->register_rules[rules->first + i];

		require(rule->number < limit && rule->kind > UNWIND_SAME && rule->kind < UNWIND_RULE_KINDS);
		if (rule->kind == UNWIND_IN_REGISTER)
			require((uint32_t)rule->value < limit);
		if (rule->kind >= UNWIND_AT_EXPRESSION)
			require((uint32_t)rule->value < table->expression_count);
	}
}

/* Each row is found, from its block. */
static void
check_rows(const struct unwind_table *table)
{
	struct byte_reader reader = {.at = table->rows, .end = table->rows_end};
	uint64_t behind = 0; /* offset behind the last row's */

	for (uint32_t i = 0; i < table->row_count; i++) {
		const struct unwind_block *block = &table->blocks[i / UNWIND_BLOCK_ROWS];
		const uint64_t offset = behind + read_varint(&reader) - 1;
		const uint8_t *at = reader.at;
		const uint64_t set = read_varint(&reader);

		require(!reader.failed && set <= table->rules_count && offset >= behind && offset <= UNWIND_OFFSET_MAX);
		require(i % UNWIND_BLOCK_ROWS > 0 || (block->offset == offset && table->rows + block->at == at));
		require(unwind_table_find(table, offset) == (set ? &table->rules[set - 1] : NULL));
		behind = offset + 1;
	}
	require(reader_left(&reader) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table *table;

	if (unwind_table_load(data, size, &table))
		return 0;
	check_rows(table);
	for (uint32_t i = 0; i < table->rules_count; i++)
		check_rules(table, &table->rules[i]);
	for (uint32_t i = 0; i < table->expression_count; i++)
		require(table->expression_ends[i] >= (i ? table->expression_ends[i - 1] : 0));
	require(unwind_table_find(table, UINT64_MAX) == NULL);
	unwind_table_free(table);
	return 0;
}
