#include "base/file.h"

#include <errno.h>
#include <unistd.h>

ssize_t
file_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	uint8_t *to = data;
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, to + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}
