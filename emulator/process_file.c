#include "emulator/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_TRIES 1000

int
process_file_create(struct process_file *file)
{
	int fd = -1;

	for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
		snprintf(file->name, sizeof(file->name), "%s/%s%d.%d", file->directory, file->prefix, (int)getpid(), i);
		fd = open(file->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

int
process_file_open(const struct process_file *file)
{
	const int fd = open(file->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd;
}

/* What is mapped already must stay in it. */
static int
grow(int fd, uint64_t size)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	return (uint64_t)status.st_size >= size || ftruncate(fd, (off_t)size) == 0 ? 0 : -errno;
}

int
process_file_map(int fd, void **mapped, size_t size, uint64_t offset)
{
	const int flags =
		MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (*mapped ? MAP_FIXED : 0);
	void *memory;
	int err = fd < 0 ? 0 : grow(fd, offset + size);

	if (err)
		return err;
	memory = mmap(*mapped, size, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, size, MADV_RANDOM); /* most of it is holes: to read some ahead of each page takes longest */
	*mapped = memory;
	return 0;
}

void
process_file_leave(void *mapped, size_t size)
{
	if (mapped && process_file_map(-1, &mapped, size, 0))
		abort(); /* rather than write into somebody else's file */
}
