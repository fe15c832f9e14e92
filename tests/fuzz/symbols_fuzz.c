/* Any file can stand at the path of an image: opening it, reading its symbols and asking for them must be safe. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "image/symbols.h"

#define LOOKUPS 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
look_up(const struct symbol_table *table, size_t size)
{
	for (uint64_t i = 0; i < LOOKUPS; i++) {
		uint64_t offset = i * size / LOOKUPS;
		const struct symbol *symbol = symbol_table_find(table, offset);

		if (!symbol)
			continue;
		if (offset < symbol->offset || (symbol->size && offset - symbol->offset >= symbol->size))
			abort();
		if (symbol->name)
			free(symbol_demangle(symbol->name));
	}
}

static void
read_image(const struct image *image, size_t size)
{
	struct symbol_table *table;
	struct image_file *file;
	uint64_t address;

	if (image_file_open(image, &file))
		return;
	image_file_address(file, size / 2, &address);
	if (symbol_table_from_file(file, &table) == 0) {
		look_up(table, size);
		symbol_table_free(table);
	}
	image_file_close(file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image = {.kind = IMAGE_USER};
	struct stat status;
	char path[64];
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size && fstat(fd, &status) == 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		image.path = path;
		image.device_major = major(status.st_dev);
		image.device_minor = minor(status.st_dev);
		image.inode = status.st_ino;
		read_image(&image, size);
	}
	close(fd);
	return 0;
}
