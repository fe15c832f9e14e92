#include "process/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
lines_init(struct line_reader *reader, int fd)
{
	reader->fd = fd;
	reader->start = reader->end = 0;
	reader->ended = reader->skipping = false;
}

/* Read more behind what is there; a buffer full of one line is thrown away and the rest of that line with it. */
static int
fill(struct line_reader *reader)
{
	ssize_t got;

	memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
	reader->end -= reader->start;
	reader->start = 0;
	if (reader->end == LINES_BUFFER_SIZE - 1) {
		reader->end = 0;
		reader->skipping = true;
	}
	do
		got = read(reader->fd, reader->buffer + reader->end, LINES_BUFFER_SIZE - 1 - reader->end);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	reader->end += (size_t)got;
	reader->ended = got == 0;
	return 0;
}

static bool
take_line(struct line_reader *reader, size_t length, char **line)
{
	bool whole = !reader->skipping;

	*line = reader->buffer + reader->start;
	(*line)[length] = '\0';
	reader->start += length + 1;
	reader->skipping = false;
	return whole;
}

int
lines_next(struct line_reader *reader, char **line)
{
	int err;

	for (;;) {
		size_t left = reader->end - reader->start;
		char *at = reader->buffer + reader->start;
		char *newline = memchr(at, '\n', left);

		if (newline) {
			if (take_line(reader, (size_t)(newline - at), line))
				return 1;
			continue;
		}
		if (reader->ended) {
			reader->start = reader->end;
			if (left == 0 || reader->skipping)
				return 0;
			at[left] = '\0';
			*line = at;
			return 1;
		}
		err = fill(reader);
		if (err)
			return err;
	}
}

static int
visit_all(int fd, lines_visit *visit, void *context)
{
	struct line_reader *reader = malloc(sizeof(*reader));
	char *line = NULL;
	int result;

	if (!reader)
		return -ENOMEM;
	lines_init(reader, fd);
	do
		result = lines_next(reader, &line);
	while (result > 0 && (result = visit(context, line)) == 0);
	free(reader);
	return result;
}

int
lines_read(const char *directory, const char *name, lines_visit *visit, void *context)
{
	char path[PATH_MAX];
	int fd, result;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	result = visit_all(fd, visit, context);
	close(fd);
	return result;
}

static bool
parse_number(const char **at, unsigned base, uint64_t *value)
{
	const char *start = *at;

	*value = 0;
	for (;; (*at)++) {
		unsigned char c = (unsigned char)**at;
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10u;
		else
			return *at != start;
		if (*value > (UINT64_MAX - digit) / base)
			return false;
		*value = *value * base + digit;
	}
}

bool
parse_hex(const char **at, uint64_t *value)
{
	return parse_number(at, 16, value);
}

bool
parse_decimal(const char **at, uint64_t *value)
{
	return parse_number(at, 10, value);
}
