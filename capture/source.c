#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "process/build_id.h"
#include "process/mapped_file.h"

#define DEBUG_FILES "/usr/lib/debug/.build-id"
#define FIRST       1 /* the first process */
#define IDS         4 /* real, effective, saved, and that of the file system, by which the kernel judges an open */

/* ---- the user of a process ---- */

/* The user of a process. */
struct file_user {
	uint32_t user, group;
	bool has_user, has_group;
	uint32_t *groups; /* the others */
	size_t group_count, group_capacity;
};

/* NULL is allowed. */
static void
free_user(struct file_user *user)
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

/*
 * As which user the process opens files, by its `status`. `procfs` is an open directory. 0 with *user, which is to be
 * freed; -ENOENT when the process has ended; -EBADMSG, -ENOMEM, -errno.
 */
static int
read_user(int procfs, uint32_t pid, struct file_user **user)
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
		free_user(made);
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

/* `others` is S_IROTH, ...; of owner, group and others, the first that the user is in decides, as in the kernel. */
static bool
has_right(const struct file_user *user, const struct stat *status, mode_t others)
{
	if (status->st_uid == user->user)
		return status->st_mode & others << 6;
	if (is_in_group(user, status->st_gid))
		return status->st_mode & others << 3;
	return status->st_mode & others;
}

/* The state of the walk to a file, at the last directory that it passed. */
struct capture_passage {
	const struct file_user *user;
	bool has_begun, is_closed;
};

static int
pass(void *context, int directory)
{
	struct capture_passage *passage = context;
	struct stat status;

	if (fstat(directory, &status) < 0)
		return -errno;
	passage->has_begun = true;
	passage->is_closed = S_ISDIR(status.st_mode) && !has_right(passage->user, &status, S_IXOTH);
	return passage->is_closed ? -EACCES : 0;
}

/*
 * May the user read by path the file `fd`, which was found as `path`, absolute or empty, below the root of process
 * `root`? Each directory from that root to the file has to let the user pass, and the file has to be readable. Owner,
 * group and mode decide, access control lists do not; root may read all.
 * Where the path ends before the file (it was deleted, or moved), the directories that exist decide, with the file
 * itself; likewise where a directory lets the user pass but not dcpid, for only the user can look behind it.
 * 0, -EACCES, or -errno.
 */
static int
may_read(const struct file_user *user, int fd, int procfs, uint32_t root, const char *path)
{
	struct capture_passage passage = {.user = user};
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

/* ---- the file of an image ---- */

/* Without a generation, or on a file system that does not tell it, device and inode have to be enough. */
static bool
has_generation(int fd, uint64_t generation)
{
	union {
		unsigned generation; /* what file systems store */
		long room;           /* what the request's number says */
	} answer = {0};

	if (generation == 0 || ioctl(fd, FS_IOC_GETVERSION, &answer) < 0)
		return true;
	return answer.generation == (uint32_t)generation;
}

/* File systems without a device of their own (btrfs, overlay) show mappings another one. */
static bool
has_inode(int fd, const struct image *image)
{
	struct stat status;

	if (image->inode == 0 || fstat(fd, &status) < 0 || status.st_ino != image->inode)
		return false;
	if (major(status.st_dev) != 0 &&
	    (major(status.st_dev) != image->device_major || minor(status.st_dev) != image->device_minor))
		return false;
	return has_generation(fd, image->inode_generation);
}

static bool
is_image(int fd, const struct image *image)
{
	uint8_t build_id[BUILD_ID_SIZE_MAX];

	if (image->build_id_size == 0)
		return has_inode(fd, image);
	return build_id_from_file(fd, build_id) == image->build_id_size &&
	       memcmp(build_id, image->build_id, image->build_id_size) == 0;
}

/* Context of all ways to a file. */
struct capture_search {
	int procfs;
	const struct capture_request *request;
	uint32_t pid;           /* 0: the process has ended, or none is known */
	struct file_user *user; /* of that process; NULL without one */
};

/*
 * A descriptor for reading of the file `path`, if that is the image's, or an error. `path` is an O_PATH descriptor,
 * which is closed, or an error; `root` is the process below whose root the image's path was looked up.
 */
static int
open_if_right(const struct capture_search *search, int path, uint32_t root)
{
	const struct image *image = &search->request->image;
	int fd, err;

	if (path < 0)
		return path;
	fd = mapped_file_reopen(path);
	close(path);
	if (fd < 0)
		return fd;
	err = is_image(fd, image) ? 0 : -DCPI_EBUILDID;
	if (!err && search->user)
		err = may_read(search->user, fd, search->procfs, root, image->path);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Of two errors, the more specific one. */
static int
worse(int err, int other)
{
	static const int order[] = {-EACCES, -EPERM, -DCPI_EBUILDID};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (err == order[i] || other == order[i])
			return order[i];
	return err ? err : other;
}

enum capture_way { WAY_MAPPING, WAY_PATH, WAY_PROGRAM, WAY_FIRST, WAY_OWN, WAYS };

static int
open_main(const struct capture_search *search)
{
	const struct capture_request *request = search->request;
	const struct image *image = &request->image;
	const bool has_path = image->path[0] == '/';
	const uint32_t pid = search->pid;
	int fd = -ENOENT, err = -ENOENT;

	for (enum capture_way way = WAY_MAPPING; way < WAYS; way++) {
		uint32_t root = pid;

		if (way == WAY_FIRST)
			root = FIRST;
		if (way == WAY_OWN)
			root = (uint32_t)getpid();
		if (way == WAY_MAPPING && pid && request->end > request->start)
			fd = mapped_file_of_mapping(search->procfs, pid, request->start, request->end);
		else if (way == WAY_PROGRAM && pid)
			fd = mapped_file_exe(search->procfs, pid);
		else if (way != WAY_MAPPING && way != WAY_PROGRAM && root && has_path)
			fd = mapped_file_below_root(search->procfs, root, image->path);
		else
			continue;
		fd = open_if_right(search, fd, root);
		if (fd >= 0)
			return fd;
		if (way != WAY_FIRST || fd == -DCPI_EBUILDID) /* that root may be closed to us */
			err = worse(err, fd);
	}
	return err == -EPERM ? -EACCES : err == -ESRCH ? -ENOENT : err;
}

/* Root's own file of that path and build-id, or while the build-id is not known, of that inode. */
static int
open_roots(const struct capture_search *search)
{
	return open_if_right(search, mapped_file_open_roots(search->procfs, search->request->image.path),
	                     (uint32_t)getpid());
}

static int
open_debug(const struct image *image)
{
	char hex[2 * BUILD_ID_SIZE_MAX + 1], path[PATH_MAX];
	int link, fd;

	if (image->build_id_size < 2)
		return -1;
	for (size_t i = 0; i < image->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", image->build_id[i]);
	snprintf(path, sizeof(path), DEBUG_FILES "/%.2s/%s.debug", hex, hex + 2);
	link = open(path, O_PATH | O_CLOEXEC);
	if (link < 0)
		return -1;
	fd = mapped_file_reopen(link);
	close(link);
	return fd < 0 ? -1 : fd;
}

int
capture_source_open(int procfs, const struct capture_request *request, struct capture_source *source)
{
	struct capture_search search = {.procfs = procfs, .request = request, .pid = request->pid};
	int err = 0;

	source->main = source->debug = -1;
	source->is_roots = false;
	if (search.pid)
		err = read_user(procfs, search.pid, &search.user);
	if (err == -ENOENT) {
		search.pid = 0;
		err = 0;
	}
	if (err)
		return err;
	source->main = open_roots(&search);
	source->is_roots = source->main >= 0;
	if (!source->is_roots)
		source->main = open_main(&search);
	free_user(search.user);
	if (source->main < 0)
		return source->main;
	source->debug = open_debug(&request->image);
	return 0;
}
