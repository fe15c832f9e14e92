#include "dcpi-tools/list/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define TAB_WIDTH 8

/* A copy with blanks for tabs and without the line's end; NULL: no memory. */
static char *
expand(const char *line)
{
	char *text = NULL;
	size_t size = 0, column = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	for (; *line && *line != '\n' && *line != '\r'; line++) {
		size_t width = *line == '\t' ? TAB_WIDTH - column % TAB_WIDTH : 1;

		column += width;
		while (width-- > 1)
			fputc(' ', stream);
		fputc(*line == '\t' ? ' ' : *line, stream);
	}
	fclose(stream);
	return text;
}

static int
read_lines(struct source *source, FILE *file)
{
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (!err && source->line_count < SOURCE_LINES_MAX && getline(&line, &size, file) >= 0) {
		char **lines = array_grow(source->lines, &source->capacity, source->line_count + 1, sizeof(*lines));

		err = lines ? 0 : -ENOMEM;
		if (err)
			break;
		source->lines = lines;
		lines[source->line_count] = expand(line);
		err = lines[source->line_count] ? 0 : -ENOMEM;
		source->line_count += !err;
	}
	free(line);
	return err;
}

static int
read_source(struct source *source)
{
	FILE *file = fopen(source->path, "re");
	int err;

	if (!file) {
		source->trouble = -errno;
		return 0;
	}
	errno = 0;
	err = read_lines(source, file);
	if (!err && ferror(file))
		source->trouble = errno ? -errno : -EIO;
	fclose(file);
	return err;
}

int
sources_add(struct sources *sources, const char *path, unsigned line, uint32_t *index)
{
	struct source *source;

	for (*index = 0; *index < sources->count; ++*index) {
		source = &sources->sources[*index];
		if (strcmp(source->path, path) != 0)
			continue;
		source->first = line < source->first ? line : source->first;
		source->last = line > source->last ? line : source->last;
		return 0;
	}
	source = array_grow(sources->sources, &sources->capacity, sources->count + 1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	sources->sources = source;
	source += sources->count;
	*source = (struct source){.path = strdup(path), .first = line, .last = line};
	if (!source->path)
		return -ENOMEM;
	sources->count++;
	return read_source(source);
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
