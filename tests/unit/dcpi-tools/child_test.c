#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dcpi-tools/common/child.h"

static int
run_shell(struct child *child, const char *script)
{
	char shell[] = "sh", option[] = "-c", text[256];
	char *const command[] = {shell, option, text, NULL};

	assert_true(snprintf(text, sizeof(text), "%s", script) < (int)sizeof(text));
	return child_run(child, command);
}

static void
a_program_is_found_as_a_shell_would_and_its_end_is_kept(void **state)
{
	struct child child = {0};

	(void)state;
	assert_int_equal(run_shell(&child, "exit 7"), 0);
	assert_true(WIFEXITED(child.status));
	assert_int_equal(WEXITSTATUS(child.status), 7);
	assert_int_equal(child_exit_status(child.status, 3), 7);
	assert_int_equal(run_shell(&child, "exit 0"), 0);
	assert_int_equal(child_exit_status(child.status, 3), 3);
	assert_int_equal(run_shell(&child, "kill -KILL $$"), 0);
	assert_int_equal(WTERMSIG(child.status), SIGKILL);
}

static void
what_cannot_be_executed_says_why(void **state)
{
	char *const missing[] = {(char[]){"/nowhere/program"}, NULL}, *const directory[] = {(char[]){"/etc"}, NULL};
	struct child child = {0};

	(void)state;
	assert_int_equal(child_run(&child, missing), -ENOENT);
	assert_int_equal(child_run(&child, directory), -EACCES);
}

static int
refuse(void *context)
{
	*(pid_t *)context = getpid(); /* in its own memory */
	return 125;
}

static void
a_beginning_that_fails_ends_it(void **state)
{
	pid_t seen = 0;
	struct child child = {.begin = refuse, .begin_context = &seen};

	(void)state;
	assert_int_equal(run_shell(&child, "exit 7"), 125);
	assert_int_equal(seen, 0);
}

/* Prints its name and nothing else. */
static int
write_pid(void *context)
{
	const pid_t pid = getpid();

	return write(*(int *)context, &pid, sizeof(pid)) == sizeof(pid) ? 0 : 1;
}

static void
who_begins_becomes_the_program(void **state)
{
	int ends[2];
	char script[64], text[32] = "";
	struct child child = {.begin = write_pid, .begin_context = &ends[1]};
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	snprintf(script, sizeof(script), "echo $$ >&%d", ends[1]);
	assert_int_equal(run_shell(&child, script), 0);
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_int_equal(strtol(text, NULL, 10), pid);
	close(ends[0]);
	close(ends[1]);
}

static void
quiet_output_goes_nowhere(void **state)
{
	struct child child = {.is_quiet = true};
	int ends[2], kept = dup(STDOUT_FILENO);
	char text[8];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	fflush(stdout);
	dup2(ends[1], STDOUT_FILENO);
	assert_int_equal(run_shell(&child, "echo loud"), 0);
	dup2(kept, STDOUT_FILENO);
	assert_int_equal(read(ends[0], text, sizeof(text)), -1);
	close(kept);
	close(ends[0]);
	close(ends[1]);
}

static void
what_it_took_is_measured(void **state)
{
	struct child child = {0};

	(void)state;
	assert_int_equal(run_shell(&child, "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"), 0);
	assert_true(child.cpu_ns > 1000000);
	assert_true(child.end_ns > child.start_ns);
}

/* What shells do with children that nobody waits for. */
static void
it_ends_also_where_children_are_ignored(void **state)
{
	struct child child = {0};

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(run_shell(&child, "exit 7"), 0);
	assert_int_equal(WEXITSTATUS(child.status), 7);
	assert_ptr_equal(signal(SIGCHLD, SIG_DFL), SIG_IGN);
}

static void
the_program_finds_signals_as_they_were(void **state)
{
	/* SIGCHLD is the 17th: the lowest bit of the fifth digit from the right */
	char program[] = "grep", quiet[] = "-q", file[] = "/proc/self/status", ignored[] = "^SigIgn:.*[13579bdf]....$",
	     blocked[] = "^SigBlk:.*0000000000000000$";
	char *const ignores[] = {program, quiet, ignored, file, NULL}, *const blocks[] = {program, quiet, blocked, file,
	                                                                                  NULL};
	struct child child = {0};

	(void)state;
	assert_int_equal(child_run(&child, blocks), 0);
	assert_int_equal(child.status, 0);
	assert_int_equal(child_run(&child, ignores), 0);
	assert_int_equal(WEXITSTATUS(child.status), 1);
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(child_run(&child, ignores), 0);
	assert_int_equal(child.status, 0);
	signal(SIGCHLD, SIG_DFL);
}

static void
a_signal_that_is_sent_to_us_goes_to_it(void **state)
{
	struct child child = {0};

	(void)state;
	assert_int_equal(run_shell(&child, "trap 'kill $!; exit 9' TERM; sleep 20 & (kill -TERM $PPID); wait; exit 1"),
	                 0);
	assert_int_equal(WEXITSTATUS(child.status), 9);
}

/* Whether the program hears of it or not; a signal that asks for something else is none. */
static void
that_we_were_asked_to_end_is_known(void **state)
{
	struct child child = {0};

	(void)state;
	assert_int_equal(run_shell(&child, "trap '' TERM; kill -USR1 $PPID; kill -TERM $PPID; exit 0"), 0);
	assert_int_equal(child.asked, SIGTERM);
	assert_int_equal(run_shell(&child, "trap '' USR1; kill -USR1 $PPID; exit 0"), 0);
	assert_int_equal(child.asked, 0);
}

/* As a terminal does it: the program has not begun yet, and the kernel tells whom there is. */
static int
run_interrupted(void)
{
	sigset_t before, pending;
	struct child child = {.mask = &before};

	exit_signals_block(&before);
	if (write(STDOUT_FILENO, "ready", 5) != 5)
		return 1;
	do {
		sigpending(&pending);
	} while (!sigismember(&pending, SIGINT));
	if (run_shell(&child, "sleep 20"))
		return 2;
	return child.asked == SIGINT && WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGINT ? 0 : 3;
}

static void
who_is_interrupted_before_runs_nothing_to_its_end(void **state)
{
	char text[8];
	int terminal, status;
	pid_t pid = forkpty(&terminal, NULL, NULL, NULL);

	(void)state;
	if (pid == 0)
		_exit(run_interrupted());
	assert_true(pid > 0);
	assert_int_equal(read(terminal, text, 5), 5);
	assert_int_equal(write(terminal, "\003", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(terminal);
}

static void
what_we_block_is_not_blocked_for_it(void **state)
{
	char program[] = "grep", quiet[] = "-q", file[] = "/proc/self/status",
	     blocked[] = "^SigBlk:.*0000000000000000$";
	char *const blocks[] = {program, quiet, blocked, file, NULL};
	struct child child = {0};
	sigset_t before;

	(void)state;
	exit_signals_block(&before);
	assert_int_equal(child_run(&child, blocks), 0);
	assert_int_equal(WEXITSTATUS(child.status), 1);
	child.mask = &before;
	assert_int_equal(child_run(&child, blocks), 0);
	assert_int_equal(child.status, 0);
	exit_signals_restore(&before);
}

static void
count_tick(void *context, uint64_t elapsed_ns)
{
	assert_true(elapsed_ns > 0);
	++*(unsigned *)context;
}

static void
a_run_of_seconds_is_told_of(void **state)
{
	unsigned ticks = 0;
	struct child child = {.tick = count_tick, .tick_context = &ticks};

	(void)state;
	assert_int_equal(run_shell(&child, "sleep 1.5"), 0);
	assert_true(ticks >= 1);
}

static void
what_asks_to_end_waits_until_it_is_taken(void **state)
{
	sigset_t before;

	(void)state;
	exit_signals_block(&before);
	assert_int_equal(exit_signals_take(), 0);
	raise(SIGTERM);
	assert_int_equal(exit_signals_take(), SIGTERM);
	assert_int_equal(exit_signals_take(), 0);
	exit_signals_restore(&before);
}

/* As under nohup(1). */
static void
what_is_ignored_asks_for_nothing(void **state)
{
	sigset_t before;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	exit_signals_block(&before);
	raise(SIGHUP);
	assert_false(exit_signals_include(SIGHUP));
	assert_int_equal(exit_signals_take(), 0);
	exit_signals_restore(&before);
	signal(SIGHUP, SIG_DFL);
	assert_true(exit_signals_include(SIGHUP));
	assert_false(exit_signals_include(SIGUSR1));
	assert_false(exit_signals_include(SIGCHLD));
}

static int
status_of(void (*act)(void))
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
hold_and_release(void)
{
	sigset_t before;

	exit_signals_block(&before);
	raise(SIGINT);
	exit_signals_restore(&before);
}

static void
end_by_interrupt(void)
{
	sigset_t before;

	signal(SIGINT, SIG_IGN);
	exit_signals_block(&before);
	_exit(exit_signals_raise(SIGINT));
}

static void
what_was_not_taken_ends_us(void **state)
{
	int status;

	(void)state;
	status = status_of(hold_and_release);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
}

static void
who_was_asked_ends_as_asked(void **state)
{
	int status;

	(void)state;
	status = status_of(end_by_interrupt);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_is_found_as_a_shell_would_and_its_end_is_kept),
		cmocka_unit_test(what_cannot_be_executed_says_why),
		cmocka_unit_test(a_beginning_that_fails_ends_it),
		cmocka_unit_test(who_begins_becomes_the_program),
		cmocka_unit_test(quiet_output_goes_nowhere),
		cmocka_unit_test(what_it_took_is_measured),
		cmocka_unit_test(it_ends_also_where_children_are_ignored),
		cmocka_unit_test(the_program_finds_signals_as_they_were),
		cmocka_unit_test(a_signal_that_is_sent_to_us_goes_to_it),
		cmocka_unit_test(that_we_were_asked_to_end_is_known),
		cmocka_unit_test(who_is_interrupted_before_runs_nothing_to_its_end),
		cmocka_unit_test(what_we_block_is_not_blocked_for_it),
		cmocka_unit_test(a_run_of_seconds_is_told_of),
		cmocka_unit_test(what_asks_to_end_waits_until_it_is_taken),
		cmocka_unit_test(what_is_ignored_asks_for_nothing),
		cmocka_unit_test(what_was_not_taken_ends_us),
		cmocka_unit_test(who_was_asked_ends_as_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
