/*
 * line_index.h - the source lines that a procedure's instructions were made from, each once, with its instructions
 *
 * Plain data once it is made.
 */
#ifndef DCPI_TOOLS_LINE_INDEX_H
#define DCPI_TOOLS_LINE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define SOURCE_NONE UINT32_MAX

struct list_place {
	uint32_t file; /* index into the sources; SOURCE_NONE: not known */
	unsigned line;
};

struct list_line {
	struct list_place place;
	uint32_t first, count; /* its instructions are order[first] .. order[first + count - 1], ascending */
};

struct line_index {
	struct list_line *lines; /* ascending by file and line */
	size_t count;
	uint32_t *order; /* instructions whose place is known, those of one line together */
};

/* Make it of places[0] to places[count - 1], one for each instruction. 0, or -ENOMEM. */
int line_index_make(const struct list_place *places, uint32_t count, struct line_index *index);
void line_index_fini(struct line_index *index); /* a zeroed one is allowed */

/* The line of a place; NULL when no instruction is from there. */
const struct list_line *line_index_find(const struct line_index *index, const struct list_place *place);

#endif
