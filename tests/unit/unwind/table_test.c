#include "tests/unit/unwind/table_fixture.h"

#include <errno.h>

static const uint8_t plt_expression[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
static const uint8_t saved_rbx[] = {0x77, 0x80, 0x01};

/* A table with all kinds of rules: bytes, which the caller frees. */
static uint8_t *
make_bytes(size_t *size)
{
	struct unwind_writer *writer = unwind_writer_new(UNWIND_X86_64);
	struct unwind_frame_rules rules = x86_64_rules(UNWIND_X86_64_RSP, 8);
	uint8_t *bytes;

	assert_non_null(writer);
	add_row(writer, 0x1000, &rules);
	rules.cfa.value = 16;
	rules.registers[UNWIND_X86_64_RBP] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -16};
	add_row(writer, 0x1001, &rules);
	add_row(writer, 0x1040, NULL);
	rules = x86_64_rules(UNWIND_CFA_EXPRESSION, 0);
	rules.cfa = (struct unwind_rule){.expression = plt_expression, .size = sizeof(plt_expression)};
	add_row(writer, 0x2000, &rules);
	rules = x86_64_rules(UNWIND_X86_64_RBP, 16);
	rules.is_signal_frame = true;
	rules.registers[0] = (struct unwind_rule){.kind = UNWIND_UNDEFINED};
	rules.registers[1] = (struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = 2};
	rules.registers[3] =
		(struct unwind_rule){.kind = UNWIND_AT_EXPRESSION, .expression = saved_rbx, .size = sizeof(saved_rbx)};
	rules.registers[4] = (struct unwind_rule){
		.kind = UNWIND_EXPRESSION_VALUE, .expression = saved_rbx, .size = sizeof(saved_rbx)};
	rules.registers[UNWIND_X86_64_RSP] = (struct unwind_rule){.kind = UNWIND_CFA_PLUS, .value = -128};
	add_row(writer, 0x2010, &rules);
	add_row(writer, 0x3000, NULL);
	assert_int_equal(unwind_writer_finish(writer, &bytes, size), 0);
	unwind_writer_free(writer);
	return bytes;
}

static struct unwind_table *
load(const uint8_t *bytes, size_t size)
{
	struct unwind_table *table;

	assert_int_equal(unwind_table_load(bytes, size, &table), 0);
	return table;
}

static void
assert_rule(const struct unwind_table *table, uint32_t at, uint8_t number, enum unwind_rule_kind kind, int32_t value)
{
	assert_int_equal(table->register_rules[at].number, number);
	assert_int_equal(table->register_rules[at].kind, kind);
	assert_int_equal(table->register_rules[at].value, value);
}

static void
rules_apply_from_their_row_to_the_next(void **state)
{
	struct unwind_table *table;
	uint8_t *bytes;
	size_t size;

	(void)state;
	bytes = make_bytes(&size);
	table = load(bytes, size);
	free(bytes);
	assert_int_equal(table->machine, UNWIND_X86_64);
	assert_int_equal(table->row_count, 6);
	assert_null(unwind_table_find(table, 0));
	assert_null(unwind_table_find(table, 0xfff));
	assert_int_equal(unwind_table_find(table, 0x1000)->cfa_value, 8);
	assert_int_equal(unwind_table_find(table, 0x1001)->cfa_value, 16);
	assert_int_equal(unwind_table_find(table, 0x103f)->cfa_value, 16);
	assert_null(unwind_table_find(table, 0x1040));
	assert_null(unwind_table_find(table, 0x1fff));
	assert_int_equal(unwind_table_find(table, 0x200f)->cfa_register, UNWIND_CFA_EXPRESSION);
	assert_int_equal(unwind_table_find(table, 0x2fff)->cfa_register, UNWIND_X86_64_RBP);
	assert_null(unwind_table_find(table, 0x3000));
	assert_null(unwind_table_find(table, UINT32_MAX));
	assert_null(unwind_table_find(table, UINT64_MAX));
	unwind_table_free(table);
}

static void
rules_come_back_as_they_were_written(void **state)
{
	const struct unwind_rules *rules;
	struct unwind_table *table;
	uint8_t *bytes;
	size_t size;

	(void)state;
	bytes = make_bytes(&size);
	table = load(bytes, size);
	free(bytes);
	rules = unwind_table_find(table, 0x1020);
	assert_false(rules->is_signal_frame);
	assert_int_equal(rules->cfa_register, UNWIND_X86_64_RSP);
	assert_int_equal(rules->count, 2);
	assert_rule(table, rules->first, UNWIND_X86_64_RBP, UNWIND_AT_CFA, -16);
	assert_rule(table, rules->first + 1, UNWIND_X86_64_RIP, UNWIND_AT_CFA, -8);
	rules = unwind_table_find(table, 0x2000);
	assert_int_equal(rules->cfa_value, 0);
	assert_int_equal(table->expression_ends[0], sizeof(plt_expression));
	assert_memory_equal(table->expression_bytes, plt_expression, sizeof(plt_expression));
	rules = unwind_table_find(table, 0x2010);
	assert_true(rules->is_signal_frame);
	assert_int_equal(rules->count, 6);
	assert_rule(table, rules->first, 0, UNWIND_UNDEFINED, 0);
	assert_rule(table, rules->first + 1, 1, UNWIND_IN_REGISTER, 2);
	assert_rule(table, rules->first + 2, 3, UNWIND_AT_EXPRESSION, 1);
	assert_rule(table, rules->first + 3, 4, UNWIND_EXPRESSION_VALUE, 1);
	assert_rule(table, rules->first + 4, UNWIND_X86_64_RSP, UNWIND_CFA_PLUS, -128);
	assert_rule(table, rules->first + 5, UNWIND_X86_64_RIP, UNWIND_AT_CFA, -8);
	unwind_table_free(table);
}

/* Functions begin as the previous one ended; and a call frame instruction may not move. */
static void
equal_neighbours_are_one_row_and_the_last_of_an_offset_counts(void **state)
{
	struct unwind_writer *writer = unwind_writer_new(UNWIND_X86_64);
	const struct unwind_frame_rules eight = x86_64_rules(7, 8), more = x86_64_rules(7, 16);
	struct unwind_table *table;

	(void)state;
	add_row(writer, 0, NULL);
	add_row(writer, 16, &eight);
	add_row(writer, 20, &eight);
	add_row(writer, 32, &more);
	add_row(writer, 32, &eight);
	add_row(writer, 40, &more);
	add_row(writer, 48, NULL);
	assert_int_equal(unwind_writer_add(writer, 47, &eight), -EINVAL);
	table = table_of(writer);
	assert_int_equal(table->row_count, 3);
	assert_int_equal(table->rules_count, 2);
	assert_int_equal(table->register_rule_count, 1);
	assert_int_equal(row_offset(table, 0), 16);
	assert_int_equal(row_offset(table, 1), 40);
	assert_int_equal(row_offset(table, 2), 48);
	unwind_table_free(table);
}

static void
rules_that_a_table_cannot_have_count_as_none(void **state)
{
	static const uint8_t long_expression[UNWIND_EXPRESSION_MAX + 1];
	struct unwind_writer *writer = unwind_writer_new(UNWIND_X86_64);
	struct unwind_frame_rules rules[6];
	struct unwind_table *table;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		rules[i] = x86_64_rules(7, 8);
	rules[1].cfa.value = INT64_C(1) << 31;
	rules[2].registers[3] = (struct unwind_rule){.kind = UNWIND_AT_CFA, .value = -(INT64_C(1) << 32)};
	rules[3].registers[3] = (struct unwind_rule){UNWIND_AT_EXPRESSION, 0, long_expression, sizeof(long_expression)};
	rules[4].registers[3] = (struct unwind_rule){.kind = UNWIND_IN_REGISTER, .value = 17};
	rules[5].cfa_register = 17;
	for (size_t i = 0; i < 6; i++)
		add_row(writer, 16 * i, &rules[i]);
	rules[0].cfa.value = 16;
	add_row(writer, (uint64_t)UNWIND_OFFSET_MAX + 1, &rules[0]);
	table = table_of(writer);
	assert_int_equal(table->row_count, 2);
	assert_non_null(unwind_table_find(table, 15));
	assert_null(unwind_table_find(table, 16));
	assert_null(unwind_table_find(table, UNWIND_OFFSET_MAX));
	unwind_table_free(table);
}

static void
rules_beyond_the_limit_of_distinct_ones_count_as_none(void **state)
{
	struct unwind_writer *writer = unwind_writer_new(UNWIND_X86_64);
	struct unwind_table *table;

	(void)state;
	for (int64_t i = 0; i < UNWIND_RULES_MAX + 2; i++) {
		const struct unwind_frame_rules rules = x86_64_rules(7, 8 * i);

		add_row(writer, (uint64_t)i * 4, &rules);
	}
	table = table_of(writer);
	assert_int_equal(table->rules_count, UNWIND_RULES_MAX);
	assert_int_equal(unwind_table_find(table, (UNWIND_RULES_MAX - 1) * 4)->cfa_value, (UNWIND_RULES_MAX - 1) * 8);
	assert_null(unwind_table_find(table, UNWIND_RULES_MAX * 4));
	unwind_table_free(table);
}

static void
a_table_without_rows_has_no_rules(void **state)
{
	struct unwind_table *table = table_of(unwind_writer_new(UNWIND_AARCH64));

	(void)state;
	assert_int_equal(table->machine, UNWIND_AARCH64);
	assert_null(unwind_table_find(table, 0));
	unwind_table_free(table);
}

static void
bytes_that_are_cut_or_go_on_are_no_table(void **state)
{
	struct unwind_table *table;
	uint8_t *bytes, *cut;
	size_t size;

	(void)state;
	bytes = make_bytes(&size);
	for (size_t i = 0; i < size; i++) {
		cut = malloc(i + 1); /* so that a sanitizer sees who reads behind it */
		memcpy(cut, bytes, i);
		assert_int_equal(unwind_table_load(cut, i, &table), -EBADMSG);
		assert_null(table);
		free(cut);
	}
	cut = malloc(size + 1);
	memcpy(cut, bytes, size);
	cut[size] = 0;
	assert_int_equal(unwind_table_load(cut, size + 1, &table), -EBADMSG);
	free(cut);
	free(bytes);
}

/* What is loaded is safe to use, whatever it says. */
static void
a_damaged_byte_is_found_or_harmless(void **state)
{
	struct unwind_table *table;
	uint8_t *bytes;
	size_t size;

	(void)state;
	bytes = make_bytes(&size);
	for (size_t i = 0; i < size * 256; i++) {
		const uint8_t kept = bytes[i / 256];
		int err;

		bytes[i / 256] = (uint8_t)i;
		err = unwind_table_load(bytes, size, &table);
		bytes[i / 256] = kept;
		if (err) {
			assert_int_equal(err, -EBADMSG);
			continue;
		}
		for (uint32_t row = 0; row < table->row_count; row++) {
			const struct unwind_rules *rules = unwind_table_find(table, row_offset(table, row));

			assert_true(!rules || rules->first + rules->count <= table->register_rule_count);
		}
		unwind_table_free(table);
	}
	free(bytes);
}

static void
impossible_tables_are_refused(void **state)
{
	/* version, machine; expressions, their bytes, lists, register rules, sets, rows; then these */
	static const struct {
		const char *what;
		uint8_t bytes[24];
		size_t size;
	} bad[] = {
		{"a newer version", {2, 1, 0, 0, 0, 0, 0, 0}, 8},
		{"no machine", {1, 3, 0, 0, 0, 0, 0, 0}, 8},
		{"more rows than there are bytes", {1, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, 12},
		{"counts whose sum overflows",
	         {1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 0, 0, 0, 0},
	         17},
		{"an expression longer than all", {1, 1, 1, 1, 0, 0, 0, 0, 2, 0x96}, 10},
		{"expressions shorter than they say", {1, 1, 1, 2, 0, 0, 0, 0, 1, 0x96, 0x96}, 11},
		{"a list of a register twice", {1, 1, 0, 0, 1, 2, 0, 0, 2, 3, 2, 0, 3, 2, 0}, 15},
		{"a register that there is not", {1, 1, 0, 0, 1, 1, 0, 0, 1, 17, 2, 0}, 12},
		{"a kind that is not listed", {1, 1, 0, 0, 1, 1, 0, 0, 1, 3, 0, 0}, 12},
		{"a kind that there is not", {1, 1, 0, 0, 1, 1, 0, 0, 1, 3, 7, 0}, 12},
		{"an expression that there is not", {1, 1, 0, 0, 1, 1, 0, 0, 1, 3, 5, 0}, 12},
		{"a set of a list that there is not", {1, 1, 0, 0, 1, 0, 1, 0, 0, 7, 16, 1, 0}, 13},
		{"a flag that there is not", {1, 1, 0, 0, 1, 0, 1, 0, 0, 7, 16, 0, 2}, 13},
		{"a CFA of an expression that there is not", {1, 1, 0, 0, 1, 0, 1, 0, 0, 0xff, 1, 0, 0, 0}, 14},
		{"a row at the offset of another", {1, 1, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0}, 12},
		{"a row of a set that there is not", {1, 1, 0, 0, 0, 0, 0, 1, 1, 1}, 10},
		{"a row beyond all offsets", {1, 1, 0, 0, 0, 0, 0, 2, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, 16},
	};
	struct unwind_table *table;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (unwind_table_load(bad[i].bytes, bad[i].size, &table) != -EBADMSG)
			fail_msg("loaded: %s", bad[i].what);
}

/* Of a program with half a million rows, as gcc's compiler has. */
static void
a_row_takes_three_bytes(void **state)
{
	struct unwind_writer *writer = unwind_writer_new(UNWIND_X86_64);
	struct unwind_table *table;

	(void)state;
	for (uint64_t i = 0; i < 500000; i++) {
		const struct unwind_frame_rules rules = x86_64_rules(7, 8 + (int64_t)(i % 10) * 8);

		add_row(writer, i * 5, &rules);
	}
	table = table_of(writer);
	assert_int_equal(table->row_count, 500000);
	assert_in_range(table->memory, 500000 * 2, 500000 * 2.6); /* a byte each for distance and set */
	assert_null(unwind_table_find(table, UNWIND_OFFSET_MAX + UINT64_C(1)));
	for (uint64_t i = 0; i < 500000; i++)
		assert_int_equal(unwind_table_find(table, i * 5 + i % 5)->cfa_value, 8 + (int)(i % 10) * 8);
	unwind_table_free(table);
}

/* Nearly all blocks in one stretch, stretches without any, and one behind the last block. */
static void
rows_are_found_however_they_lie(void **state)
{
	struct unwind_writer *writer = unwind_writer_new(UNWIND_X86_64);
	const uint32_t count = 3000;
	struct unwind_table *table;
	uint32_t *offsets = malloc((count + 1) * sizeof(*offsets));
	uint32_t offset = 1000;

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		const struct unwind_frame_rules rules = x86_64_rules(7, 8 * (int64_t)i);

		offsets[i] = offset;
		add_row(writer, offset, &rules);
		offset += i % 1000 < 999 ? 1 + i % 3 : 1000000007;
	}
	offsets[count] = UINT32_MAX;
	table = table_of(writer);
	assert_null(unwind_table_find(table, 999));
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(unwind_table_find(table, offsets[i])->cfa_value, 8 * i);
		assert_int_equal(unwind_table_find(table, offsets[i + 1] - 1)->cfa_value, 8 * i);
	}
	free(offsets);
	unwind_table_free(table);
}

/* One block, and three, whose last begins in the upper half of all offsets. */
static void
rows_are_found_at_the_highest_offsets(void **state)
{
	(void)state;
	for (uint32_t rows = 1; rows <= 48; rows++) {
		struct unwind_writer *writer = unwind_writer_new(UNWIND_X86_64);
		struct unwind_table *table;

		for (uint32_t i = 0; i < rows; i++) {
			const struct unwind_frame_rules rules = x86_64_rules(7, 8 * (int64_t)i);

			add_row(writer, UNWIND_OFFSET_MAX - rows + 1 + i, &rules);
		}
		table = table_of(writer);
		assert_null(unwind_table_find(table, 0));
		assert_null(unwind_table_find(table, UNWIND_OFFSET_MAX - rows));
		for (uint32_t i = 0; i < rows; i++)
			assert_int_equal(unwind_table_find(table, UNWIND_OFFSET_MAX - rows + 1 + i)->cfa_value, 8 * i);
		unwind_table_free(table);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_apply_from_their_row_to_the_next),
		cmocka_unit_test(rules_come_back_as_they_were_written),
		cmocka_unit_test(equal_neighbours_are_one_row_and_the_last_of_an_offset_counts),
		cmocka_unit_test(rules_that_a_table_cannot_have_count_as_none),
		cmocka_unit_test(rules_beyond_the_limit_of_distinct_ones_count_as_none),
		cmocka_unit_test(a_table_without_rows_has_no_rules),
		cmocka_unit_test(bytes_that_are_cut_or_go_on_are_no_table),
		cmocka_unit_test(a_damaged_byte_is_found_or_harmless),
		cmocka_unit_test(impossible_tables_are_refused),
		cmocka_unit_test(a_row_takes_three_bytes),
		cmocka_unit_test(rows_are_found_however_they_lie),
		cmocka_unit_test(rows_are_found_at_the_highest_offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
