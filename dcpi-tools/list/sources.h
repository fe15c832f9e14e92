/*
 * sources.h - the text of source files, read once each
 *
 * Thread rule: one thread per struct sources.
 */
#ifndef DCPI_TOOLS_LIST_SOURCES_H
#define DCPI_TOOLS_LIST_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#define SOURCE_NONE      UINT32_MAX
#define SOURCE_LINES_MAX 1000000 /* of a file that are read */

struct source {
	char *path;
	char **lines; /* without their ends, tabs as blanks; NULL: the file cannot be read */
	size_t line_count, capacity;
	int trouble;          /* why it cannot: a negative errno */
	unsigned first, last; /* lines that were asked for */
};

struct sources {
	struct source *sources;
	size_t count, capacity;
};

/* The index of the file at `path`, read if it can be, `line` of it being asked for. 0, or -ENOMEM. */
int sources_add(struct sources *sources, const char *path, unsigned line, uint32_t *index);

/* Line `line` (from 1 on), "" when it is not there. */
const char *source_line(const struct source *source, unsigned line);
void sources_fini(struct sources *sources); /* a zeroed one is allowed */

#endif
