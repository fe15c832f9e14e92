#include "tests/unit/process/fake.h"

#include <errno.h>

#include "process/kallsyms.h"

struct seen {
	char text[1024];
	size_t used;
	int stop_at; /* this symbol ends the pass */
};

static int
see(void *context, const struct kallsyms_symbol *symbol)
{
	struct seen *seen = context;

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
read_text(void **state, const char *text, struct seen *seen)
{
	struct fake *fake = *state;

	fake_text(fake, "kallsyms", text);
	return kallsyms_read(fake->path, see, seen);
}

static void
symbols_come_with_their_module(void **state)
{
	struct seen seen = {0};

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
	struct seen seen = {0};

	assert_int_equal(read_text(state, "0000000000000000 T _stext\n0000000000000000 t foo\t[ext4]\n", &seen),
	                 -EACCES);
	assert_string_equal(seen.text, "");
}

static void
a_symbol_at_zero_is_left_out(void **state)
{
	struct seen seen = {0};

	assert_int_equal(read_text(state, "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\n", &seen),
	                 0);
	assert_string_equal(seen.text, "ffffffff81000000 T _stext ()\n");
}

static void
lines_of_another_form_are_left_out(void **state)
{
	struct seen seen = {0};

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
	struct seen seen = {.stop_at = 1};

	assert_int_equal(read_text(state, "1 T one\n2 T two\n", &seen), 42);
	assert_string_equal(seen.text, "1 T one ()\n");
}

static void
a_kernel_without_the_list_is_an_error(void **state)
{
	struct fake *fake = *state;
	struct seen seen = {0};

	assert_int_equal(kallsyms_read(fake->path, see, &seen), -ENOENT);
}

/* As in a unit with ProtectKernelTunables, which has a thing that cannot be opened in its place. */
static void
a_list_that_is_hidden_here_is_read_as_the_first_process_sees_it(void **state)
{
	struct fake *fake = *state;
	struct seen seen = {0};

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
