#include "image/file_identity.h"

#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct identity {
	uint32_t device_major, device_minor;
	uint64_t inode;
};

static bool
is_same(const struct identity *identity, const struct image *image)
{
	return identity->inode == image->inode && identity->device_major == image->device_major &&
	       identity->device_minor == image->device_minor;
}

static bool
identity_by_stat(int fd, struct identity *identity)
{
	struct stat status;

	if (fstat(fd, &status))
		return false;
	*identity = (struct identity){major(status.st_dev), minor(status.st_dev), status.st_ino};
	return true;
}

static bool
find_in_maps(const void *mapping, struct identity *identity)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (maps && !found && getline(&line, &capacity, maps) > 0) {
		uintptr_t start;

		found = sscanf(line, "%" SCNxPTR "-%*x %*s %*x %" SCNx32 ":%" SCNx32 " %" SCNu64, &start,
		               &identity->device_major, &identity->device_minor, &identity->inode) == 4 &&
		        start == (uintptr_t)mapping;
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/*
 * Btrfs and overlayfs show another device to stat(2) than to those who look at mappings, as /proc and perf do. So the
 * file is mapped (and not touched) to see what it looks like there.
 */
static bool
identity_by_mapping(int fd, struct identity *identity)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *mapping = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	bool found;

	if (mapping == MAP_FAILED)
		return false;
	found = find_in_maps(mapping, identity);
	munmap(mapping, size);
	return found;
}

/* Inode numbers are given again soon after a file is removed; the generation tells the two files apart. */
static bool
is_generation(int fd, uint64_t generation)
{
	long own = 0;

	if (generation == 0 || ioctl(fd, FS_IOC_GETVERSION, &own))
		return true;
	return (uint32_t)own == (uint32_t)generation;
}

bool
file_is_image(int fd, const struct image *image)
{
	struct identity identity;

	if (image->inode == 0 || image->deleted)
		return false;
	if (!(identity_by_stat(fd, &identity) && is_same(&identity, image)) &&
	    !(identity_by_mapping(fd, &identity) && is_same(&identity, image)))
		return false;
	return is_generation(fd, image->inode_generation);
}
