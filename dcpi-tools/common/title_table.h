/*
 * title_table.h - numbers of procedures, which their titles identify
 *
 * Frames of call stacks are one if their titles and those of their images are equal, whichever their addresses. Numbers
 * are given from 0, in the order of first use: they are indices of an array that the owner appends to.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_TITLE_TABLE_H
#define DCPI_TOOLS_TITLE_TABLE_H

#include <stdint.h>

struct titled_procedure;

/* Zeroed: empty. */
struct title_table {
	struct titled_procedure *procedures;
};

/* The number of the procedure `title` of the image `image` ("": none), new or not; both are copied. 0 or -ENOMEM. */
int title_table_intern(struct title_table *table, const char *title, const char *image, uint32_t *number);

void title_table_fini(struct title_table *table); /* a zeroed one is allowed */

#endif
