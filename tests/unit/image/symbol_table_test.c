#include "tests/unit/test.h"

#include "image/symbols.h"

static struct symbol_table *
make_table(const struct symbol *symbols, size_t count)
{
	struct symbol_table *table;

	assert_int_equal(symbol_table_from_list(symbols, count, &table), 0);
	return table;
}

static void
assert_name(const struct symbol_table *table, uint64_t offset, const char *expected)
{
	const struct symbol *symbol = symbol_table_find(table, offset);

	assert_non_null(symbol);
	assert_string_equal(symbol->name, expected);
}

static void
a_symbol_holds_its_first_byte_but_not_the_one_behind(void **state)
{
	static const struct symbol symbols[] = {{0x100, 0x10, "first"}, {0x110, 0x10, "second"}, {0x200, 1, "far"}};
	struct symbol_table *table = make_table(symbols, 3);

	(void)state;
	assert_int_equal(symbol_table_size(table), 3);
	assert_null(symbol_table_find(table, 0xff));
	assert_name(table, 0x100, "first");
	assert_name(table, 0x10f, "first");
	assert_name(table, 0x110, "second");
	assert_null(symbol_table_find(table, 0x120));
	assert_name(table, 0x200, "far");
	assert_null(symbol_table_find(table, 0x201));
	symbol_table_free(table);
}

static void
a_symbol_without_size_lasts_until_the_next(void **state)
{
	static const struct symbol symbols[] = {{0, 0, "_stext"}, {0x40, 0, "middle"}, {0x80, 0, "last"}};
	struct symbol_table *table = make_table(symbols, 3);

	(void)state;
	assert_name(table, 0x3f, "_stext");
	assert_name(table, 0x40, "middle");
	assert_int_equal(symbol_table_find(table, 0x7f)->size, 0x40);
	assert_name(table, UINT64_MAX - 1, "last");
	assert_int_equal(symbol_table_find(table, 0x80)->size, 0);
	symbol_table_free(table);
}

static void
the_inner_of_two_symbols_has_the_code(void **state)
{
	static const struct symbol symbols[] = {{0, 100, "outer"}, {20, 40, "inner"}, {30, 10, "innermost"}};
	struct symbol_table *table = make_table(symbols, 3);

	(void)state;
	assert_name(table, 19, "outer");
	assert_name(table, 20, "inner");
	assert_name(table, 30, "innermost");
	assert_name(table, 40, "inner");
	assert_name(table, 60, "outer");
	assert_name(table, 99, "outer");
	assert_int_equal(symbol_table_find(table, 99)->offset, 0);
	assert_null(symbol_table_find(table, 100));
	symbol_table_free(table);
}

static void
of_two_that_overlap_the_later_has_the_code(void **state)
{
	static const struct symbol symbols[] = {{0, 50, "early"}, {30, 50, "late"}};
	struct symbol_table *table = make_table(symbols, 2);

	(void)state;
	assert_name(table, 29, "early");
	assert_name(table, 30, "late");
	assert_name(table, 79, "late");
	assert_null(symbol_table_find(table, 80));
	symbol_table_free(table);
}

static void
a_label_inside_of_a_function_does_not_cut_it(void **state)
{
	static const struct symbol symbols[] = {{0, 100, "function"}, {40, 0, "label"}};
	struct symbol_table *table = make_table(symbols, 2);

	(void)state;
	assert_int_equal(symbol_table_size(table), 1);
	assert_name(table, 50, "function");
	symbol_table_free(table);
}

static void
the_alias_with_fewer_underscores_names_the_symbol(void **state)
{
	static const struct symbol symbols[] = {{0, 8, "__libc_read"}, {0, 8, "read"},   {0, 8, "__read"},
	                                        {16, 8, "longer"},     {16, 8, "short"}, {32, 0, "sizeless"},
	                                        {32, 8, "sized_name"}};
	struct symbol_table *table = make_table(symbols, 7);

	(void)state;
	assert_int_equal(symbol_table_size(table), 3);
	assert_name(table, 0, "read");
	assert_name(table, 16, "short");
	assert_name(table, 32, "sized_name");
	symbol_table_free(table);
}

static void
code_without_a_name_fills_only_what_names_leave_open(void **state)
{
	static const struct symbol symbols[] = {{0, 100, NULL}, {40, 20, "named"}, {200, 10, NULL}};
	struct symbol_table *table = make_table(symbols, 3);

	(void)state;
	assert_null(symbol_table_find(table, 39)->name);
	assert_int_equal(symbol_table_find(table, 39)->offset, 0);
	assert_name(table, 40, "named");
	assert_null(symbol_table_find(table, 60)->name);
	assert_int_equal(symbol_table_find(table, 60)->offset, 60);
	assert_null(symbol_table_find(table, 209)->name);
	assert_null(symbol_table_find(table, 210));
	symbol_table_free(table);
}

static void
an_empty_list_makes_an_empty_table(void **state)
{
	struct symbol_table *table = make_table(NULL, 0);

	(void)state;
	assert_int_equal(symbol_table_size(table), 0);
	assert_null(symbol_table_find(table, 0));
	symbol_table_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symbol_holds_its_first_byte_but_not_the_one_behind),
		cmocka_unit_test(a_symbol_without_size_lasts_until_the_next),
		cmocka_unit_test(the_inner_of_two_symbols_has_the_code),
		cmocka_unit_test(of_two_that_overlap_the_later_has_the_code),
		cmocka_unit_test(a_label_inside_of_a_function_does_not_cut_it),
		cmocka_unit_test(the_alias_with_fewer_underscores_names_the_symbol),
		cmocka_unit_test(code_without_a_name_fills_only_what_names_leave_open),
		cmocka_unit_test(an_empty_list_makes_an_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
