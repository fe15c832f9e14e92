#include "process/process_birth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/lines.h"

#define FIELD_PARENT 4 /* proc(5) counts from 1 */
#define FIELD_START  22

/* What follows the name, which is in parentheses and may have some in it: " S 1 ...". NULL: nothing does. */
static const char *
behind_name(const char *text, size_t length)
{
	const char *end = memrchr(text, ')', length);

	return end ? end + 1 : NULL;
}

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
	return parse_decimal(&text, value) && *text == ' ' ? 0 : -EINVAL;
}

int
process_birth_parse(const char *text, size_t length, struct process_birth *birth)
{
	char fields[1024]; /* numbers: the one that we look for comes long before */
	const char *at = behind_name(text, length);
	uint64_t parent;

	if (!at)
		return -EINVAL;
	length -= (size_t)(at - text);
	if (length >= sizeof(fields))
		length = sizeof(fields) - 1;
	memcpy(fields, at, length);
	fields[length] = '\0';
	if (read_field(fields, FIELD_PARENT, &parent) || parent > UINT32_MAX ||
	    read_field(fields, FIELD_START, &birth->start_ticks))
		return -EINVAL;
	birth->parent = (uint32_t)parent;
	return 0;
}

int
process_birth_read(const char *procfs, uint32_t pid, struct process_birth *birth)
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
	return err ? err : process_birth_parse(text, (size_t)got, birth);
}

static int64_t
clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How long the machine has slept. */
static int64_t
slept_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
}

static int64_t
tick_ns(void)
{
	return 1000000000 / sysconf(_SC_CLK_TCK);
}

int64_t
process_birth_monotonic_ns(uint64_t ticks)
{
	if (ticks > (uint64_t)(INT64_MAX / tick_ns()))
		return INT64_MAX;
	return (int64_t)ticks * tick_ns() - slept_ns();
}

uint64_t
process_birth_ticks(uint64_t monotonic_ns)
{
	return (monotonic_ns + (uint64_t)slept_ns()) / (uint64_t)tick_ns();
}
