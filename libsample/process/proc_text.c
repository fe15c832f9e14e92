#include "process/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define INITIAL_PID_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO: the machine's own */

void
line_reader_init(struct line_reader *reader, int fd)
{
	reader->fd = fd;
	reader->start = reader->end = 0;
	reader->ended = reader->skipping = false;
}

/* Read more behind the unread bytes. A line that fills the buffer is discarded, and the rest of it is skipped. */
static int
line_reader_fill(struct line_reader *reader)
{
	ssize_t got;

	memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
	reader->end -= reader->start;
	reader->start = 0;
	if (reader->end == LINE_READER_SIZE - 1) {
		reader->end = 0;
		reader->skipping = true;
	}
	do
		got = read(reader->fd, reader->buffer + reader->end, LINE_READER_SIZE - 1 - reader->end);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	reader->end += (size_t)got;
	reader->ended = got == 0;
	return 0;
}

int
line_reader_next(struct line_reader *reader, char **line)
{
	int err;

	for (;;) {
		size_t left = reader->end - reader->start;
		char *at = reader->buffer + reader->start;
		char *newline = memchr(at, '\n', left);

		if (newline) {
			const bool is_whole = !reader->skipping;

			*newline = '\0';
			reader->start += (size_t)(newline - at) + 1;
			reader->skipping = false;
			if (!is_whole)
				continue;
			*line = at;
			return 1;
		}
		if (reader->ended) {
			reader->start = reader->end;
			if (left == 0 || reader->skipping)
				return 0;
			at[left] = '\0';
			*line = at;
			return 1;
		}
		err = line_reader_fill(reader);
		if (err)
			return err;
	}
}

int
proc_text_read(const char *directory, const char *name, proc_text_visit *visit, void *context)
{
	struct line_reader *reader;
	char path[PATH_MAX], *line = NULL;
	int fd, result;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	reader = malloc(sizeof(*reader));
	if (!reader) {
		close(fd);
		return -ENOMEM;
	}
	line_reader_init(reader, fd);
	do
		result = line_reader_next(reader, &line);
	while (result > 0 && (result = visit(context, line)) == 0);
	free(reader);
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
proc_text_hex(const char **at, uint64_t *value)
{
	return parse_number(at, 16, value);
}

bool
proc_text_decimal(const char **at, uint64_t *value)
{
	return parse_number(at, 10, value);
}

/* ---- /proc/PID/stat ---- */

#define FIELD_PARENT 4 /* proc(5) counts from 1 */
#define FIELD_START  22

/* The number in field `wanted`; the text begins behind field 2. */
static int
read_field(const char *text, int wanted, uint64_t *value)
{
	for (int field = 2; field < wanted; field++) {
		text = strchr(text, ' ');
		if (!text)
			return -EINVAL;
		text++;
	}
	return proc_text_decimal(&text, value) && *text == ' ' ? 0 : -EINVAL;
}

int
proc_stat_parse(const char *text, size_t length, struct proc_stat *stat)
{
	/* field 2, the name, is in parentheses and may contain some: the last one closes it */
	const char *end = memrchr(text, ')', length);
	char fields[1024]; /* from field 3 on, numbers: the start time comes long before the end */
	uint64_t parent;

	if (!end)
		return -EINVAL;
	length -= (size_t)(end + 1 - text);
	if (length >= sizeof(fields))
		length = sizeof(fields) - 1;
	memcpy(fields, end + 1, length);
	fields[length] = '\0';
	if (read_field(fields, FIELD_PARENT, &parent) || parent > UINT32_MAX ||
	    read_field(fields, FIELD_START, &stat->start_ticks))
		return -EINVAL;
	stat->parent = (uint32_t)parent;
	return 0;
}

int
proc_stat_read(const char *procfs, uint32_t pid, struct proc_stat *stat)
{
	char path[PATH_MAX], text[2048];
	ssize_t got;
	int fd, err = 0;

	if (snprintf(path, sizeof(path), "%s/%" PRIu32 "/stat", procfs, pid) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = TEMP_FAILURE_RETRY(read(fd, text, sizeof(text)));
	if (got < 0)
		err = -errno;
	close(fd);
	return err ? err : proc_stat_parse(text, (size_t)got, stat);
}

/* Time that the machine has slept. */
static int64_t
slept_ns(void)
{
	return (int64_t)(clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC));
}

static int64_t
tick_ns(void)
{
	return 1000000000 / sysconf(_SC_CLK_TCK);
}

int64_t
proc_stat_monotonic_ns(uint64_t ticks)
{
	if (ticks > (uint64_t)(INT64_MAX / tick_ns()))
		return INT64_MAX;
	return (int64_t)ticks * tick_ns() - slept_ns();
}

uint64_t
proc_stat_ticks(uint64_t monotonic_ns)
{
	return (monotonic_ns + (uint64_t)slept_ns()) / (uint64_t)tick_ns();
}

bool
proc_text_is_nested(const char *procfs)
{
	char path[PATH_MAX], target[64];
	ssize_t length;

	if (snprintf(path, sizeof(path), "%s/self/ns/pid", procfs) >= (int)sizeof(path))
		return false;
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	return strcmp(target, INITIAL_PID_NAMESPACE) != 0;
}
