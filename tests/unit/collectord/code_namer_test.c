/* A real process that tells what it made, the real dcpi-capture, a database. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectord/code_namer.h"
#include "collectord/machine.h"
#include "profile/captured.h"
#include "tests/remove_tree.h"

#define BASE       0x7f0000200000
#define PATIENCE   UINT64_C(60000000000)
#define GENERATION 9

struct code_namer_fixture {
	char directory[64], program[PATH_MAX], map[64], said[512];
	struct log log;
	struct jit_files *files;
	struct capture_thread *thread;
	struct code_namer *namer;
	struct profile *profile;
	struct image image;
	pid_t child;
	unsigned calls;
};

static void
hear(void *context, enum log_level level, const char *text)
{
	struct code_namer_fixture *fixture = context;
	const size_t length = strlen(fixture->said);

	(void)level;
	snprintf(fixture->said + length, sizeof(fixture->said) - length, "%s\n", text);
}

static void
be_ready(void *context)
{
	struct code_namer_fixture *fixture = context;

	fixture->calls++;
}

static void
write_map(const struct code_namer_fixture *fixture, const char *text)
{
	int fd = open(fixture->map, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* The image is in the database, with a sample. */
static void
store_image(struct code_namer_fixture *fixture)
{
	struct epoch epoch = {.start_ns = 1000, .event_count = 1};
	struct slice slice = {.start_ns = 1000, .end_ns = 2000, .event_count = 1};
	const struct context context = {.comm = "node", .cgroup = "", .label = ""};
	const struct image *images[] = {&fixture->image};
	const struct context *contexts[] = {&context};
	const struct tally_entry entry = {.offset = 0x10, .count = 1};
	const struct profile_batch batch = {
		.entries = &entry,
		.entry_count = 1,
		.images = images,
		.image_count = 1,
		.contexts = contexts,
		.context_count = 1,
		.slice = &slice,
	};

	snprintf(epoch.events[0].name, EVENT_NAME_SIZE, "cpu-clock");
	assert_int_equal(profile_begin_epoch(fixture->profile, &epoch), 0);
	slice.epoch = epoch.id;
	slice.events[0].samples = 1;
	assert_int_equal(profile_flush(fixture->profile, &batch), 0);
}

static void
find_program(struct code_namer_fixture *fixture)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(length > 0);
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(fixture->program, sizeof(fixture->program), "%.3000s/../../../lib/dcpi/dcpi-capture", self);
}

static void
start_namer(struct code_namer_fixture *fixture, const char *program)
{
	struct code_namer_options options = {
		.files = fixture->files,
		.ready = be_ready,
		.context = fixture,
		.log = &fixture->log,
	};

	fixture->thread = options.thread = capture_thread_new(program);
	assert_non_null(fixture->thread);
	fixture->namer = code_namer_new(&options);
	assert_non_null(fixture->namer);
}

static int
setup(void **state)
{
	const struct profile_options options = {.write = true, .size_limit = 16 << 20};
	struct code_namer_fixture *fixture = calloc(1, sizeof(*fixture));
	struct jit_process maker = {.generation = GENERATION, .base = BASE};

	assert_non_null(fixture);
	find_program(fixture);
	fixture->log = (struct log){.hook = hear, .context = fixture, .limit = LOG_LEVEL_INFO};
	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/namer_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	assert_int_equal(profile_open(fixture->directory, &options, &fixture->profile), 0);
	fixture->child = fork();
	if (fixture->child == 0)
		for (;;)
			pause();
	assert_true(fixture->child > 0);
	snprintf(fixture->map, sizeof(fixture->map), "/tmp/perf-%d.map", (int)fixture->child);
	write_map(fixture, "7f0000200000 40 first\n7f0000209000 40 elsewhere\n");
	fixture->image = (struct image){
		.kind = IMAGE_JIT,
		.inode = (uint64_t)fixture->child,
		.inode_generation = GENERATION,
		.path = "[jit:node]",
	};
	store_image(fixture);
	fixture->files = jit_files_new("/proc", NULL);
	maker.pid = (uint32_t)fixture->child;
	maker.begun_ns = machine_clock_ns(CLOCK_MONOTONIC);
	jit_files_add(fixture->files, &maker);
	jit_files_wait(fixture->files, PATIENCE);
	assert_true(jit_files_has_map(fixture->files, &fixture->image));
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct code_namer_fixture *fixture = *state;

	capture_thread_free(fixture->thread);
	code_namer_free(fixture->namer);
	jit_files_free(fixture->files);
	kill(fixture->child, SIGKILL);
	waitpid(fixture->child, NULL, 0);
	unlink(fixture->map);
	profile_close(fixture->profile);
	remove_tree(fixture->directory);
	free(fixture);
	return 0;
}

static void
note(struct code_namer_fixture *fixture, uint64_t offset)
{
	const struct image *images[] = {&fixture->image};
	const struct tally_entry entry = {.offset = offset, .count = 1};
	const struct flush flush = {.images = images, .image_end = 1, .entries = &entry, .entry_count = 1};
	const struct flush_hook hook = code_namer_hook(fixture->namer);

	hook.after(hook.context, fixture->profile, &flush);
}

static void
have_named(struct code_namer_fixture *fixture)
{
	code_namer_drain(fixture->namer, PATIENCE);
	code_namer_store(fixture->namer, fixture->profile);
}

/* Names in the database, one a line with its offset. */
static void
assert_names(struct code_namer_fixture *fixture, const char *expected)
{
	struct profile_symbol *symbols;
	char text[512] = "";
	uint32_t number;
	size_t count;
	int err;

	assert_int_equal(profile_find_image(fixture->profile, &fixture->image, &number), 0);
	err = profile_get_symbols(fixture->profile, number, &symbols, &count);
	if (err == -ENOENT) {
		assert_string_equal("", expected);
		return;
	}
	assert_int_equal(err, 0);
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%llx %s\n",
		         (unsigned long long)symbols[i].offset, symbols[i].name);
	profile_free_symbols(symbols);
	assert_string_equal(text, expected);
}

static void
what_was_sampled_is_named(void **state)
{
	struct code_namer_fixture *fixture = *state;

	start_namer(fixture, fixture->program);
	note(fixture, 0x10);
	have_named(fixture);
	assert_names(fixture, "0 first\n");
	assert_true(fixture->calls > 0);
	note(fixture, 0x9010);
	have_named(fixture);
	assert_names(fixture, "0 first\n9000 elsewhere\n");
	assert_string_equal(fixture->said, "");
}

/* Many only write when they end. */
static void
what_a_process_tells_later_is_named_later(void **state)
{
	struct code_namer_fixture *fixture = *state;

	start_namer(fixture, fixture->program);
	note(fixture, 0x10);
	note(fixture, 0x50010);
	have_named(fixture);
	assert_names(fixture, "0 first\n");
	write_map(fixture, "7f0000250000 40 late\n");
	kill(fixture->child, SIGKILL);
	have_named(fixture);
	assert_names(fixture, "0 first\n50000 late\n");
}

/* It has another image only when ten seconds have passed; until then, the later name is as good as the first. */
static void
memory_that_is_used_again_keeps_its_first_name_for_once(void **state)
{
	struct code_namer_fixture *fixture = *state;

	start_namer(fixture, fixture->program);
	note(fixture, 0x10);
	have_named(fixture);
	write_map(fixture, "7f0000200000 40 second\n");
	have_named(fixture);
	assert_names(fixture, "0 first\n");
	have_named(fixture);
	assert_names(fixture, "0 second\n");
}

static void
an_image_of_anything_else_is_none_of_its_business(void **state)
{
	struct code_namer_fixture *fixture = *state;

	start_namer(fixture, fixture->program);
	fixture->image.kind = IMAGE_USER;
	note(fixture, 0x10);
	fixture->image.kind = IMAGE_JIT;
	have_named(fixture);
	assert_names(fixture, "");
	assert_int_equal(fixture->calls, 0);
}

static void
a_database_that_is_another_is_named_again(void **state)
{
	struct code_namer_fixture *fixture = *state;
	struct flush_hook hook;

	start_namer(fixture, fixture->program);
	hook = code_namer_hook(fixture->namer);
	note(fixture, 0x10);
	code_namer_drain(fixture->namer, PATIENCE);
	code_namer_store(fixture->namer, fixture->profile);
	code_namer_drain(fixture->namer, PATIENCE);
	assert_false(code_namer_has_results(fixture->namer)); /* nothing is new */
	hook.begin_database(hook.context);
	code_namer_drain(fixture->namer, PATIENCE);
	assert_true(code_namer_has_results(fixture->namer));
}

static void
what_was_taken_can_be_stored_when_it_has_stopped(void **state)
{
	struct code_namer_fixture *fixture = *state;

	start_namer(fixture, fixture->program);
	note(fixture, 0x10);
	code_namer_drain(fixture->namer, PATIENCE);
	capture_thread_stop(fixture->thread);
	code_namer_store(fixture->namer, fixture->profile);
	assert_names(fixture, "0 first\n");
}

/* Said once, and not tried for ever. */
static void
a_process_that_dies_over_it_is_said_once(void **state)
{
	struct code_namer_fixture *fixture = *state;
	char expected[256];

	start_namer(fixture, "/bin/false");
	for (uint64_t i = 0; i < 6; i++) {
		note(fixture, 0x10 + 0x1000 * i);
		have_named(fixture);
	}
	assert_names(fixture, "");
	snprintf(expected, sizeof(expected),
	         "[jit:node] of process %d: what it tells of its code cannot be read: No child processes\n",
	         (int)fixture->child);
	assert_string_equal(fixture->said, expected);
}

/* A process chooses what it is called. */
static void
a_name_does_not_make_lines_in_the_log(void **state)
{
	struct code_namer_fixture *fixture = *state;
	char expected[256];

	fixture->image.path = "[jit:no\nde]";
	start_namer(fixture, "/bin/false");
	for (uint64_t i = 0; i < 3; i++) {
		note(fixture, 0x10 + 0x1000 * i);
		have_named(fixture);
	}
	snprintf(expected, sizeof(expected),
	         "[jit:no\\x0ade] of process %d: what it tells of its code cannot be read: No child processes\n",
	         (int)fixture->child);
	assert_string_equal(fixture->said, expected);
}

static void
lines_that_make_no_sense_are_said_once(void **state)
{
	struct code_namer_fixture *fixture = *state;
	char expected[512];

	write_map(fixture, "this is\nno map\n");
	start_namer(fixture, fixture->program);
	note(fixture, 0x10);
	have_named(fixture);
	assert_names(fixture, "0 first\n");
	write_map(fixture, "nor is this\n7f0000209000 40 elsewhere\n");
	note(fixture, 0x9010);
	have_named(fixture);
	assert_names(fixture, "0 first\n9000 elsewhere\n");
	snprintf(expected, sizeof(expected),
	         "[jit:node] of process %d: what it tells of its code has lines or records that make no sense (2), "
	         "which are left out (a jitdump ends there): functions may lack names; look into its perf-PID.map or "
	         "jit-PID.dump\n",
	         (int)fixture->child);
	assert_string_equal(fixture->said, expected);
}

/* 1,048,576 functions are read; these are 65,536 more. */
static void
a_map_beyond_its_limit_is_said_once(void **state)
{
	static const char line[] = "1 1 a\n";
	const size_t length = strlen(line), count = 65536;
	struct code_namer_fixture *fixture = *state;
	char *lines = malloc(count * length + 1);
	char expected[512];

	assert_non_null(lines);
	for (size_t i = 0; i < count; i++)
		memcpy(lines + i * length, line, length + 1);
	for (size_t i = 0; i < 17; i++)
		write_map(fixture, lines);
	free(lines);
	start_namer(fixture, fixture->program);
	for (uint64_t i = 0; i < 2; i++) {
		note(fixture, 0x10 + 0x9000 * i);
		have_named(fixture);
	}
	assert_names(fixture, "0 first\n9000 elsewhere\n");
	snprintf(
		expected, sizeof(expected),
		"[jit:node] of process %d: it tells more of its code than is read (dcpid(8) has the limits): functions "
		"that it reported last have no names; a new process of the program begins a new file\n",
		(int)fixture->child);
	assert_string_equal(fixture->said, expected);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_sampled_is_named),
		TEST(what_a_process_tells_later_is_named_later),
		TEST(memory_that_is_used_again_keeps_its_first_name_for_once),
		TEST(an_image_of_anything_else_is_none_of_its_business),
		TEST(a_database_that_is_another_is_named_again),
		TEST(what_was_taken_can_be_stored_when_it_has_stopped),
		TEST(a_process_that_dies_over_it_is_said_once),
		TEST(a_name_does_not_make_lines_in_the_log),
		TEST(lines_that_make_no_sense_are_said_once),
		TEST(a_map_beyond_its_limit_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
