#include "dcpi-tools/emulated/abandoned.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_SIZE (3 * PATH_MAX)
#define PASSES       600
#define PAUSE_NS     50000000 /* to die takes a moment */

/* "EMULATOR -plugin DIRECTORY/...": no program of a user begins so by accident. */
static bool
is_command_of(const char *command, size_t size, const char *directory)
{
	const size_t length = strlen(directory);
	const char *end = command + size, *option = memchr(command, '\0', size), *plugin;

	if (!option || ++option == end)
		return false;
	plugin = memchr(option, '\0', (size_t)(end - option));
	if (!plugin || strcmp(option, "-plugin") != 0)
		return false;
	plugin++;
	return (size_t)(end - plugin) > length && strncmp(plugin, directory, length) == 0 && plugin[length] == '/';
}

static bool
is_emulator_of(const char *pid, const char *directory)
{
	char path[64], command[COMMAND_SIZE];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = TEMP_FAILURE_RETRY(read(fd, command, sizeof(command)));
	close(fd);
	return size > 0 && is_command_of(command, (size_t)size, directory);
}

/* A process that has the number by then, and is another, is left alone. */
static bool
kill_emulator(const char *pid, const char *directory)
{
	const int process = (int)syscall(SYS_pidfd_open, strtol(pid, NULL, 10), 0);
	const bool is_one = process >= 0 && is_emulator_of(pid, directory);

	if (is_one)
		(void)syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
	if (process >= 0)
		close(process);
	return is_one;
}

static bool
kill_emulators(const char *directory)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	bool is_any = false;

	while (processes && (entry = readdir(processes)))
		if (isdigit((unsigned char)entry->d_name[0]) && is_emulator_of(entry->d_name, directory))
			is_any |= kill_emulator(entry->d_name, directory);
	if (processes)
		closedir(processes);
	return is_any;
}

void
abandoned_remove(const char *directory)
{
	DIR *files = opendir(directory);
	const struct dirent *entry;

	while (files && (entry = readdir(files)))
		(void)unlinkat(dirfd(files), entry->d_name, 0);
	if (files)
		closedir(files);
	(void)rmdir(directory);
}

void
abandoned_end(const char *directory)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (unsigned pass = 0; pass < PASSES && kill_emulators(directory); pass++)
		nanosleep(&pause, NULL);
	abandoned_remove(directory);
}
