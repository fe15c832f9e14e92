/*
 * sources.h - the text of source files, read once each
 *
 * Thread rule: one thread per struct sources.
 */
#ifndef DCPI_TOOLS_SOURCES_H
#define DCPI_TOOLS_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/common/line_index.h"

/* Their names come from an image, which may be anybody's: what is read of them is bounded. */
#define SOURCES_MAX       4096        /* files */
#define SOURCES_BYTES_MAX (128 << 20) /* of memory, all of them together */
#define SOURCE_LINES_MAX  1000000     /* of a file */

struct source {
	char *path;
	char **lines; /* without their ends, tabs as blanks; NULL: the file cannot be read */
	size_t line_count, capacity;
	int trouble; /* why it cannot: a negative errno; -EFBIG for what is past the bounds */
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

#endif
