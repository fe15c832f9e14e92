/* Tests of image/symbol_builder.h: what is added after a name was looked up takes its place as if it had been first. */
#include "tests/unit/test.h"

#include "image/symbol_builder.h"
#include "image/symbols.h"

#define COUNT 200u

static void
add(struct symbol_builder *builder, uint64_t offset, const char *name)
{
	const struct candidate candidate = {
		.offset = offset,
		.size = 8,
		.limit = UINT64_C(1) << 20,
		.name = name,
		.name_length = strlen(name),
	};

	assert_int_equal(symbol_builder_add(builder, &candidate), 0);
}

static void
what_comes_after_a_look_is_in_order(void **state)
{
	struct symbol_builder builder = SYMBOL_BUILDER_INIT;
	struct symbol_table *table;

	(void)state;
	for (uint64_t i = COUNT; i > 0; i--) /* at 16, 32, ... 3200, the last first */
		add(&builder, 16 * i, "first");
	assert_string_equal(symbol_builder_best(&builder, 160)->name, "first");
	assert_null(symbol_builder_best(&builder, 168));
	for (uint64_t i = COUNT; i > 0; i -= 2) /* at 40, 72, ... 3208 */
		add(&builder, 16 * i + 8, "between");
	add(&builder, 8, "before");
	add(&builder, 8000, "behind");
	add(&builder, 160, "a_longer_name"); /* the shorter one is better */
	add(&builder, 176, "best");
	assert_string_equal(symbol_builder_best(&builder, 168)->name, "between");
	assert_string_equal(symbol_builder_best(&builder, 160)->name, "first");
	assert_string_equal(symbol_builder_best(&builder, 176)->name, "best");
	assert_int_equal(symbol_builder_finish(&builder, &table), 0);
	symbol_builder_fini(&builder);
	assert_int_equal(symbol_table_size(table), COUNT + COUNT / 2 + 2);
	for (uint64_t offset = 16; offset <= 16 * (uint64_t)COUNT; offset += 16) {
		const struct symbol *symbol = symbol_table_find(table, offset);

		assert_non_null(symbol);
		assert_int_equal(symbol->offset, offset);
		assert_string_equal(symbol->name, offset == 176 ? "best" : "first");
	}
	assert_string_equal(symbol_table_find(table, 15)->name, "before");
	assert_string_equal(symbol_table_find(table, 40)->name, "between");
	assert_string_equal(symbol_table_find(table, 8007)->name, "behind");
	symbol_table_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_after_a_look_is_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
