#include "tests/unit/process/fake.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "process/proc.h"

/* ---- lines ---- */

static struct line_reader *
reader_of(void **state, const char *text, size_t size)
{
	struct line_reader *reader = *state;
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	line_reader_init(reader, fd);
	return reader;
}

static int
setup(void **state)
{
	*state = malloc(sizeof(struct line_reader));
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	close(((struct line_reader *)*state)->fd);
	free(*state);
	return 0;
}

static void
each_line_is_given_without_its_newline(void **state)
{
	struct line_reader *reader = reader_of(state, "one\n\ntwo\nlast", 13);
	char *line;

	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "one");
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "");
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "two");
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "last");
	assert_int_equal(line_reader_next(reader, &line), 0);
	assert_int_equal(line_reader_next(reader, &line), 0);
}

static void
lines_meet_the_end_of_the_buffer_whole(void **state)
{
	size_t size = 0, capacity = 400000;
	char *text = malloc(capacity), expected[64], *line;
	struct line_reader *reader;
	unsigned count = 0;

	while (size + 64 < capacity)
		size += (size_t)snprintf(text + size, capacity - size, "line %u of many\n", count++);
	reader = reader_of(state, text, size);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(line_reader_next(reader, &line), 1);
		snprintf(expected, sizeof(expected), "line %u of many", i);
		assert_string_equal(line, expected);
	}
	assert_int_equal(line_reader_next(reader, &line), 0);
	free(text);
}

static void
a_line_too_long_is_left_out_whole(void **state)
{
	size_t size = 3 * LINE_READER_SIZE;
	char *text = malloc(size + 16), *line;
	struct line_reader *reader;

	memcpy(text, "before\n", 7);
	memset(text + 7, 'x', size - 7);
	memcpy(text + size, "\nafter\n", 7);
	reader = reader_of(state, text, size + 7);
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "before");
	assert_int_equal(line_reader_next(reader, &line), 1);
	assert_string_equal(line, "after");
	assert_int_equal(line_reader_next(reader, &line), 0);
	free(text);
}

static void
an_error_of_reading_is_given(void **state)
{
	struct line_reader *reader = *state;
	char *line;

	line_reader_init(reader, open("/", O_RDONLY | O_CLOEXEC));
	assert_int_equal(line_reader_next(reader, &line), -EISDIR);
}

static void
numbers_are_read_up_to_64_bits(void **state)
{
	const char *at = "fFfFffffffffffff-1";
	uint64_t value;

	(void)state;
	assert_true(proc_text_hex(&at, &value));
	assert_true(value == UINT64_MAX);
	assert_string_equal(at, "-1");
	assert_false(proc_text_hex(&at, &value));
	at = "10000000000000000";
	assert_false(proc_text_hex(&at, &value));
	at = "18446744073709551615 ";
	assert_true(proc_text_decimal(&at, &value));
	assert_true(value == UINT64_MAX);
	at = "18446744073709551616";
	assert_false(proc_text_decimal(&at, &value));
	at = "a";
	assert_false(proc_text_decimal(&at, &value));
}

/* ---- /proc/PID/stat ---- */

/* What Linux 6.1 shows, but for the name. */
#define BEHIND_NAME                                                                                                    \
	" S 812 4711 4711 34816 4711 4194304 98 0 0 0 1 2 0 0 20 0 1 0 7654321 2703360 236 18446744073709551615 1 1 "  \
	"0 0 0 0 "                                                                                                     \
	"0 0 65536 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static int
parse_stat(const char *text, struct proc_stat *birth)
{
	return proc_stat_parse(text, strlen(text), birth);
}

static void
parent_and_start_are_fields_4_and_22(void **state)
{
	struct proc_stat birth;

	(void)state;
	assert_int_equal(parse_stat("4711 (sleep)" BEHIND_NAME, &birth), 0);
	assert_int_equal(birth.parent, 812);
	assert_int_equal(birth.start_ticks, 7654321);
}

/* A process may call itself anything. */
static void
a_name_with_parentheses_and_numbers_misleads_nobody(void **state)
{
	struct proc_stat birth;

	(void)state;
	assert_int_equal(parse_stat("4711 (a) S 1 2 3) 4 )" BEHIND_NAME, &birth), 0);
	assert_int_equal(birth.parent, 812);
	assert_int_equal(birth.start_ticks, 7654321);
}

static void
what_is_cut_off_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"4711 (sleep",
		"4711 (sleep)",
		"4711 (sleep) S 812",
		"4711 (sleep) S -1 2",
		"4711 (sleep) S 812 4711 4711 34816 4711 4194304 98 0 0 0 1 2 0 0 20 0 1 0 7654321"};
	struct proc_stat birth;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse_stat(wrong[i], &birth), -EINVAL);
}

static void
a_child_of_ours_began_just_now(void **state)
{
	struct timespec before, after;
	struct proc_stat birth;
	int64_t start_ns;
	pid_t child;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &before);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(proc_stat_read("/proc", (uint32_t)child, &birth), 0);
	assert_int_equal(birth.parent, getpid());
	start_ns = proc_stat_monotonic_ns(birth.start_ticks);
	assert_true(start_ns >= (int64_t)before.tv_sec * 1000000000 + before.tv_nsec - 10000000); /* a tick */
	assert_true(start_ns <= (int64_t)after.tv_sec * 1000000000 + after.tv_nsec);
	/* what the machine has slept is read twice, some nanoseconds apart */
	assert_true(llabs((int64_t)(proc_stat_ticks((uint64_t)start_ns) - birth.start_ticks)) <= 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(proc_stat_read("/proc", (uint32_t)child, &birth) < 0);
}

static void
a_pid_namespace_is_known_by_its_number(void **state)
{
	char procfs[64] = "/tmp/dcpi-test.XXXXXX", path[128];
	const char *folders[] = {"", "/self", "/self/ns"};

	(void)state;
	assert_non_null(mkdtemp(procfs));
	for (int i = 1; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", procfs, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/self/ns/pid", procfs);
	assert_false(proc_text_is_nested(procfs)); /* not to be told: not claimed */
	assert_int_equal(symlink("pid:[4026531836]", path), 0);
	assert_false(proc_text_is_nested(procfs));
	unlink(path);
	assert_int_equal(symlink("pid:[4026532300]", path), 0);
	assert_true(proc_text_is_nested(procfs));
	unlink(path);
	for (int i = 2; i >= 0; i--) {
		snprintf(path, sizeof(path), "%s%s", procfs, folders[i]);
		rmdir(path);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_line_is_given_without_its_newline, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_meet_the_end_of_the_buffer_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_too_long_is_left_out_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(an_error_of_reading_is_given, setup, teardown),
		cmocka_unit_test(numbers_are_read_up_to_64_bits),
		cmocka_unit_test(parent_and_start_are_fields_4_and_22),
		cmocka_unit_test(a_name_with_parentheses_and_numbers_misleads_nobody),
		cmocka_unit_test(what_is_cut_off_is_refused),
		cmocka_unit_test(a_child_of_ours_began_just_now),
		cmocka_unit_test(a_pid_namespace_is_known_by_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
