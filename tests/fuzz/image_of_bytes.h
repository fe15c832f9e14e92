/*
 * image_of_bytes.h - any bytes as the file of an image, for fuzz targets
 */
#ifndef DCPI_FUZZ_IMAGE_OF_BYTES_H
#define DCPI_FUZZ_IMAGE_OF_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/image_table.h"

/* Calls `read_image` with the image, while its file is there. */
static inline void
with_image_of_bytes(const uint8_t *data, size_t size, void (*read_image)(const struct image *image, size_t size))
{
	struct image image = {.kind = IMAGE_USER};
	struct stat status;
	char path[64];
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, data, size) == (ssize_t)size && fstat(fd, &status) == 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		image.path = path;
		image.device_major = major(status.st_dev);
		image.device_minor = minor(status.st_dev);
		image.inode = status.st_ino;
		read_image(&image, size);
	}
	close(fd);
}

#endif
