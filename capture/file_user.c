#include "capture/file_user.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "process/mapped_file.h"

#define IDS 4 /* real, effective, saved, and that of the file system, by which the kernel judges an open */

struct file_user {
	uint32_t user, group;
	bool has_user, has_group;
	uint32_t *groups; /* the others */
	size_t group_count, group_capacity;
};

void
file_user_free(struct file_user *user)
{
	if (!user)
		return;
	free(user->groups);
	free(user);
}

/* The next number of a line of `status`. */
static bool
next_id(const char **at, uint32_t *id)
{
	unsigned long value;
	char *end;

	*at += strspn(*at, " \t");
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	value = strtoul(*at, &end, 10);
	*at = end;
	*id = (uint32_t)value;
	return errno == 0 && value <= UINT32_MAX;
}

static bool
last_of_ids(const char *at, uint32_t *id)
{
	for (size_t i = 0; i < IDS; i++)
		if (!next_id(&at, id))
			return false;
	return true;
}

static int
add_groups(struct file_user *user, const char *at)
{
	uint32_t group;

	while (next_id(&at, &group)) {
		uint32_t *grown =
			array_grow(user->groups, &user->group_capacity, user->group_count + 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		user->groups = grown;
		grown[user->group_count++] = group;
	}
	return 0;
}

static int
read_status(FILE *file, struct file_user *user)
{
	char *line = NULL;
	size_t capacity = 0;
	int err = 0;

	errno = 0;
	while (!err && getline(&line, &capacity, file) > 0) {
		if (strncmp(line, "Uid:", 4) == 0)
			user->has_user = last_of_ids(line + 4, &user->user);
		else if (strncmp(line, "Gid:", 4) == 0)
			user->has_group = last_of_ids(line + 4, &user->group);
		else if (strncmp(line, "Groups:", 7) == 0)
			err = add_groups(user, line + 7);
	}
	if (!err && ferror(file))
		err = errno == ESRCH ? -ENOENT : -errno;
	free(line);
	if (!err && (!user->has_user || !user->has_group))
		err = -EBADMSG;
	return err;
}

int
file_user_of_process(int procfs, uint32_t pid, struct file_user **user)
{
	struct file_user *made;
	char name[32];
	FILE *file;
	int fd, err;

	snprintf(name, sizeof(name), "%" PRIu32 "/status", pid);
	fd = openat(procfs, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ESRCH ? -ENOENT : -errno;
	file = fdopen(fd, "r");
	if (!file) {
		err = -errno;
		close(fd);
		return err;
	}
	made = calloc(1, sizeof(*made));
	err = made ? read_status(file, made) : -ENOMEM;
	fclose(file);
	if (err)
		file_user_free(made);
	else
		*user = made;
	return err;
}

static bool
is_in_group(const struct file_user *user, gid_t group)
{
	if (user->group == group)
		return true;
	for (size_t i = 0; i < user->group_count; i++)
		if (user->groups[i] == group)
			return true;
	return false;
}

/* `others` is the right as S_IROTH, ... has it; the first class of users that this one is in decides, as in the kernel.
 */
static bool
has_right(const struct file_user *user, const struct stat *status, mode_t others)
{
	if (status->st_uid == user->user)
		return status->st_mode & others << 6;
	if (is_in_group(user, status->st_gid))
		return status->st_mode & others << 3;
	return status->st_mode & others;
}

struct passage {
	const struct file_user *user;
	bool has_begun, is_closed;
};

static int
pass(void *context, int directory)
{
	struct passage *passage = context;
	struct stat status;

	if (fstat(directory, &status) < 0)
		return -errno;
	passage->has_begun = true;
	passage->is_closed = S_ISDIR(status.st_mode) && !has_right(passage->user, &status, S_IXOTH);
	return passage->is_closed ? -EACCES : 0;
}

int
file_user_may_read(const struct file_user *user, int fd, int procfs, uint32_t root, const char *path)
{
	struct passage passage = {.user = user};
	struct stat status;
	int found;

	if (user->user == 0)
		return 0;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (!has_right(user, &status, S_IROTH))
		return -EACCES;
	if (path[0] != '/')
		return 0;
	found = mapped_file_walk(procfs, root, path, pass, &passage);
	if (found >= 0)
		close(found);
	if (passage.is_closed)
		return -EACCES;
	return passage.has_begun ? 0 : found;
}
