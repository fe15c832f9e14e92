#include "dcpi-tools/emulated/run_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/temporary_directory.h"

#define COMMAND_SIZE (3 * PATH_MAX)
#define PASSES       600
#define PAUSE_NS     50000000 /* a killed process needs a moment to end */
#define LOCK_NAME    "lock"
#define TRIES_MAX    16
#define OWN_NAME     "emulators-end" /* not the tool's: killall of that must not kill the reaper */
#define LINE         3
#define LOCK         4

/* "EMULATOR -plugin DIRECTORY/...": no other program has such a command line by accident. */
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

/* The check is made on a pidfd: if the number went to another process meanwhile, that one is left alone. */
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
run_directory_end_stale(const char *directory)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (unsigned pass = 0; pass < PASSES && kill_emulators(directory); pass++)
		nanosleep(&pause, NULL);
	temporary_directory_remove(directory);
}

/* 0; -EAGAIN when another tool removed the directory as a stale one before it was locked; -errno. */
static int
lock_new(const char *path, int *lock)
{
	char name[PATH_MAX];
	struct stat status;

	if (snprintf(name, sizeof(name), "%s/" LOCK_NAME, path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	*lock = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (*lock < 0)
		return -errno;
	/* a file system without locks: run_directory_clean() gets none either, so it removes nothing */
	(void)TEMP_FAILURE_RETRY(flock(*lock, LOCK_EX));
	if (fstat(*lock, &status) == 0 && status.st_nlink > 0)
		return 0;
	close(*lock);
	return -EAGAIN;
}

int
run_directory_make(const char *parent, const char *name, char *path, size_t size, int *lock)
{
	int err = -EAGAIN;

	for (unsigned i = 0; err == -EAGAIN && i < TRIES_MAX; i++) {
		err = temporary_directory_make(parent, name, path, size);
		if (err)
			return err;
		err = lock_new(path, lock);
	}
	if (err && err != -EAGAIN)
		temporary_directory_remove(path);
	return err;
}

int
run_directory_share(const char *path)
{
	if (geteuid() == 0 && chmod(path, 01733) < 0)
		return message_cannot(path, "open it to all users", -errno, NULL);
	return STATUS_OK;
}

static bool
is_called(const char *entry, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '.' &&
	       strlen(entry + length) == strlen(TEMPORARY_DIRECTORY_SUFFIX);
}

/* A directory whose lock is held belongs to a tool that runs. */
static void
clean_one(const char *path)
{
	struct stat status;
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), lock = -1;

	if (directory < 0)
		return;
	if (fstat(directory, &status) == 0 && status.st_uid == geteuid())
		lock = openat(directory, LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	close(directory);
	if (lock < 0)
		return;
	if (flock(lock, LOCK_EX | LOCK_NB) == 0)
		run_directory_end_stale(path);
	close(lock);
}

void
run_directory_clean(const char *parent, const char *name)
{
	DIR *entries = opendir(parent);
	const struct dirent *entry;
	char path[PATH_MAX];

	while (entries && (entry = readdir(entries)))
		if (is_called(entry->d_name, name) &&
		    snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name) < (int)sizeof(path))
			clean_one(path);
	if (entries)
		closedir(entries);
}

static bool
read_name(const char *name, const char *prefix, struct run_file *file)
{
	const size_t length = strlen(prefix);

	return strncmp(name, prefix, length) == 0 && sscanf(name + length, "%d.%d", &file->pid, &file->number) == 2 &&
	       file->pid > 0 && file->number >= 0;
}

/* A descriptor; -1 (which is also -EPERM): no regular file, or none that we may read; another -errno. */
static int
open_file(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO || errno == EACCES || errno == EPERM ? -1 : -errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return -1;
}

int
run_directory_each_file(const char *directory, const char *prefix, run_file_visit *visit, void *context)
{
	DIR *files = opendir(directory);
	const struct dirent *entry;
	int err = 0;

	if (!files)
		return -errno;
	while (!err && (entry = readdir(files))) {
		struct run_file file;

		if (!read_name(entry->d_name, prefix, &file))
			continue;
		file.fd = open_file(dirfd(files), entry->d_name);
		if (file.fd == -ENOENT)
			continue;
		err = file.fd < -1 ? file.fd : visit(context, &file);
		if (file.fd >= 0)
			close(file.fd);
	}
	closedir(files);
	return err;
}

bool
run_file_is_running(const struct run_file *file)
{
	return file->number == 0 && (kill(file->pid, 0) == 0 || errno == EPERM);
}

/* ---- The reaper ---- */

/* Close what was inherited: a reader of our standard streams must not wait until the reaper ends. */
static void
keep_only(int line, int lock)
{
	const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* above LOCK, so that dup2() onto LINE and LOCK overwrites neither */
	const int kept_line = fcntl(line, F_DUPFD_CLOEXEC, LOCK + 1);
	const int kept_lock = fcntl(lock, F_DUPFD_CLOEXEC, LOCK + 1);

	for (int fd = 0; fd < LINE; fd++)
		if (nowhere >= 0)
			dup2(nowhere, fd);
	if (kept_line < 0 || kept_lock < 0)
		_exit(EXIT_FAILURE);
	dup2(kept_line, LINE);
	dup2(kept_lock, LOCK);
	(void)syscall(SYS_close_range, LOCK + 1, ~0U, 0);
}

static void
wait_for_tool(const char *directory, int line, int lock)
{
	sigset_t all;
	char word;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, OWN_NAME);
	keep_only(line, lock);
	if (TEMP_FAILURE_RETRY(read(LINE, &word, sizeof(word))) == 0)
		run_directory_end_stale(directory);
	_exit(EXIT_SUCCESS);
}

int
run_reaper_start(struct run_reaper *reaper, const char *directory, int lock)
{
	int line[2], err = 0;

	*reaper = (struct run_reaper){.line = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line))
		return -errno;
	reaper->pid = fork();
	if (reaper->pid == 0) {
		close(line[1]);
		wait_for_tool(directory, line[0], lock);
	}
	if (reaper->pid < 0)
		err = -errno;
	close(line[0]);
	if (!err) {
		reaper->line = line[1];
		return 0;
	}
	reaper->pid = 0;
	close(line[1]);
	return err;
}

void
run_reaper_dismiss(struct run_reaper *reaper)
{
	static const char word = '.';

	if (reaper->pid == 0)
		return;
	/* the reaper may have been killed: no SIGPIPE */
	(void)TEMP_FAILURE_RETRY(send(reaper->line, &word, sizeof(word), MSG_NOSIGNAL));
	close(reaper->line);
	(void)TEMP_FAILURE_RETRY(waitpid(reaper->pid, NULL, 0));
	*reaper = (struct run_reaper){.line = -1};
}
