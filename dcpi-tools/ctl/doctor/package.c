#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dcpi-tools/ctl/doctor/checks.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789+-."

/* The same file under the name it has where /lib and /usr/lib are one: dpkg may know either. NULL: memory ended. */
static char *
other_name(const char *path)
{
	char *other;

	if (strncmp(path, "/usr/", strlen("/usr/")) == 0)
		return strdup(path + strlen("/usr"));
	return asprintf(&other, "/usr%s", path) < 0 ? NULL : other;
}

/* "libc6" of "libc6:amd64: /lib/libc.so.6", "a" of "a, b: /path"; false for what is no package: a diversion. */
static bool
package_name(const char *line, char package[PACKAGE_NAME_SIZE])
{
	const size_t length = strspn(line, NAME_CHARACTERS);

	if (length == 0 || (line[length] != ':' && line[length] != ','))
		return false;
	snprintf(package, PACKAGE_NAME_SIZE, "%.*s", (int)length, line);
	return true;
}

/* Start `program` --search for two names of one file, its output to be read from *output. 0 or -errno. */
static int
start_query(const char *program, char *path, char *other, pid_t *child, int *output)
{
	char *arguments[] = {(char *)program, "--search", "--", path, other, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	err = posix_spawn_file_actions_init(&actions);
	if (!err) {
		err = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		if (!err)
			err = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		if (!err)
			err = posix_spawnp(child, program, &actions, NULL, arguments, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[1]);
	if (err)
		close(ends[0]);
	*output = ends[0];
	return -err;
}

/* 0 with the first package that is named; -ENOENT. Reads to the end, so that nobody writes in vain. */
static int
read_answer(int output, char package[PACKAGE_NAME_SIZE])
{
	FILE *stream = fdopen(output, "r");
	char line[PATH_MAX + 2 * PACKAGE_NAME_SIZE];
	int err = -ENOENT;

	if (!stream) {
		close(output);
		return -ENOMEM;
	}
	while (fgets(line, sizeof(line), stream))
		if (err && package_name(line, package))
			err = 0;
	fclose(stream);
	return err;
}

int
package_of(const char *dpkg_query, const char *path, char package[PACKAGE_NAME_SIZE])
{
	char *name = strdup(path), *other = other_name(path);
	int output = -1, err = name && other ? 0 : -ENOMEM;
	pid_t child = 0;

	/* what looks like a pattern would be one */
	if (!err && (path[0] != '/' || strpbrk(path, "*?[\\")))
		err = -ENOENT;
	if (!err)
		err = start_query(dpkg_query, name, other, &child, &output);
	if (!err) {
		err = read_answer(output, package);
		TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
	}
	free(name);
	free(other);
	return err;
}

/* Debian makes a -dbgsym package of nearly everything; the C library's is called otherwise, and in the main archive. */
void
package_debug(const char *package, char debug[PACKAGE_NAME_SIZE])
{
	const bool is_libc = strcmp(package, "libc6") == 0 || strcmp(package, "libc6-i386") == 0;

	snprintf(debug, PACKAGE_NAME_SIZE, is_libc ? "libc6-dbg" : "%.*s-dbgsym", PACKAGE_NAME_SIZE - 8, package);
}

bool
package_debug_archive(const char *apt_lists)
{
	DIR *lists = opendir(apt_lists);
	struct dirent *entry;
	bool found = false;

	/* as apt names them: ..._debian-debug_dists_bookworm-debug_main_binary-amd64_Packages, ddebs.... */
	while (lists && !found && (entry = readdir(lists)) != NULL)
		found = strstr(entry->d_name, "-debug_") || strncmp(entry->d_name, "ddebs.", strlen("ddebs.")) == 0;
	if (lists)
		closedir(lists);
	return found;
}
