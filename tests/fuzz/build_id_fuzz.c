#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/build_id.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file is read through a window, memory directly: where both find something, it is the same. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t from_notes[BUILD_ID_SIZE_MAX], from_memory[BUILD_ID_SIZE_MAX], from_file[BUILD_ID_SIZE_MAX];
	int notes_size, memory_size, file_size;
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("build-id", MFD_CLOEXEC);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	notes_size = build_id_from_notes(data, size, from_notes);
	memory_size = build_id_from_memory(data, size, from_memory);
	file_size = build_id_from_file(fd, from_file);
	if (notes_size > BUILD_ID_SIZE_MAX || memory_size > BUILD_ID_SIZE_MAX || file_size > BUILD_ID_SIZE_MAX)
		abort();
	if (file_size > 0 && (memory_size != file_size || memcmp(from_file, from_memory, (size_t)file_size) != 0))
		abort();
	return 0;
}
