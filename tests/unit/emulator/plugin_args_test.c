/* Tests of emulator/plugin_args.h. This program stands for a plugin. */
#include "tests/unit/test.h"

#include <string.h>
#include <unistd.h>

#include "emulator/plugin_args.h"

static const void *
self(void)
{
	return (const void *)(uintptr_t)self;
}

static int
read_of(struct plugin_args *args, const char *const options[])
{
	int count = 0;

	while (options[count])
		count++;
	return plugin_args_read(args, count, (char **)(uintptr_t)options, self());
}

#define READ(args, ...) read_of(args, (const char *const[]){__VA_ARGS__, NULL})

static void
a_name_is_told_in_hexadecimal(void **state)
{
	static struct plugin_args args;

	(void)state;
	assert_int_equal(READ(&args, "comm=612c62"), 0);
	assert_string_equal(args.comm, "a,b");
	assert_int_equal(READ(&args, "comm=zz"), 0);
	assert_string_equal(args.comm, "");
	assert_int_equal(READ(&args, "comm=6162636465666768696a6b6c6d6e6f7071"), 0);
	assert_string_equal(args.comm, "abcdefghijklmno");
}

static void
options_go_on_to_the_next_program_but_for_the_name(void **state)
{
	static struct plugin_args args;
	struct emulation emulation;
	const char *options;

	(void)state;
	assert_int_equal(READ(&args, "comm=6162", "cpu=max", "prefix=/usr/there", "seed=7"), 0);
	emulation = plugin_args_emulation(&args);
	assert_string_equal(emulation.cpu, "max");
	assert_string_equal(emulation.prefix, "/usr/there");
	assert_string_equal(emulation.seed, "7");
	options = strchr(emulation.plugin, ',');
	assert_non_null(options);
	assert_string_equal(options, ",cpu=max,prefix=/usr/there,seed=7");
}

static void
what_was_not_said_is_not_there(void **state)
{
	static struct plugin_args args;
	struct emulation emulation;

	(void)state;
	assert_int_equal(READ(&args, "other=1"), 0);
	emulation = plugin_args_emulation(&args);
	assert_null(emulation.cpu);
	assert_null(emulation.prefix);
	assert_null(emulation.seed);
	assert_null(strchr(emulation.plugin, ','));
}

/* The directory is the plugin's, as it was named; the emulator is this process's program. */
static void
the_places_of_plugin_and_emulator_are_found(void **state)
{
	static struct plugin_args args;
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	(void)state;
	assert_true(length > 0);
	program[length] = '\0';
	assert_int_equal(READ(&args, "cpu=max"), 0);
	assert_string_equal(args.emulator, program);
	assert_int_equal(strncmp(args.plugin, args.directory, strlen(args.directory)), 0);
	assert_int_equal(args.plugin[strlen(args.directory)], '/');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_told_in_hexadecimal),
		cmocka_unit_test(options_go_on_to_the_next_program_but_for_the_name),
		cmocka_unit_test(what_was_not_said_is_not_there),
		cmocka_unit_test(the_places_of_plugin_and_emulator_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
