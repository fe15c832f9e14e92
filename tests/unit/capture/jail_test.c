/* Tests of capture/jail.h: what a process in it can and cannot do. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/jail.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* The status that a process ends with that does `what` in the jail; its exit status is what that returns. */
static int
status_of(int (*what)(int pipe))
{
	int pipe_ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(pipe_ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(jail_prepare() || jail_enter() ? 99 : what(pipe_ends[1]));
	close(pipe_ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(pipe_ends[0]);
	return status;
}

static void
assert_killed(int (*what)(int pipe))
{
	int status;

	if (IS_SANITIZED)
		skip_because("a sanitizer does what no jail allows");
	status = status_of(what);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static int
work(int pipe)
{
	char *memory = malloc((size_t)8 << 20);

	if (!memory)
		return 1;
	memset(memory, 'x', (size_t)8 << 20);
	return write(pipe, memory, 1000) == 1000 ? 0 : 2;
}

static void
it_can_have_memory_and_write(void **state)
{
	int status = status_of(work);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int
open_file(int pipe)
{
	const int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	(void)pipe;
	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

static void
it_opens_no_file(void **state)
{
	int status = status_of(open_file);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int
fork_again(int pipe)
{
	(void)pipe;
	return fork() < 0 ? 0 : 1;
}

static void
it_starts_no_process(void **state)
{
	(void)state;
	assert_killed(fork_again);
}

static int
make_socket(int pipe)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)pipe;
	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

static void
it_talks_to_nobody(void **state)
{
	(void)state;
	assert_killed(make_socket);
}

static int
can_map(size_t size, int protection)
{
	void *memory = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 0;
	munmap(memory, size);
	return 1;
}

static int
make_executable(int pipe)
{
	(void)pipe;
	return can_map(4096, PROT_READ | PROT_EXEC);
}

static void
it_makes_no_code(void **state)
{
	(void)state;
	assert_killed(make_executable);
}

/* This program's own file, which was opened before. */
static int program = -1;

static int
map_program(int protection, int flags)
{
	const void *mapped = mmap(NULL, 4096, protection, flags, program, 0);

	return mapped == MAP_FAILED ? 1 : 0;
}

static int
map_to_read(int pipe)
{
	(void)pipe;
	return map_program(PROT_READ, MAP_PRIVATE);
}

static int
map_to_execute(int pipe)
{
	(void)pipe;
	return map_program(PROT_READ | PROT_EXEC, MAP_PRIVATE);
}

static int
map_to_write(int pipe)
{
	(void)pipe;
	return map_program(PROT_READ | PROT_WRITE, MAP_SHARED);
}

static void
what_is_open_is_mapped_to_be_read_and_for_nothing_else(void **state)
{
	int status;

	(void)state;
	program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(program >= 0);
	status = status_of(map_to_read);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_killed(map_to_execute);
	assert_killed(map_to_write);
	close(program);
}

static int
execute(int pipe)
{
	(void)pipe;
	execl("/bin/true", "true", (char *)NULL);
	return 1;
}

static void
it_executes_nothing(void **state)
{
	(void)state;
	assert_killed(execute);
}

static int
want_too_much(int pipe)
{
	(void)pipe;
	return can_map((size_t)2 << 30, PROT_READ | PROT_WRITE);
}

static void
its_memory_is_bounded(void **state)
{
	int status;

	(void)state;
	if (IS_SANITIZED)
		skip_because("a sanitizer's shadow is terabytes");
	status = status_of(want_too_much);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_can_have_memory_and_write),
		cmocka_unit_test(it_opens_no_file),
		cmocka_unit_test(it_starts_no_process),
		cmocka_unit_test(it_talks_to_nobody),
		cmocka_unit_test(it_makes_no_code),
		cmocka_unit_test(what_is_open_is_mapped_to_be_read_and_for_nothing_else),
		cmocka_unit_test(it_executes_nothing),
		cmocka_unit_test(its_memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
