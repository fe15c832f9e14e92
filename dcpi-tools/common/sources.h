/*
 * sources.h - source files, each read once, and the instructions of a procedure by source line
 *
 * Thread rule: one thread per struct.
 */
#ifndef DCPI_TOOLS_SOURCES_H
#define DCPI_TOOLS_SOURCES_H

#include <stddef.h>
#include <stdint.h>

/* Their names come from an image, which any user may have written: what is read of them is bounded. */
#define SOURCES_MAX       4096        /* files */
#define SOURCES_BYTES_MAX (128 << 20) /* of memory, all of them together */
#define SOURCE_LINES_MAX  1000000     /* of a file */

#define SOURCE_NONE UINT32_MAX /* no index */

struct source {
	char *path;
	char **lines; /* without their ends, tabs as blanks; NULL: the file cannot be read */
	size_t line_count, capacity;
	int trouble; /* why it cannot: a negative errno; -EFBIG beyond the bounds */
};

struct sources {
	struct source *sources;
	size_t count, capacity;
	size_t bytes; /* that were read */
};

/* The index of the file at `path`, read if it can be; SOURCE_NONE when there are too many. 0, or -ENOMEM. */
int sources_add(struct sources *sources, const char *path, uint32_t *index);

/* Line `line` (from 1 on), "" when it is not there. */
const char *source_line(const struct source *source, unsigned line);
void sources_fini(struct sources *sources); /* a zeroed one is allowed */

struct line_place {
	uint32_t file; /* index into the sources; SOURCE_NONE: not known */
	unsigned line;
};

struct line_entry {
	struct line_place place;
	uint32_t first, count; /* its instructions are order[first] .. order[first + count - 1], ascending */
};

/* The lines that a procedure's instructions were compiled from, each once. */
struct line_index {
	struct line_entry *lines; /* ascending by file and line */
	size_t count;
	uint32_t *order; /* instructions whose place is known, those of one line together */
};

/* Make it of places[0] to places[count - 1], one for each instruction. 0, or -ENOMEM. */
int line_index_make(const struct line_place *places, uint32_t count, struct line_index *index);
void line_index_fini(struct line_index *index); /* a zeroed one is allowed */

/* The line of a place; NULL when no instruction is from there. */
const struct line_entry *line_index_find(const struct line_index *index, const struct line_place *place);

#endif
