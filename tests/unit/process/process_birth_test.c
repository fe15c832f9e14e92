#include "tests/unit/process/fake.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "process/process_birth.h"

/* What Linux 6.1 shows, but for the name. */
#define BEHIND_NAME                                                                                                    \
	" S 812 4711 4711 34816 4711 4194304 98 0 0 0 1 2 0 0 20 0 1 0 7654321 2703360 236 18446744073709551615 1 1 "  \
	"0 0 0 0 "                                                                                                     \
	"0 0 65536 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static int
parse(const char *text, struct process_birth *birth)
{
	return process_birth_parse(text, strlen(text), birth);
}

static void
parent_and_start_are_fields_4_and_22(void **state)
{
	struct process_birth birth;

	(void)state;
	assert_int_equal(parse("4711 (sleep)" BEHIND_NAME, &birth), 0);
	assert_int_equal(birth.parent, 812);
	assert_int_equal(birth.start_ticks, 7654321);
}

/* A process may call itself anything. */
static void
a_name_with_parentheses_and_numbers_misleads_nobody(void **state)
{
	struct process_birth birth;

	(void)state;
	assert_int_equal(parse("4711 (a) S 1 2 3) 4 )" BEHIND_NAME, &birth), 0);
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
	struct process_birth birth;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse(wrong[i], &birth), -EINVAL);
}

static void
a_child_of_ours_began_just_now(void **state)
{
	struct timespec before, after;
	struct process_birth birth;
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
	assert_int_equal(process_birth_read("/proc", (uint32_t)child, &birth), 0);
	assert_int_equal(birth.parent, getpid());
	start_ns = process_birth_monotonic_ns(birth.start_ticks);
	assert_true(start_ns >= (int64_t)before.tv_sec * 1000000000 + before.tv_nsec - 10000000); /* a tick */
	assert_true(start_ns <= (int64_t)after.tv_sec * 1000000000 + after.tv_nsec);
	/* what the machine has slept is read twice, some nanoseconds apart */
	assert_true(llabs((int64_t)(process_birth_ticks((uint64_t)start_ns) - birth.start_ticks)) <= 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(process_birth_read("/proc", (uint32_t)child, &birth) < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parent_and_start_are_fields_4_and_22),
		cmocka_unit_test(a_name_with_parentheses_and_numbers_misleads_nobody),
		cmocka_unit_test(what_is_cut_off_is_refused),
		cmocka_unit_test(a_child_of_ours_began_just_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
