#include "image/file_identity.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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
	struct stat status;

	if (image->inode == 0 || image->deleted || fstat(fd, &status))
		return false;
	if (status.st_ino != image->inode || major(status.st_dev) != image->device_major ||
	    minor(status.st_dev) != image->device_minor)
		return false;
	return is_generation(fd, image->inode_generation);
}
