#include "profile/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "profile/directory.h"
#include "profile/profile_internal.h"

#define PREFIX     "damaged-"
#define NAME_SIZE  (sizeof(PREFIX "2026-11-21T09:43:00Z") - 1)
#define MODE       0750
#define NAMES_MAX  60 /* of the seconds that follow, when a name is taken */
#define TO_DATA    "/" DIRECTORY_DATA
#define INNER_SIZE (QUARANTINE_NAME_SIZE + sizeof(TO_DATA))

/* The directories that are kept; names sort by time. */
struct quarantine_list {
	size_t count;
	char first[QUARANTINE_NAME_SIZE];
	struct quarantined latest;
	int64_t latest_s; /* when it was moved there */
};

static const char *
inner_path(const char *name, const char *file, char path[INNER_SIZE])
{
	snprintf(path, INNER_SIZE, "%s/%s", name, file);
	return path;
}

static void
note_kept(int directory, const char *name, struct quarantine_list *kept)
{
	char path[INNER_SIZE];
	struct stat data, place;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(name) != NAME_SIZE)
		return;
	if (fstatat(directory, inner_path(name, DIRECTORY_DATA, path), &data, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(directory, name, &place, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (kept->count == 0 || strcmp(name, kept->first) < 0)
		snprintf(kept->first, sizeof(kept->first), "%s", name);
	if (kept->count++ > 0 && strcmp(name, kept->latest.name) < 0)
		return;
	snprintf(kept->latest.name, sizeof(kept->latest.name), "%s", name);
	kept->latest.bytes = (uint64_t)data.st_size;
	kept->latest_s = place.st_mtim.tv_sec;
}

static int
find_kept(int directory, struct quarantine_list *kept)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err;

	memset(kept, 0, sizeof(*kept));
	if (!list) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (errno = 0, (entry = readdir(list)))
		note_kept(directory, entry->d_name, kept);
	err = -errno;
	closedir(list);
	return err;
}

/* A directory named by the time, or by one of the seconds that follow. */
static int
make_directory(int directory, time_t now_s, char name[QUARANTINE_NAME_SIZE])
{
	struct tm broken;

	for (time_t time_s = now_s; time_s < now_s + NAMES_MAX; time_s++) {
		if (!gmtime_r(&time_s, &broken) ||
		    strftime(name, QUARANTINE_NAME_SIZE, PREFIX "%Y-%m-%dT%H:%M:%SZ", &broken) != NAME_SIZE)
			return -EOVERFLOW;
		if (mkdirat(directory, name, MODE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* The lock file first: no process may use the old one with a new data file. */
static int
move_files(int directory, const char *name)
{
	char lock[INNER_SIZE], data[INNER_SIZE];
	int err;

	inner_path(name, DIRECTORY_LOCK, lock);
	inner_path(name, DIRECTORY_DATA, data);
	if (renameat(directory, DIRECTORY_LOCK, directory, lock) < 0 && errno != ENOENT)
		return -errno;
	if (renameat(directory, DIRECTORY_DATA, directory, data) == 0)
		return fsync(directory) < 0 ? -errno : 0;
	err = -errno;
	(void)!renameat(directory, lock, directory, DIRECTORY_LOCK); /* without it, the writer makes another */
	return err;
}

static void
remove_kept(int directory, const char *name)
{
	char path[INNER_SIZE];

	unlinkat(directory, inner_path(name, DIRECTORY_DATA, path), 0);
	unlinkat(directory, inner_path(name, DIRECTORY_LOCK, path), 0);
	unlinkat(directory, name, AT_REMOVEDIR); /* other files there are not ours, and stay */
}

static int
quarantine(int directory, char name[QUARANTINE_NAME_SIZE])
{
	struct timespec now;
	struct quarantine_list kept;
	int err;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -errno;
	err = find_kept(directory, &kept);
	if (err)
		return err;
	if (kept.count > 0 && now.tv_sec >= kept.latest_s && now.tv_sec - kept.latest_s < QUARANTINE_PAUSE_S)
		return -EAGAIN;
	err = make_directory(directory, now.tv_sec, name);
	if (err)
		return err;
	err = move_files(directory, name);
	if (err)
		unlinkat(directory, name, AT_REMOVEDIR);
	else if (kept.count > 1 && strcmp(kept.first, kept.latest.name) != 0)
		remove_kept(directory, kept.latest.name);
	return err;
}

int
profile_quarantine(const struct profile *profile, char name[QUARANTINE_NAME_SIZE])
{
	return profile->store.write && profile->lock >= 0 ? quarantine(profile->directory, name) : -EINVAL;
}

int
profile_quarantine_at(const char *path, char name[QUARANTINE_NAME_SIZE])
{
	int directory = directory_open(path, false), lock, err;

	if (directory < 0)
		return directory;
	lock = directory_lock(directory);
	err = lock < 0 ? lock : quarantine(directory, name);
	if (lock >= 0)
		directory_unlock(lock);
	close(directory);
	return err;
}

int
profile_find_quarantined(const char *path, struct quarantined *quarantined)
{
	int directory = directory_open(path, false), err;
	struct quarantine_list kept;

	if (directory < 0)
		return directory;
	err = find_kept(directory, &kept);
	close(directory);
	if (err)
		return err;
	*quarantined = kept.latest;
	return kept.count > 0;
}
