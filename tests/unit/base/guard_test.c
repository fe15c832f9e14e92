#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/guard.h"

#define BEGUN_ANEW "GUARD_TEST_BEGUN_ANEW"

static char said[1024]; /* what the child wrote to standard error */

/* Run `fault` in a child whose standard error is caught in `said`; its wait status. */
static int
run_child(void (*fault)(void))
{
	int ends[2], status;
	size_t used = 0;
	ssize_t size;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		program_invocation_short_name = (char *)"dcpiprof";
		fault();
		_exit(0);
	}
	close(ends[1]);
	while ((size = read(ends[0], said + used, sizeof(said) - 1 - used)) > 0)
		used += (size_t)size;
	said[used] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static struct guard
database_guard(void)
{
	return (struct guard){
		.subject = "/var/lib/dcpi",
		.claim = "the database is damaged",
		.advice = "run 'dcpictl check'",
		.status = STATUS_DAMAGED,
	};
}

static void
touch_beyond_the_file(void)
{
	struct guard guard = database_guard();
	int fd = memfd_create("short", MFD_CLOEXEC);
	volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	guard_enter(&guard);
	(void)map[100]; /* the file has no such page: SIGBUS */
}

static void
touch_nothing(void)
{
	struct guard guard = database_guard();
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	guard_enter(&guard);
	(void)*(volatile char *)page;
}

static void
give_up(void)
{
	struct guard guard = database_guard();

	guard_enter(&guard);
	abort();
}

static void
fault_in_an_inner_guard(void)
{
	struct guard outer = database_guard();
	struct guard inner = {.subject = "libfoo.so", .claim = "it is damaged", .advice = "strip it", .status = 1};

	guard_enter(&outer);
	guard_enter(&inner);
	raise(SIGSEGV);
}

static void
fault_after_an_inner_guard(void)
{
	struct guard outer = database_guard();
	struct guard inner = {.subject = "libfoo.so", .claim = "it is damaged", .advice = "strip it", .status = 1};

	guard_enter(&outer);
	guard_enter(&inner);
	guard_leave(&inner);
	raise(SIGSEGV);
}

static void
fault_after_the_guard(void)
{
	struct guard guard = database_guard();

	signal(SIGABRT, SIG_DFL);
	guard_enter(&guard);
	guard_leave(&guard);
	raise(SIGABRT);
}

static void *
fault_here(void *unused)
{
	(void)unused;
	raise(SIGSEGV);
	return NULL;
}

static void
fault_in_another_thread(void)
{
	struct guard guard = database_guard();
	pthread_t thread;

	signal(SIGSEGV, SIG_DFL);
	guard_enter(&guard);
	if (pthread_create(&thread, NULL, fault_here, NULL) == 0)
		pthread_join(thread, NULL);
}

static void *
fault_in_a_shared_guard_here(void *guard)
{
	guard_share(guard);
	raise(SIGSEGV);
	return NULL;
}

static void
fault_in_a_helping_thread(void)
{
	struct guard guard = database_guard();
	pthread_t thread;

	guard_enter(&guard);
	if (pthread_create(&thread, NULL, fault_in_a_shared_guard_here, guard_innermost()) == 0)
		pthread_join(thread, NULL);
}

static void *
share_and_leave(void *guard)
{
	guard_share(guard);
	guard_unshare();
	raise(SIGSEGV);
	return NULL;
}

static void
fault_in_a_thread_that_helped(void)
{
	struct guard guard = database_guard();
	pthread_t thread;

	signal(SIGSEGV, SIG_DFL);
	guard_enter(&guard);
	if (pthread_create(&thread, NULL, share_and_leave, &guard) == 0)
		pthread_join(thread, NULL);
}

static void *
fault_in_a_guard_here(void *unused)
{
	(void)unused;
	touch_beyond_the_file();
	return NULL;
}

static void
fault_in_a_thread_and_its_guard(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fault_in_a_guard_here, NULL) == 0)
		pthread_join(thread, NULL);
}

static void
begin_anew(void)
{
	char *arguments[] = {(char *)"guard_test", NULL};
	char *environment[] = {(char *)BEGUN_ANEW "=yes", NULL};
	struct guard guard = database_guard();

	guard_begin_anew_with(arguments, environment);
	guard.begins_anew = true;
	guard_enter(&guard);
	raise(SIGSEGV);
}

static void
end_after_all(void)
{
	char *arguments[] = {(char *)"guard_test", NULL};
	struct guard guard = database_guard();

	guard_begin_anew_with(arguments, environ);
	guard_begin_anew_with(NULL, NULL);
	guard.begins_anew = true;
	guard_enter(&guard);
	raise(SIGSEGV);
}

static void
be_killed_in_the_guard(void)
{
	struct guard guard = database_guard();

	signal(SIGABRT, SIG_DFL);
	guard_enter(&guard);
	kill(getpid(), SIGABRT);
	pause();
}

static void
a_read_beyond_the_file_ends_with_a_sentence(void **state)
{
	int status;

	(void)state;
	status = run_child(touch_beyond_the_file);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS_DAMAGED);
	assert_string_equal(said, "dcpiprof: /var/lib/dcpi: the database is damaged (a part of it cannot be read); "
	                          "run 'dcpictl check'\n");
}

static void
a_wild_read_ends_with_a_sentence(void **state)
{
	int status;

	(void)state;
	status = run_child(touch_nothing);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS_DAMAGED);
	assert_string_equal(said, "dcpiprof: /var/lib/dcpi: the database is damaged (a read fell outside of it); "
	                          "run 'dcpictl check'\n");
}

static void
a_failed_assertion_ends_with_a_sentence(void **state)
{
	int status;

	(void)state;
	status = run_child(give_up);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS_DAMAGED);
	assert_string_equal(said, "dcpiprof: /var/lib/dcpi: the database is damaged (it contradicts itself); "
	                          "run 'dcpictl check'\n");
}

static void
a_guard_may_begin_the_program_anew(void **state)
{
	int status;

	(void)state;
	status = run_child(begin_anew);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_string_equal(said, "dcpiprof: /var/lib/dcpi: the database is damaged (a read fell outside of it); "
	                          "run 'dcpictl check'\nbegun anew\n");
	status = run_child(end_after_all);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS_DAMAGED);
}

static void
the_innermost_guard_speaks(void **state)
{
	int status;

	(void)state;
	status = run_child(fault_in_an_inner_guard);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_string_equal(said, "dcpiprof: libfoo.so: it is damaged (a read fell outside of it); strip it\n");
	status = run_child(fault_after_an_inner_guard);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS_DAMAGED);
}

static void
without_a_guard_a_fault_is_what_it_was(void **state)
{
	int status;

	(void)state;
	status = run_child(fault_after_the_guard);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_string_equal(said, "");
}

static void
each_thread_has_its_own_guards(void **state)
{
	int status;

	(void)state;
	status = run_child(fault_in_a_thread_and_its_guard);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS_DAMAGED);
	status = run_child(fault_in_another_thread);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_string_equal(said, "");
}

static void
a_thread_that_helps_shares_the_guard(void **state)
{
	int status;

	(void)state;
	status = run_child(fault_in_a_helping_thread);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS_DAMAGED);
	assert_non_null(strstr(said, "/var/lib/dcpi: the database is damaged"));
	status = run_child(fault_in_a_thread_that_helped);
	assert_true(WIFSIGNALED(status));
	assert_string_equal(said, "");
}

/* A service manager's watchdog sends SIGABRT; taken for damage, it would keep the service from being started again. */
static void
a_signal_from_outside_is_not_the_files_doing(void **state)
{
	int status;

	(void)state;
	status = run_child(be_killed_in_the_guard);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_string_equal(said, "");
}

int
main(void)
{
	if (getenv(BEGUN_ANEW)) {
		fputs("begun anew\n", stderr);
		return 0;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_beyond_the_file_ends_with_a_sentence),
		cmocka_unit_test(a_wild_read_ends_with_a_sentence),
		cmocka_unit_test(a_failed_assertion_ends_with_a_sentence),
		cmocka_unit_test(a_guard_may_begin_the_program_anew),
		cmocka_unit_test(the_innermost_guard_speaks),
		cmocka_unit_test(without_a_guard_a_fault_is_what_it_was),
		cmocka_unit_test(each_thread_has_its_own_guards),
		cmocka_unit_test(a_thread_that_helps_shares_the_guard),
		cmocka_unit_test(a_signal_from_outside_is_not_the_files_doing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
