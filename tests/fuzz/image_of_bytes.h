/*
 * image_of_bytes.h - any bytes as the file of an image, for fuzz targets, and where to look into it
 */
#ifndef DCPI_FUZZ_IMAGE_OF_BYTES_H
#define DCPI_FUZZ_IMAGE_OF_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "image/image_file.h"
#include "process/image_table.h"

#define LOOKUPS 256

/* The address of a byte of the file, or the offset of one that is not mapped; `number`, below LOOKUPS, of `size`. */
static inline uint64_t
address_of_lookup(const struct image_file *file, uint64_t number, size_t size)
{
	uint64_t address;

	return image_file_address(file, number * size / LOOKUPS, &address) ? number * size / LOOKUPS : address;
}

/* Calls `read_file` with the file of an image that has these bytes, if it can be opened. */
static inline void
with_file_of_bytes(const uint8_t *data, size_t size, void (*read_file)(struct image_file *file, size_t size))
{
	struct image image = {.kind = IMAGE_USER};
	struct image_file *file;
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
		if (image_file_open(&image, &file) == 0) {
			read_file(file, size);
			image_file_close(file);
		}
	}
	close(fd);
}

#endif
