#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

#include "process/kallsyms_copy.h"

struct seen {
	char text[512];
	int stop_at; /* this symbol ends the pass */
};

static int
see(void *context, const struct kallsyms_symbol *symbol)
{
	struct seen *seen = context;
	size_t used = strlen(seen->text);

	snprintf(seen->text + used, sizeof(seen->text) - used, "%llx %c %s (%s)\n", (unsigned long long)symbol->address,
	         symbol->type, symbol->name, symbol->module);
	return seen->stop_at && --seen->stop_at == 0 ? 42 : 0;
}

static struct kallsyms_copy *
copy_of(const struct kallsyms_symbol *symbols, size_t count)
{
	struct kallsyms_copy *copy = kallsyms_copy_new();

	assert_non_null(copy);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(kallsyms_copy_add(copy, &symbols[i]), 0);
	return copy;
}

static void
functions_come_back_as_they_were(void **state)
{
	const struct kallsyms_symbol symbols[] = {
		{0xffffffff81000000, 'T', "_stext", ""},
		{0xffffffff81000010, 'w', "weak", ""},
		{0xffffffffc0201000, 't', "ext4_fill_super", "ext4"},
	};
	struct kallsyms_copy *copy = copy_of(symbols, 3);
	struct seen seen = {0};

	(void)state;
	assert_int_equal(kallsyms_copy_visit(copy, see, &seen), 0);
	assert_string_equal(seen.text, "ffffffff81000000 T _stext ()\nffffffff81000010 w weak ()\n"
	                               "ffffffffc0201000 t ext4_fill_super (ext4)\n");
	kallsyms_copy_free(copy);
}

/* arm64 lists the end of the text as data. */
static void
data_is_left_out_but_the_bounds_of_the_text_are_not(void **state)
{
	const struct kallsyms_symbol symbols[] = {
		{0x1000, 'D', "_stext", ""},
		{0x2000, 'd', "table", ""},
		{0x2008, 'D', "_edata", ""},
		{0x3000, 'D', "_etext", ""},
	};
	struct kallsyms_copy *copy = copy_of(symbols, 4);
	struct seen seen = {0};

	(void)state;
	assert_int_equal(kallsyms_copy_visit(copy, see, &seen), 0);
	assert_string_equal(seen.text, "1000 D _stext ()\n3000 D _etext ()\n");
	kallsyms_copy_free(copy);
}

static void
the_visitor_may_end_it(void **state)
{
	const struct kallsyms_symbol symbols[] = {{1, 't', "a", ""}, {2, 't', "b", ""}, {3, 't', "c", ""}};
	struct kallsyms_copy *copy = copy_of(symbols, 3);
	struct seen seen = {.stop_at = 2};

	(void)state;
	assert_int_equal(kallsyms_copy_visit(copy, see, &seen), 42);
	assert_string_equal(seen.text, "1 t a ()\n2 t b ()\n");
	kallsyms_copy_free(copy);
}

static void
an_empty_copy_has_nothing_to_visit(void **state)
{
	struct kallsyms_copy *copy = copy_of(NULL, 0);
	struct seen seen = {0};

	(void)state;
	assert_int_equal(kallsyms_copy_visit(copy, see, &seen), 0);
	assert_string_equal(seen.text, "");
	kallsyms_copy_free(copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_come_back_as_they_were),
		cmocka_unit_test(data_is_left_out_but_the_bounds_of_the_text_are_not),
		cmocka_unit_test(the_visitor_may_end_it),
		cmocka_unit_test(an_empty_copy_has_nothing_to_visit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
