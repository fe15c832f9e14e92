#include "stream/byte_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
byte_source_init(struct byte_source *source, int fd, uint64_t offset, uint64_t end_offset)
{
	memset(source, 0, sizeof(*source));
	source->fd = fd;
	source->offset = offset;
	source->end_offset = end_offset;
	source->window = malloc(BYTE_SOURCE_WINDOW);
	return source->window ? 0 : -ENOMEM;
}

void
byte_source_fini(struct byte_source *source)
{
	free(source->window);
	source->window = NULL;
}

size_t
byte_source_waiting(const struct byte_source *source)
{
	return source->end - source->at;
}

/* Read once, behind what waits. 0, -ENODATA at the end, or an errno. */
static int
read_more(struct byte_source *source)
{
	uint64_t left = source->end_offset - source->offset - byte_source_waiting(source);
	size_t room = BYTE_SOURCE_WINDOW - source->end;
	ssize_t size;

	if (room > left)
		room = (size_t)left;
	size = read(source->fd, source->window + source->end, room);
	if (size < 0)
		return -errno;
	source->end += (size_t)size;
	return size > 0 ? 0 : -ENODATA;
}

int
byte_source_need(struct byte_source *source, size_t size, const uint8_t **bytes)
{
	int err;

	if (source->at + size > BYTE_SOURCE_WINDOW) {
		memmove(source->window, source->window + source->at, byte_source_waiting(source));
		source->end -= source->at;
		source->at = 0;
	}
	while (byte_source_waiting(source) < size) {
		err = read_more(source);
		if (err)
			return err;
	}
	*bytes = source->window + source->at;
	return 0;
}

int
byte_source_skip(struct byte_source *source, uint64_t size)
{
	while (size > byte_source_waiting(source)) {
		int err;

		size -= byte_source_waiting(source);
		source->offset += byte_source_waiting(source);
		source->at = source->end = 0;
		err = read_more(source);
		if (err)
			return err;
	}
	source->at += (size_t)size;
	source->offset += size;
	return 0;
}
