/*
 * mapped_room.h - room on the disk for a part of a mapped file, before it is written to
 *
 * A file that was made larger has holes. To write to one on a full disk is a SIGBUS, which would end a program that
 * only has our library loaded. These use no function that such a library replaces, and may be called in handlers of
 * signals.
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_MAPPED_ROOM_H
#define DCPI_BASE_MAPPED_ROOM_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * `address`, of a page, is mapped, shared, from `offset` of the file at `path`. *by_file: by the file's name; set where
 * advice is not known, as before Linux 5.14. Emulators take it and do nothing: there it must be set before. False:
 * there is no room.
 */
static inline bool
mapped_room(bool *by_file, const void *address, size_t bytes, const char *path, uint64_t offset)
{
	bool has_room;
	int fd;

	if (!*by_file) {
		if (syscall(SYS_madvise, address, bytes, MADV_POPULATE_WRITE) == 0)
			return true;
		if (errno != EINVAL)
			return false;
		*by_file = true;
	}
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	has_room = syscall(SYS_fallocate, fd, 0, offset, bytes) == 0;
	syscall(SYS_close, fd);
	return has_room;
}

#endif
