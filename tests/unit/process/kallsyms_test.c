#include "tests/unit/process/fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/kallsyms.h"

/* ---- functions ---- */

struct seen_symbols {
	char text[1024];
	size_t used;
	int stop_at; /* this symbol ends the pass */
};

static int
see(void *context, const struct kallsyms_symbol *symbol)
{
	struct seen_symbols *seen = context;

	seen->used += (size_t)snprintf(seen->text + seen->used, sizeof(seen->text) - seen->used, "%llx %c %s (%s)\n",
	                               (unsigned long long)symbol->address, symbol->type, symbol->name, symbol->module);
	return seen->stop_at && --seen->stop_at == 0 ? 42 : 0;
}

static int
setup(void **state)
{
	struct fake *fake = malloc(sizeof(*fake));

	fake_init(fake);
	*state = fake;
	return 0;
}

static int
teardown(void **state)
{
	fake_fini(*state);
	free(*state);
	return 0;
}

static int
read_text(void **state, const char *text, struct seen_symbols *seen)
{
	struct fake *fake = *state;

	fake_text(fake, "kallsyms", text);
	return kallsyms_read(fake->path, see, seen);
}

static void
symbols_come_with_their_module(void **state)
{
	struct seen_symbols seen = {0};

	assert_int_equal(read_text(state,
	                           "ffffffff81000000 T _stext\n"
	                           "ffffffffc0201000 t ext4_fill_super\t[ext4]\n"
	                           "ffffffffc0301000 t bpf_prog_6deef7357e7b4530_sd_devices\t[bpf]\n",
	                           &seen),
	                 0);
	assert_string_equal(seen.text, "ffffffff81000000 T _stext ()\n"
	                               "ffffffffc0201000 t ext4_fill_super (ext4)\n"
	                               "ffffffffc0301000 t bpf_prog_6deef7357e7b4530_sd_devices (bpf)\n");
}

static void
hidden_addresses_are_told(void **state)
{
	struct seen_symbols seen = {0};

	assert_int_equal(read_text(state, "0000000000000000 T _stext\n0000000000000000 t foo\t[ext4]\n", &seen),
	                 -EACCES);
	assert_string_equal(seen.text, "");
}

static void
a_symbol_at_zero_is_left_out(void **state)
{
	struct seen_symbols seen = {0};

	assert_int_equal(read_text(state, "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\n", &seen),
	                 0);
	assert_string_equal(seen.text, "ffffffff81000000 T _stext ()\n");
}

static void
lines_of_another_form_are_left_out(void **state)
{
	struct seen_symbols seen = {0};

	assert_int_equal(
		read_text(state,
	                  "\nfoo\nffffffff81000000\nffffffff81000000 \nffffffff81000000 T\nffffffff81000000 T \n"
	                  "11112222333344445 T too_big\nffffffff81000010 T good\nffffffff81000020 t open\t[ext4",
	                  &seen),
		0);
	assert_string_equal(seen.text, "ffffffff81000010 T good ()\nffffffff81000020 t open (ext4)\n");
}

static void
the_visitor_can_end_the_pass(void **state)
{
	struct seen_symbols seen = {.stop_at = 1};

	assert_int_equal(read_text(state, "1 T one\n2 T two\n", &seen), 42);
	assert_string_equal(seen.text, "1 T one ()\n");
}

static void
a_kernel_without_the_list_is_an_error(void **state)
{
	struct fake *fake = *state;
	struct seen_symbols seen = {0};

	assert_int_equal(kallsyms_read(fake->path, see, &seen), -ENOENT);
}

/* As in a unit with ProtectKernelTunables, which has a thing that cannot be opened in its place. */
static void
a_list_that_is_hidden_here_is_read_as_the_first_process_sees_it(void **state)
{
	struct fake *fake = *state;
	struct seen_symbols seen = {0};

	fake_text(fake, "1/root/proc/kallsyms", "ffffffff81000000 T _stext\n");
	assert_int_equal(kallsyms_read(fake->path, see, &seen), 0);
	assert_string_equal(seen.text, "ffffffff81000000 T _stext ()\n");
}

struct bounds {
	uint64_t start, end;
};

static int
see_bounds(void *context, const struct kallsyms_symbol *symbol)
{
	struct bounds *bounds = context;

	if (strcmp(symbol->name, "_stext") == 0)
		bounds->start = symbol->address;
	if (strcmp(symbol->name, "_etext") == 0)
		bounds->end = symbol->address;
	return 0;
}

static void
this_kernel_has_a_text(void **state)
{
	struct bounds bounds = {0};
	int err = kallsyms_read("/proc", see_bounds, &bounds);

	(void)state;
	if (err)
		skip_because("this kernel does not show its symbols");
	assert_true(bounds.start > 0);
	assert_true(bounds.end > bounds.start);
}

/* ---- the copy ---- */

struct seen_copy {
	char text[512];
	int stop_at; /* this symbol ends the pass */
};

static int
see_copy(void *context, const struct kallsyms_symbol *symbol)
{
	struct seen_copy *seen = context;
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
	struct seen_copy seen = {0};

	(void)state;
	assert_int_equal(kallsyms_copy_visit(copy, see_copy, &seen), 0);
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
	struct seen_copy seen = {0};

	(void)state;
	assert_int_equal(kallsyms_copy_visit(copy, see_copy, &seen), 0);
	assert_string_equal(seen.text, "1000 D _stext ()\n3000 D _etext ()\n");
	kallsyms_copy_free(copy);
}

static void
the_visitor_may_end_it(void **state)
{
	const struct kallsyms_symbol symbols[] = {{1, 't', "a", ""}, {2, 't', "b", ""}, {3, 't', "c", ""}};
	struct kallsyms_copy *copy = copy_of(symbols, 3);
	struct seen_copy seen = {.stop_at = 2};

	(void)state;
	assert_int_equal(kallsyms_copy_visit(copy, see_copy, &seen), 42);
	assert_string_equal(seen.text, "1 t a ()\n2 t b ()\n");
	kallsyms_copy_free(copy);
}

static void
an_empty_copy_has_nothing_to_visit(void **state)
{
	struct kallsyms_copy *copy = copy_of(NULL, 0);
	struct seen_copy seen = {0};

	(void)state;
	assert_int_equal(kallsyms_copy_visit(copy, see_copy, &seen), 0);
	assert_string_equal(seen.text, "");
	kallsyms_copy_free(copy);
}

/* ---- modules ---- */

struct seen_modules {
	size_t count;
	char name[4][MODULE_NAME_SIZE];
	uint64_t address[4], size[4];
};

static int
see_module(void *context, const struct kernel_module *module)
{
	struct seen_modules *seen = context;

	assert_true(seen->count < 4);
	snprintf(seen->name[seen->count], MODULE_NAME_SIZE, "%s", module->name);
	seen->address[seen->count] = module->address;
	seen->size[seen->count] = module->size;
	seen->count++;
	return 0;
}

static int
stop_at_once(void *context, const struct kernel_module *module)
{
	(void)context;
	(void)module;
	return 7;
}

/* What kernel_modules_read() makes of a file with this text. */
static int
read_modules_text(const char *text, kernel_modules_visit *visit, struct seen_modules *seen)
{
	char directory[] = "/tmp/modules_test.XXXXXX";
	char path[64];
	FILE *file;
	int result;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/modules", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	result = kernel_modules_read(directory, visit, seen);
	unlink(path);
	rmdir(directory);
	return result;
}

static void
name_size_and_address_are_read(void **state)
{
	struct seen_modules seen = {0};

	(void)state;
	assert_int_equal(read_modules_text("ext4 1048576 2 - Live 0xffffffffc0201000\n"
	                                   "nf_tables 380928 3 nft_ct,nft_chain_nat, Live 0xffffffffc0800000 (E)\n",
	                                   see_module, &seen),
	                 0);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.name[0], "ext4");
	assert_int_equal(seen.size[0], 1048576);
	assert_int_equal(seen.address[0], 0xffffffffc0201000);
	assert_string_equal(seen.name[1], "nf_tables");
	assert_int_equal(seen.address[1], 0xffffffffc0800000);
}

static void
hidden_addresses_are_said(void **state)
{
	struct seen_modules seen = {0};

	(void)state;
	assert_int_equal(read_modules_text("ext4 1048576 2 - Live 0x0000000000000000\n", see_module, &seen), -EACCES);
	assert_int_equal(seen.count, 0);
}

static void
a_kernel_without_modules_has_none(void **state)
{
	struct seen_modules seen = {0};

	(void)state;
	assert_int_equal(kernel_modules_read("/nonexistent", see_module, &seen), 0);
	assert_int_equal(read_modules_text("", see_module, &seen), 0);
	assert_int_equal(seen.count, 0);
}

static void
lines_of_another_form_are_no_modules(void **state)
{
	struct seen_modules seen = {0};

	(void)state;
	assert_int_equal(read_modules_text("ext4\next4 x 2 - Live 0xffffffffc0201000\n 12 0x1\nxfs 4096 0 - Live\n"
	                                   "loop 40960 0 - Live 0xffffffffc0300000\n",
	                                   see_module, &seen),
	                 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.name[0], "loop");
}

static void
the_visitor_may_end_the_pass(void **state)
{
	(void)state;
	assert_int_equal(read_modules_text("ext4 1048576 2 - Live 0xffffffffc0201000\n", stop_at_once, NULL), 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(symbols_come_with_their_module, setup, teardown),
		cmocka_unit_test_setup_teardown(hidden_addresses_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(a_symbol_at_zero_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_of_another_form_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(the_visitor_can_end_the_pass, setup, teardown),
		cmocka_unit_test_setup_teardown(a_list_that_is_hidden_here_is_read_as_the_first_process_sees_it, setup,
	                                        teardown),
		cmocka_unit_test_setup_teardown(a_kernel_without_the_list_is_an_error, setup, teardown),
		cmocka_unit_test(this_kernel_has_a_text),
		cmocka_unit_test(functions_come_back_as_they_were),
		cmocka_unit_test(data_is_left_out_but_the_bounds_of_the_text_are_not),
		cmocka_unit_test(the_visitor_may_end_it),
		cmocka_unit_test(an_empty_copy_has_nothing_to_visit),
		cmocka_unit_test(name_size_and_address_are_read),
		cmocka_unit_test(hidden_addresses_are_said),
		cmocka_unit_test(a_kernel_without_modules_has_none),
		cmocka_unit_test(lines_of_another_form_are_no_modules),
		cmocka_unit_test(the_visitor_may_end_the_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
