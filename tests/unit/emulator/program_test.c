/* Tests of emulator/program.h. This program stands for a plugin. */
#include "tests/unit/test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulator/program.h"
#include "tests/remove_tree.h"

struct program_fixture {
	char directory[64];
	char path[80];
	struct program program;
};

static int
setup(void **state)
{
	struct program_fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/dcpi-program-XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/it", fixture->directory);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct program_fixture *fixture = *state;

	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

static void
examine(struct program_fixture *fixture, const void *content, size_t size, mode_t mode)
{
	int fd = open(fixture->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	errno = 0;
	program_examine(fixture->path, &fixture->program);
}

static void
examine_text(struct program_fixture *fixture, const char *text)
{
	examine(fixture, text, strlen(text), 0755);
}

static void
a_script_has_an_interpreter_and_one_argument(void **state)
{
	struct program_fixture *fixture = *state;

	examine_text(fixture, "#! /bin/sh  -e -x \t\necho\n");
	assert_int_equal(fixture->program.kind, PROGRAM_SCRIPT);
	assert_string_equal(fixture->program.interpreter, "/bin/sh");
	assert_string_equal(fixture->program.argument, "-e -x");
	examine_text(fixture, "#!/bin/sh\n-e\n");
	assert_string_equal(fixture->program.interpreter, "/bin/sh");
	assert_string_equal(fixture->program.argument, "");
	examine_text(fixture, "#!/bin/sh");
	assert_string_equal(fixture->program.interpreter, "/bin/sh");
	examine_text(fixture, "#! \n");
	assert_int_equal(fixture->program.kind, PROGRAM_OTHER);
}

static void
an_elf_file_has_a_machine(void **state)
{
	struct program_fixture *fixture = *state;
	Elf64_Ehdr header = {.e_machine = EM_AARCH64};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	examine(fixture, &header, sizeof(header), 0755);
	assert_int_equal(fixture->program.kind, PROGRAM_ELF);
	assert_int_equal(fixture->program.machine, EM_AARCH64);
	assert_string_equal(fixture->program.interpreter, "");
	header.e_ident[EI_CLASS] = ELFCLASS32;
	examine(fixture, &header, sizeof(header), 0755);
	assert_int_equal(fixture->program.kind, PROGRAM_OTHER);
	examine(fixture, &header, 20, 0755);
	assert_int_equal(fixture->program.kind, PROGRAM_OTHER);
}

static void
this_program_names_its_dynamic_linker(void **state)
{
	struct program_fixture *fixture = *state;

	program_examine("/proc/self/exe", &fixture->program);
	assert_int_equal(fixture->program.kind, PROGRAM_ELF);
	assert_non_null(strstr(fixture->program.interpreter, "/ld-linux"));
}

static void
what_may_not_be_executed_is_refused_with_the_reason(void **state)
{
	struct program_fixture *fixture = *state;

	examine(fixture, "#!/bin/sh\n", 10, 0644);
	assert_int_equal(fixture->program.kind, PROGRAM_NONE);
	assert_int_equal(errno, EACCES);
	program_examine("/nowhere/at/all", &fixture->program);
	assert_int_equal(fixture->program.kind, PROGRAM_NONE);
	assert_int_equal(errno, ENOENT);
	program_examine(fixture->directory, &fixture->program);
	assert_int_equal(fixture->program.kind, PROGRAM_NONE);
	assert_int_equal(errno, EACCES);
}

static void
one_that_becomes_another_user_is_privileged(void **state)
{
	struct program_fixture *fixture = *state;

	if (geteuid() != 0)
		skip_because("not root, who can give files away");
	examine(fixture, "#!/bin/sh\n", 10, 0755);
	assert_int_equal(chown(fixture->path, 1, 1), 0);
	assert_int_equal(chmod(fixture->path, 04755), 0);
	program_examine(fixture->path, &fixture->program);
	assert_int_equal(fixture->program.kind, PROGRAM_PRIVILEGED);
	assert_int_equal(chmod(fixture->path, 02755), 0);
	program_examine(fixture->path, &fixture->program);
	assert_int_equal(fixture->program.kind, PROGRAM_PRIVILEGED);
}

static void
assert_command(const char **command, const char *const *expected)
{
	size_t i = 0;

	assert_non_null(command);
	for (; expected[i]; i++) {
		assert_non_null(command[i]);
		assert_string_equal(command[i], expected[i]);
	}
	assert_null(command[i]);
	free(command);
}

static void
the_emulator_gets_the_name_and_the_arguments(void **state)
{
	static const char *const arguments[] = {"zero", "one", "two words", NULL};
	static const char *const elf[] = {
		"/q/qemu",   "-plugin", "/d/p.so,cpu=max,comm=676f", "-cpu", "max", "-0", "zero", "/bin/go", "one",
		"two words", NULL};
	static const char *const script[] = {"/q/qemu", "-plugin", "/d/p.so,cpu=max,comm=676f",
	                                     "-cpu",    "max",     "-0",
	                                     "/bin/sh", "/bin/sh", "-e",
	                                     "/bin/go", "one",     "two words",
	                                     NULL};
	static const char *const bare[] = {"/q/qemu", "-plugin", "/d/p.so,cpu=max,comm=676f", "-cpu", "max", "-0", "",
	                                   "/bin/go", NULL};
	const struct emulation emulation = {.emulator = "/q/qemu", .plugin = "/d/p.so,cpu=max", .cpu = "max"};
	struct program program = {.kind = PROGRAM_ELF};
	char plugin[128];

	(void)state;
	assert_command(program_command(&emulation, "/bin/go", &program, arguments, NULL, plugin, sizeof(plugin)), elf);
	assert_command(program_command(&emulation, "/bin/go", &program, NULL, NULL, plugin, sizeof(plugin)), bare);
	program = (struct program){.kind = PROGRAM_SCRIPT, .interpreter = "/bin/sh", .argument = "-e"};
	assert_command(program_command(&emulation, "/bin/go", &program, arguments, NULL, plugin, sizeof(plugin)),
	               script);
}

static void
a_plugin_has_what_later_programs_need(void **state)
{
	struct emulation emulation = {.emulator = "/q/qemu"};
	char plugin[128];

	(void)state;
	program_plugin(&emulation, "/d/p.so", plugin, sizeof(plugin));
	assert_string_equal(plugin, "/d/p.so");
	emulation.cpu = "max";
	emulation.prefix = "/usr/there";
	emulation.seed = "7";
	program_plugin(&emulation, "/d/p.so", plugin, sizeof(plugin));
	assert_string_equal(plugin, "/d/p.so,cpu=max,prefix=/usr/there,seed=7");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
	emulation = args.emulation;
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
	emulation = args.emulation;
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
		TEST(a_script_has_an_interpreter_and_one_argument),
		TEST(an_elf_file_has_a_machine),
		TEST(this_program_names_its_dynamic_linker),
		TEST(what_may_not_be_executed_is_refused_with_the_reason),
		TEST(one_that_becomes_another_user_is_privileged),
		cmocka_unit_test(a_plugin_has_what_later_programs_need),
		cmocka_unit_test(the_emulator_gets_the_name_and_the_arguments),
		cmocka_unit_test(a_name_is_told_in_hexadecimal),
		cmocka_unit_test(options_go_on_to_the_next_program_but_for_the_name),
		cmocka_unit_test(what_was_not_said_is_not_there),
		cmocka_unit_test(the_places_of_plugin_and_emulator_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
