/* A fault executes this program again; what it then finds, it prints, and the test reads. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"
#include "collectord/damage_restart.h"
#include "tests/unit/test.h"

static char *const arguments[] = {(char *)"damage_restart_test", NULL};

static int
print_what_is_left(void)
{
	struct damage_restart_message message;

	if (damage_restart_read_message(&message))
		return 1;
	printf("%s|%s|%" PRIu64 "|%d|%d|%d", message.damaged ? message.damaged : "", message.label, message.end_ns,
	       message.was_leaving, message.status, getenv("DCPID_DAMAGED") || getenv("DCPID_LABEL"));
	free(message.damaged);
	return 0;
}

static void
fault(void)
{
	struct guard guard = {.subject = "db", .claim = "broken", .advice = "anew", .status = 3, .begins_anew = true};
	volatile char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	guard_enter(&guard);
	*nothing = 1;
}

/* What the program that is executed after `live` finds. */
static void
after(void (*live)(struct damage_restart *restart), char said[256])
{
	struct damage_restart restart;
	ssize_t size;
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		if (damage_restart_prepare(&restart, "/var/lib/dcpi", arguments))
			_exit(1);
		live(&restart);
		fault();
		_exit(1);
	}
	close(ends[1]);
	size = read(ends[0], said, 255);
	assert_true(size >= 0);
	said[size] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void
live_on(struct damage_restart *restart)
{
	damage_restart_set_label(restart, "first");
	damage_restart_set_end(restart, UINT64_C(123456789012345));
	damage_restart_set_label(restart, "second");
	damage_restart_set_label(restart, "third = 3");
}

static void
live_and_leave(struct damage_restart *restart)
{
	damage_restart_set_label(restart, "");
	damage_restart_set_exit(restart, 1);
}

static void
live_in_peace(struct damage_restart *restart)
{
	(void)restart;
}

static void
the_label_and_the_end_outlive_a_fault(void **state)
{
	char said[256];

	(void)state;
	after(live_on, said);
	assert_string_equal(said, "/var/lib/dcpi|third = 3|123456789012345|0|0|0");
	after(live_in_peace, said);
	assert_string_equal(said, "/var/lib/dcpi||0|0|0|0");
}

static void
what_was_leaving_leaves_with_the_status_it_would_have_had(void **state)
{
	char said[256];

	(void)state;
	after(live_and_leave, said);
	assert_string_equal(said, "/var/lib/dcpi||0|1|1|0");
}

static void
without_a_fault_there_is_no_message_whatever_the_environment_says(void **state)
{
	struct damage_restart_message message;

	(void)state;
	setenv("DCPID_LABEL", "somebody's", 1);
	setenv("DCPID_LEAVING", "1", 1);
	assert_int_equal(damage_restart_read_message(&message), 0);
	assert_null(message.damaged);
	assert_string_equal(message.label, "");
	assert_false(message.was_leaving);
	assert_null(getenv("DCPID_LABEL"));
	assert_null(getenv("DCPID_LEAVING"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_label_and_the_end_outlive_a_fault),
		cmocka_unit_test(what_was_leaving_leaves_with_the_status_it_would_have_had),
		cmocka_unit_test(without_a_fault_there_is_no_message_whatever_the_environment_says),
	};

	if (getenv("DCPID_DAMAGED"))
		return print_what_is_left();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
