/*
 * stale_run.h - processes that look like emulators of a run: this program again, which waits
 */
#ifndef DCPI_TESTS_STALE_RUN_H
#define DCPI_TESTS_STALE_RUN_H

#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MADE_SIZE 128

/* First in main(): does not return in such a process. */
static inline void
made_emulator_main(int argc, char **argv)
{
	while (argc == 3 && strcmp(argv[0], "made-emulator") == 0)
		pause();
}

/* One that has become so; `option` is "-plugin" in a real one. */
static inline pid_t
made_emulator(const char *directory, const char *option)
{
	char plugin[4 * MADE_SIZE], name[] = "made-emulator", word[16], byte;
	char *const command[] = {name, word, plugin, NULL};
	int ends[2];
	pid_t pid;

	snprintf(plugin, sizeof(plugin), "%s/plugin.so", directory);
	snprintf(word, sizeof(word), "%s", option);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		execv("/proc/self/exe", command);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* it was executed */
	close(ends[0]);
	return pid;
}

/* The signal that ends it; 0: it has ended by itself. */
static inline int
made_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static inline bool
made_runs(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static inline void
made_directory(char path[MADE_SIZE])
{
	snprintf(path, MADE_SIZE, "/tmp/dcpi-abandoned.XXXXXX");
	assert_non_null(mkdtemp(path));
}

static inline void
made_file(const char *directory, const char *name)
{
	char path[4 * MADE_SIZE];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static inline bool
made_is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

#endif
