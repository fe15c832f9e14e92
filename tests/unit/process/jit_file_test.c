/* Real processes, which write what compilers at run time write. */
#include "tests/unit/process/fake.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "process/jit.h"

#define TEXT "1000 10 f\n"

struct jit_child {
	struct jit_process maker;
	int alive;     /* closed, it ends */
	bool is_ready; /* it has done its work */
	char map[64];
};

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The child's: make the file, keep it open. */
static void
write_file(const char *path, mode_t mode)
{
	static int fd; /* for as long as the process lives */

	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, TEXT, strlen(TEXT)) != (ssize_t)strlen(TEXT) || fchmod(fd, mode) != 0)
		_exit(1);
}

static void
write_own_map(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	write_file(path, 0644);
}

/* A process that does `work` and then waits until it is let go. */
static struct jit_child
begin(void (*work)(void))
{
	struct jit_child child = {.maker = {.begun_ns = monotonic_ns(), .ancestor_count = 2}};
	int alive[2], ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(alive[1]);
		work();
		if (write(ready[1], "r", 1) != 1 || read(alive[0], &byte, 1) != 0)
			_exit(1);
		_exit(0);
	}
	close(alive[0]);
	close(ready[1]);
	child.is_ready = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	child.alive = alive[1];
	child.maker.pid = (uint32_t)pid;
	child.maker.ancestors[0] = 4194303; /* nobody */
	child.maker.ancestors[1] = (uint32_t)getpid();
	snprintf(child.map, sizeof(child.map), "/tmp/perf-%d.map", (int)pid);
	return child;
}

static void
end(struct jit_child *child)
{
	if (child->alive >= 0)
		close(child->alive);
	child->alive = -1;
	assert_int_equal(waitpid((pid_t)child->maker.pid, NULL, 0), child->maker.pid);
}

static int
find_file(const struct jit_process *maker)
{
	return jit_file_find("/proc", maker, NULL, NULL);
}

/* What is found can only be kept: it is read through a descriptor that is opened for it. */
static void
assert_opens(const struct jit_process *maker)
{
	char text[64];
	int file = find_file(maker), fd;

	assert_true(file >= 0);
	assert_int_equal(read(file, text, sizeof(text)), -1);
	assert_int_equal(errno, EBADF);
	assert_true(fcntl(file, F_GETFL) & O_PATH);
	assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
	fd = mapped_file_reopen(file);
	close(file);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), strlen(TEXT));
	assert_memory_equal(text, TEXT, strlen(TEXT));
	close(fd);
}

static void
a_process_tells_in_tmp(void **state)
{
	struct jit_child child = begin(write_own_map);

	(void)state;
	assert_opens(&child.maker);
	assert_true(jit_process_is_alive("/proc", &child.maker));
	child.maker.begun_ns = 0; /* it was there before us */
	assert_opens(&child.maker);
	end(&child);
	unlink(child.map);
}

static void
what_a_process_told_is_there_when_it_ended(void **state)
{
	struct jit_child child = begin(write_own_map);

	(void)state;
	end(&child);
	assert_false(jit_process_is_alive("/proc", &child.maker));
	assert_opens(&child.maker);
	child.maker.ancestor_count = 1;
	assert_int_equal(find_file(&child.maker), -ENOENT);
	unlink(child.map);
}

static void
do_nothing(void)
{
}

static void
a_process_that_tells_nothing_has_no_file(void **state)
{
	struct jit_child child = begin(do_nothing);

	(void)state;
	assert_int_equal(find_file(&child.maker), -ENOENT);
	end(&child);
}

/* Maps stay when their processes end, and numbers come again. */
static void
a_file_that_is_older_than_its_process_is_not_its_own(void **state)
{
	const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	struct jit_child child = begin(write_own_map);

	(void)state;
	assert_int_equal(utimensat(AT_FDCWD, child.map, times, 0), 0);
	assert_int_equal(find_file(&child.maker), -ESTALE);
	child.maker.begun_ns = 0;
	assert_int_equal(find_file(&child.maker), -ESTALE);
	end(&child);
	unlink(child.map);
}

static void
a_file_that_anybody_could_have_written_is_refused(void **state)
{
	struct jit_child child = begin(write_own_map);

	(void)state;
	assert_int_equal(chmod(child.map, 0666), 0);
	assert_int_equal(find_file(&child.maker), -EPERM);
	end(&child);
	unlink(child.map);
}

static void
a_file_that_a_group_of_others_could_have_written_is_refused(void **state)
{
	struct jit_child child = begin(write_own_map);
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can give a file to any group");
	assert_int_equal(chown(child.map, (uid_t)-1, 12345), 0);
	fd = find_file(&child.maker);
	assert_true(fd >= 0); /* it may read */
	close(fd);
	assert_int_equal(chmod(child.map, 0664), 0);
	assert_int_equal(find_file(&child.maker), -EPERM);
	assert_int_equal(chown(child.map, (uid_t)-1, geteuid()), 0); /* the user's own group */
	fd = find_file(&child.maker);
	assert_true(fd >= 0);
	close(fd);
	end(&child);
	unlink(child.map);
}

static void
a_file_of_another_user_is_refused(void **state)
{
	struct jit_child child;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can give files away");
	child = begin(write_own_map);
	assert_int_equal(chown(child.map, 12345, 12345), 0);
	assert_int_equal(find_file(&child.maker), -EPERM);
	end(&child);
	assert_int_equal(find_file(&child.maker), -EPERM);
	unlink(child.map);
}

static void
a_link_or_a_pipe_is_not_followed(void **state)
{
	struct jit_child child = begin(do_nothing);

	(void)state;
	assert_int_equal(symlink("/etc/passwd", child.map), 0);
	assert_int_equal(find_file(&child.maker), -EINVAL);
	unlink(child.map);
	assert_int_equal(mkfifo(child.map, 0644), 0);
	assert_int_equal(find_file(&child.maker), -EINVAL);
	unlink(child.map);
	assert_int_equal(mkdir(child.map, 0755), 0);
	assert_int_equal(find_file(&child.maker), -EINVAL);
	rmdir(child.map);
	end(&child);
}

static char dump[PATH_MAX];

static void
write_dump(void)
{
	write_file(dump, 0644);
}

static void
a_jitdump_comes_before_a_map(void **state)
{
	struct jit_child child;
	struct fake fake = {0};

	(void)state;
	fake_init(&fake);
	fake_path(&fake, "jit-1.dump", dump);
	child = begin(write_dump);
	child.maker.jitdump = dump;
	assert_opens(&child.maker);
	/* and where it is not to be had, the map does */
	child.maker.jitdump = (char[]){"/no/such/jit-1.dump"};
	assert_int_equal(find_file(&child.maker), -ENOENT);
	write_file(child.map, 0644);
	assert_opens(&child.maker);
	unlink(child.map);
	end(&child);
	fake_fini(&fake);
}

static void
a_file_that_was_deleted_is_found_by_its_descriptor(void **state)
{
	struct jit_child child;
	struct fake fake = {0};

	(void)state;
	fake_init(&fake);
	fake_path(&fake, "jit-1.dump", dump);
	child = begin(write_dump);
	child.maker.jitdump = dump;
	assert_int_equal(unlink(dump), 0);
	assert_opens(&child.maker);
	end(&child);
	assert_int_equal(find_file(&child.maker), -ENOENT);
	fake_fini(&fake);
}

/* As in a container: another /tmp, and it calls itself process 1. */
static void
write_in_namespaces(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0)
		_exit(2);
	pid = fork();
	if (pid != 0) {
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", "/tmp", "tmpfs", 0, NULL) != 0)
		_exit(2);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	write_own_map();
}

static void
a_process_in_a_container_is_seen_as_it_sees_itself(void **state)
{
	struct jit_child child;
	char path[64];
	FILE *children;
	unsigned inner;

	(void)state;
	child = begin(write_in_namespaces);
	if (!child.is_ready) {
		end(&child);
		skip_because("no namespaces of one's own here");
	}
	snprintf(path, sizeof(path), "/proc/%u/task/%u/children", child.maker.pid, child.maker.pid);
	children = fopen(path, "re");
	assert_non_null(children);
	assert_int_equal(fscanf(children, "%u", &inner), 1);
	fclose(children);
	assert_int_equal(find_file(&child.maker), -ENOENT);
	child.maker.pid = inner;
	assert_opens(&child.maker);
	close(child.alive);
	child.alive = -1;
	assert_true(wait(NULL) > 0);
}

static void
a_number_that_another_process_has_now_is_not_it(void **state)
{
	struct jit_child child = begin(write_own_map);

	(void)state;
	assert_true(jit_process_is_alive("/proc", &child.maker));
	child.maker.begun_ns = 1; /* when the machine booted */
	assert_int_equal(jit_process_is_alive("/proc", &child.maker), false);
	end(&child);
	unlink(child.map);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_tells_in_tmp),
		cmocka_unit_test(what_a_process_told_is_there_when_it_ended),
		cmocka_unit_test(a_process_that_tells_nothing_has_no_file),
		cmocka_unit_test(a_file_that_is_older_than_its_process_is_not_its_own),
		cmocka_unit_test(a_file_that_anybody_could_have_written_is_refused),
		cmocka_unit_test(a_file_that_a_group_of_others_could_have_written_is_refused),
		cmocka_unit_test(a_file_of_another_user_is_refused),
		cmocka_unit_test(a_link_or_a_pipe_is_not_followed),
		cmocka_unit_test(a_jitdump_comes_before_a_map),
		cmocka_unit_test(a_file_that_was_deleted_is_found_by_its_descriptor),
		cmocka_unit_test(a_process_in_a_container_is_seen_as_it_sees_itself),
		cmocka_unit_test(a_number_that_another_process_has_now_is_not_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
