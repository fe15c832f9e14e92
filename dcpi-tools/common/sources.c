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
#include "base/file.h"

#define TAB_WIDTH  8
#define LINE_BYTES 64 /* memory of a line besides its text */

/* A copy with blanks for tabs, without the end of the line; NULL: no memory. */
static char *
copy_line(const char *line, size_t size)
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
	lines[source->line_count] = copy_line(line, size);
	if (!lines[source->line_count])
		return -ENOMEM;
	sources->bytes += LINE_BYTES + strlen(lines[source->line_count++]);
	return 0;
}

/* A descriptor, or an error. A pipe or a device would block, or never end: only regular files are read. */
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

/* 0, also when the file cannot be read (source->trouble), or -ENOMEM. */
static int
read_source(struct source *source, struct sources *sources)
{
	const size_t room = sources->bytes < SOURCES_BYTES_MAX ? SOURCES_BYTES_MAX - sources->bytes : 0;
	size_t size = 0;
	int fd = open_file(source->path, room, &size), err = 0;
	char *text, *line;
	ssize_t left;

	if (fd < 0) {
		source->trouble = fd;
		return 0;
	}
	text = malloc(size + 1);
	left = text ? file_read_at(fd, text, size, 0) : 0;
	close(fd);
	if (!text)
		return -ENOMEM;
	if (left < 0)
		source->trouble = (int)left;
	for (line = text; left > 0 && !err && !source->trouble;) {
		const char *end = memchr(line, '\n', (size_t)left);
		const size_t length = end ? (size_t)(end - line) : (size_t)left, step = length + (end != NULL);

		err = add_line(source, line, length, sources);
		line += step;
		left -= (ssize_t)step;
	}
	free(text);
	return err;
}

int
sources_add(struct sources *sources, const char *path, uint32_t *index)
{
	struct source *source;

	for (size_t i = sources->count; i-- > 0;) { /* most often it is the last one */
		*index = (uint32_t)i;
		if (strcmp(sources->sources[i].path, path) == 0)
			return 0;
	}
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

static int
compare_places(const struct line_place *one, const struct line_place *other)
{
	if (one->file != other->file)
		return one->file < other->file ? -1 : 1;
	return (one->line > other->line) - (one->line < other->line);
}

/* An instruction, and the place that it is sorted by. */
struct line_use {
	struct line_place place;
	uint32_t instruction;
};

static int
compare_uses(const void *a, const void *b)
{
	const struct line_use *one = a, *other = b;
	const int order = compare_places(&one->place, &other->place);

	return order ? order : (one->instruction > other->instruction) - (one->instruction < other->instruction);
}

int
line_index_make(const struct line_place *places, uint32_t count, struct line_index *index)
{
	struct line_use *uses = calloc((size_t)count + 1, sizeof(*uses));
	uint32_t known = 0;

	*index = (struct line_index){
		.lines = calloc((size_t)count + 1, sizeof(*index->lines)),
		.order = calloc((size_t)count + 1, sizeof(*index->order)),
	};
	if (!uses || !index->lines || !index->order) {
		free(uses);
		line_index_fini(index);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		if (places[i].file != SOURCE_NONE)
			uses[known++] = (struct line_use){.place = places[i], .instruction = i};
	if (known)
		qsort(uses, known, sizeof(*uses), compare_uses);
	for (uint32_t i = 0; i < known; i++) {
		struct line_entry *last = index->count ? &index->lines[index->count - 1] : NULL;

		if (!last || compare_places(&last->place, &uses[i].place) != 0) {
			last = &index->lines[index->count++];
			*last = (struct line_entry){.place = uses[i].place, .first = i};
		}
		last->count++;
		index->order[i] = uses[i].instruction;
	}
	free(uses);
	return 0;
}

void
line_index_fini(struct line_index *index)
{
	free(index->lines);
	free(index->order);
	*index = (struct line_index){0};
}

const struct line_entry *
line_index_find(const struct line_index *index, const struct line_place *place)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = compare_places(&index->lines[middle].place, place);

		if (order == 0)
			return &index->lines[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
