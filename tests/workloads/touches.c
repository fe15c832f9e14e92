/*
 * touches - a tree of processes of which each touches as many pages as it is told, each once
 *
 * touches PAGES [fork|thread|exec|daemon|rename NAMES]: as a process, and
 *   fork     as its child and its child's child
 *   thread   as a thread beside it, and as a child that the thread forks
 *   exec     after it has executed itself, as a child
 *   daemon   as a daemon that it leaves behind, which writes "done" to standard output when it has
 *   rename   as itself, NAMES times, each under a name of its own: its own with -0, -1, ... It takes its time, for the
 * kernel drops samples that come too fast. Every page is memory of its own that nobody has touched before: a fault of
 * user code in touch().
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t pages;

__attribute__((noinline)) static void
touch(volatile char *memory, size_t size, size_t page)
{
	for (size_t at = 0; at < size; at += page)
		memory[at] = 1;
}

static void
touch_pages(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = pages * page;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, size, MADV_NOHUGEPAGE);
	touch(memory, size, page);
	munmap(memory, size);
}

static void
fork_and(void (*act)(void))
{
	pid_t child = fork();

	if (child < 0)
		exit(1);
	if (child == 0) {
		act();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void
touch_and_fork(void)
{
	touch_pages();
	fork_and(touch_pages);
}

static void *
run_thread(void *nothing)
{
	touch_and_fork();
	return nothing;
}

static void
be_daemon(void)
{
	if (setsid() < 0 || fork() != 0)
		return;
	usleep(200000); /* until all that was before it has gone */
	touch_pages();
	puts("done");
	fflush(stdout);
}

static void
rename_and_touch(unsigned long names)
{
	char name[16];

	for (unsigned long i = 0; i < names; i++) {
		snprintf(name, sizeof(name), "%.9s-%u", program_invocation_short_name, (unsigned)i);
		prctl(PR_SET_NAME, name);
		touch_pages();
		if (i % 4 == 3)
			usleep(250);
	}
}

int
main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	pthread_t thread;

	pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	if (strcmp(how, "rename") == 0) {
		rename_and_touch(argc > 3 ? strtoul(argv[3], NULL, 10) : 1);
		return 0;
	}
	touch_pages();
	if (strcmp(how, "fork") == 0) {
		fork_and(touch_and_fork);
	} else if (strcmp(how, "thread") == 0) {
		if (pthread_create(&thread, NULL, run_thread, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	} else if (strcmp(how, "exec") == 0) {
		execl(argv[0], argv[0], argv[1], "fork", NULL);
		return 1;
	} else if (strcmp(how, "daemon") == 0) {
		fork_and(be_daemon);
	}
	return 0;
}
