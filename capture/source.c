#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/file_user.h"
#include "process/build_id.h"
#include "process/mapped_file.h"

#define DEBUG_FILES "/usr/lib/debug/.build-id"
#define FIRST       1 /* the first process */

/* What files without a generation, and file systems that do not tell it, leave open, device and inode must do for. */
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

/* What the ways to a file have in common. */
struct search {
	int procfs;
	const struct capture_request *request;
	uint32_t pid;           /* 0: the process has ended, or none is known */
	struct file_user *user; /* of that process; NULL without one */
};

/*
 * Takes `path`, an O_PATH descriptor or an error, over; `root` is the process whose root the image's path was looked up
 * below. A descriptor for reading, or an error.
 */
static int
open_if_right(const struct search *search, int path, uint32_t root)
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
		err = file_user_may_read(search->user, fd, search->procfs, root, image->path);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* The one of two reasons that says more. */
static int
worse(int err, int other)
{
	static const int order[] = {-EACCES, -EPERM, -DCPI_EBUILDID};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (err == order[i] || other == order[i])
			return order[i];
	return err ? err : other;
}

enum way { WAY_MAPPING, WAY_PATH, WAY_PROGRAM, WAY_FIRST, WAY_OWN, WAYS };

static int
open_main(const struct search *search)
{
	const struct capture_request *request = search->request;
	const struct image *image = &request->image;
	const bool has_path = image->path[0] == '/';
	const uint32_t pid = search->pid;
	int fd = -ENOENT, err = -ENOENT;

	for (enum way way = WAY_MAPPING; way < WAYS; way++) {
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

/* Root's own file of that path and build-id; for as long as nobody has read the build-id, the inode tells. */
static int
open_roots(const struct search *search)
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
	struct search search = {.procfs = procfs, .request = request, .pid = request->pid};
	int err = 0;

	source->main = source->debug = -1;
	source->is_roots = false;
	if (search.pid)
		err = file_user_of_process(procfs, search.pid, &search.user);
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
	file_user_free(search.user);
	if (source->main < 0)
		return source->main;
	source->debug = open_debug(&request->image);
	return 0;
}
