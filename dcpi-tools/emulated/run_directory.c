#include "dcpi-tools/emulated/run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcpi-tools/emulated/abandoned.h"

#define LOCK_NAME  "lock"
#define SUFFIX     ".XXXXXX"
#define TRIES_MAX  16
#define SUFFIX_MAX (sizeof(SUFFIX) - 1)

/* 0; -EAGAIN when somebody took it for abandoned before it was locked; -errno. */
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
	/* where there are no locks nothing is abandoned, either: nobody gets one */
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
		if (snprintf(path, size, "%s/%s" SUFFIX, parent, name) >= (int)size)
			return -ENAMETOOLONG;
		if (!mkdtemp(path))
			return -errno;
		err = lock_new(path, lock);
	}
	if (err && err != -EAGAIN)
		abandoned_remove(path);
	return err;
}

static bool
is_called(const char *entry, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '.' && strlen(entry + length) == SUFFIX_MAX;
}

/* Whoever opens it first and cannot lock it leaves it alone. */
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
		abandoned_end(path);
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
