/*
 * lives.c - lives WAY SECONDS [PROGRAM [ARGUMENT]...]: processes that begin, change and end in all the ways they can
 *
 * Each way works in functions of its own, for so much processor time.
 */
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

#define REUSES       20
#define CROWD_COUNT  2000
#define THREAD_COUNT 2000

extern char **environ;

static __attribute__((noinline)) void
at_work(double seconds)
{
	burn(seconds, 1);
}

static __attribute__((noinline)) void
before_exec(double seconds)
{
	burn(seconds, 2);
}

static __attribute__((noinline)) void
in_child(double seconds)
{
	burn(seconds, 3);
}

static __attribute__((noinline)) void
in_parent(double seconds)
{
	burn(seconds, 4);
}

static __attribute__((noinline)) void
under_reused_pid(double seconds)
{
	burn(seconds, 5);
}

static __attribute__((noinline)) void
under_another_name(double seconds)
{
	burn(seconds, 6);
}

static __attribute__((noinline)) void
in_thread(double seconds)
{
	burn(seconds, 7);
}

/* Nothing but work. */
static int
way_work(double seconds, char **program)
{
	(void)program;
	at_work(seconds);
	return 0;
}

/* Becomes another program, in the same process. */
static int
way_exec(double seconds, char **program)
{
	before_exec(seconds);
	execv(program[0], program);
	return -1;
}

/* The child goes on in the parent's image. */
static int
way_fork(double seconds, char **program)
{
	pid_t child = fork();

	(void)program;
	if (child == 0) {
		in_child(seconds);
		_exit(0);
	}
	in_parent(seconds);
	return child < 0 || waitpid(child, NULL, 0) != child;
}

/* A child with the pid `wanted`, or any when it is 0. */
static pid_t
fork_with_pid(pid_t wanted)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = wanted ? (uint64_t)(uintptr_t)&wanted : 0,
		.set_tid_size = wanted ? 1 : 0,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* A child that becomes another program ends, and another child has its pid but stays what we are. */
static int
way_reuse(double seconds, char **program)
{
	unsigned int reused = 0;

	for (unsigned int i = 0; i < REUSES; i++) {
		pid_t first, second;

		first = fork_with_pid(0);
		if (first == 0) {
			execv(program[0], program);
			_exit(127);
		}
		if (first < 0 || waitpid(first, NULL, 0) != first)
			return -1;
		second = fork_with_pid(first);
		if (second == 0) {
			under_reused_pid(seconds / REUSES);
			_exit(0);
		}
		if (second < 0 && errno != EEXIST) /* somebody else was quicker */
			return -1;
		if (second > 0 && waitpid(second, NULL, 0) != second)
			return -1;
		reused += second == first;
	}
	printf("%u of %d\n", reused, REUSES);
	return 0;
}

/* Gives itself the name PROGRAM. */
static int
way_rename(double seconds, char **program)
{
	if (prctl(PR_SET_NAME, program[0]))
		return -1;
	under_another_name(seconds);
	return 0;
}

/* Thousands of processes, one after the other; how long each lives, the program says. */
static int
way_crowd(double seconds, char **program)
{
	(void)seconds;
	for (unsigned int i = 0; i < CROWD_COUNT; i++) {
		pid_t child;

		errno = posix_spawn(&child, program[0], NULL, NULL, program, environ);
		if (errno || waitpid(child, NULL, 0) != child)
			return -1;
	}
	return 0;
}

static void *
thread_main(void *seconds)
{
	in_thread(*(double *)seconds);
	return NULL;
}

static int
way_threads(double seconds, char **program)
{
	double share = seconds / THREAD_COUNT;

	(void)program;
	for (unsigned int i = 0; i < THREAD_COUNT; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, NULL, thread_main, &share);
		if (errno || pthread_join(thread, NULL))
			return -1;
	}
	return 0;
}

/* The main thread ends; another one goes on. */
static int
way_orphan(double seconds, char **program)
{
	static double lasting;
	pthread_t thread;

	(void)program;
	lasting = seconds;
	errno = pthread_create(&thread, NULL, thread_main, &lasting);
	if (errno)
		return -1;
	pthread_exit(NULL);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*go)(double seconds, char **program);
		int arguments; /* at least */
	} ways[] = {
		{"work", way_work, 3},       {"exec", way_exec, 4},     {"fork", way_fork, 3},
		{"reuse", way_reuse, 4},     {"rename", way_rename, 4}, {"crowd", way_crowd, 4},
		{"threads", way_threads, 3}, {"orphan", way_orphan, 3},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc < ways[i].arguments || strcmp(argv[1], ways[i].name) != 0)
			continue;
		if (ways[i].go(strtod(argv[2], NULL), argv + 3) == 0)
			return 0;
		fprintf(stderr, "lives %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	fprintf(stderr,
	        "usage: lives work|exec|fork|reuse|rename|crowd|threads|orphan SECONDS [PROGRAM [ARGUMENT]...]\n");
	return 2;
}
