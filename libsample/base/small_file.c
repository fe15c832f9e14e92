#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static int
read_first_line(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got;
	char *newline;

	if (fd < 0)
		return -errno;
	got = file_read_at(fd, text, size, 0);
	close(fd);
	if (got < 0)
		return (int)got;
	newline = memchr(text, '\n', (size_t)got);
	if (!newline && (size_t)got == size)
		return -EFBIG;
	if (newline)
		*newline = '\0';
	else
		text[got] = '\0';
	return 0;
}

static int
read_formatted(char *text, size_t size, const char *path_format, va_list arguments)
{
	char path[PATH_MAX];
	int length = vsnprintf(path, sizeof(path), path_format, arguments);
	int err;

	err = length < 0 || (size_t)length >= sizeof(path) ? -ENAMETOOLONG : read_first_line(path, text, size);
	if (err)
		text[0] = '\0';
	return err;
}

int
small_file_read(char *text, size_t size, const char *path_format, ...)
{
	va_list arguments;
	int err;

	va_start(arguments, path_format);
	err = read_formatted(text, size, path_format, arguments);
	va_end(arguments);
	return err;
}

int
small_file_read_number(int64_t *number, const char *path_format, ...)
{
	va_list arguments;
	char text[32];
	char *end;
	int err;

	va_start(arguments, path_format);
	err = read_formatted(text, sizeof(text), path_format, arguments);
	va_end(arguments);
	if (err)
		return err;
	errno = 0;
	*number = strtoll(text, &end, 10);
	return errno || end == text || *end ? -EINVAL : 0;
}
