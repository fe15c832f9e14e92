#include "dcpi-tools/common/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"

#define TAB_WIDTH  8
#define LINE_BYTES 64 /* of memory, that a line has besides its text */

/* A copy with blanks for tabs, up to its end; NULL: no memory. */
static char *
expand(const char *line, size_t size)
{
	size_t tabs = 0, column = 0;
	char *text;

	for (size_t i = 0; i < size; i++)
		tabs += line[i] == '\t';
	text = malloc(size + tabs * (TAB_WIDTH - 1) + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < size && line[i] && line[i] != '\r'; i++) {
		size_t width = line[i] == '\t' ? TAB_WIDTH - column % TAB_WIDTH : 1;

		while (width-- > 0)
			text[column++] = (char)(line[i] == '\t' ? ' ' : line[i]);
	}
	text[column] = '\0';
	return text;
}

static int
add_line(struct source *source, const char *line, size_t size, struct sources *sources)
{
	char **lines;

	if (source->line_count == SOURCE_LINES_MAX || sources->bytes > SOURCES_BYTES_MAX) {
		source->trouble = -EFBIG;
		return 0;
	}
	lines = array_grow(source->lines, &source->capacity, source->line_count + 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	source->lines = lines;
	lines[source->line_count] = expand(line, size);
	if (!lines[source->line_count])
		return -ENOMEM;
	sources->bytes += LINE_BYTES + strlen(lines[source->line_count++]);
	return 0;
}

static int
split(struct source *source, const char *text, size_t size, struct sources *sources)
{
	int err = 0;

	while (size > 0 && !err && !source->trouble) {
		const char *end = memchr(text, '\n', size);
		const size_t length = end ? (size_t)(end - text) : size;

		err = add_line(source, text, length, sources);
		text += end ? length + 1 : length;
		size -= end ? length + 1 : length;
	}
	return err;
}

/* A pipe or a device would be waited for, or never end. Returns a descriptor, or an error. */
static int
open_file(const char *path, size_t room, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) < 0)
		err = -errno;
	else if (!S_ISREG(status.st_mode))
		err = S_ISDIR(status.st_mode) ? -EISDIR : -DCPI_EDAMAGED;
	else if (status.st_size < 0 || (uint64_t)status.st_size > room)
		err = -EFBIG;
	if (!err) {
		*size = (size_t)status.st_size;
		return fd;
	}
	close(fd);
	return err;
}

/* As much of it as there is, at most `size` bytes: how many, or an error. */
static ssize_t
read_bytes_of(int fd, char *text, size_t size)
{
	size_t got = 0;
	ssize_t more;

	while (got < size) {
		more = read(fd, text + got, size - got);
		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			return -errno;
		if (more == 0)
			break;
		got += (size_t)more;
	}
	return (ssize_t)got;
}

static int
read_source(struct source *source, struct sources *sources)
{
	const size_t room = sources->bytes < SOURCES_BYTES_MAX ? SOURCES_BYTES_MAX - sources->bytes : 0;
	size_t size = 0;
	int fd = open_file(source->path, room, &size), err = -ENOMEM;
	ssize_t got;
	char *text;

	if (fd < 0) {
		source->trouble = fd;
		return 0;
	}
	text = malloc(size + 1);
	if (text) {
		got = read_bytes_of(fd, text, size);
		source->trouble = got < 0 ? (int)got : 0;
		err = got < 0 ? 0 : split(source, text, (size_t)got, sources);
	}
	free(text);
	close(fd);
	return err;
}

static bool
find_source(const struct sources *sources, const char *path, uint32_t *index)
{
	for (size_t i = sources->count; i > 0; i--) { /* mostly the last one */
		*index = (uint32_t)i - 1;
		if (strcmp(sources->sources[*index].path, path) == 0)
			return true;
	}
	return false;
}

int
sources_add(struct sources *sources, const char *path, uint32_t *index)
{
	struct source *source;

	if (find_source(sources, path, index))
		return 0;
	*index = SOURCE_NONE;
	if (sources->count == SOURCES_MAX)
		return 0;
	source = array_grow(sources->sources, &sources->capacity, sources->count + 1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	sources->sources = source;
	source += sources->count;
	*source = (struct source){.path = strdup(path)};
	if (!source->path)
		return -ENOMEM;
	*index = (uint32_t)sources->count++;
	return read_source(source, sources);
}

const char *
source_line(const struct source *source, unsigned line)
{
	return line >= 1 && line <= source->line_count ? source->lines[line - 1] : "";
}

void
sources_fini(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		for (size_t k = 0; k < sources->sources[i].line_count; k++)
			free(sources->sources[i].lines[k]);
		free(sources->sources[i].lines);
		free(sources->sources[i].path);
	}
	free(sources->sources);
	memset(sources, 0, sizeof(*sources));
}
