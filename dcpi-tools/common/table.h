/*
 * table.h - rows and columns of text, for a reader or as comma-separated values
 *
 * Columns are as wide as their contents. If the output is a terminal and the table is wider, columns that allow it are
 * cut, the widest first, with a … where something is missing. Otherwise nothing is cut.
 * Thread rule: one thread per table or csv.
 */
#ifndef DCPI_TOOLS_TABLE_H
#define DCPI_TOOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dcpi-tools/common/output.h"

enum table_align {
	TABLE_LEFT,
	TABLE_RIGHT,
};

enum table_cut {
	TABLE_WHOLE,     /* never cut */
	TABLE_CUT_END,   /* names */
	TABLE_CUT_START, /* paths: their end tells more */
};

struct table_column {
	const char *heading;
	enum table_align align;
	enum table_cut cut;
	size_t gap;       /* blanks before the column; not before the first */
	size_t min_width; /* columns it has at least */
	size_t max_width; /* and at most, so that one endless name does not move all others; what is wider sticks out
	                     (not on a terminal: there it is cut only where the table does not fit). 0: no limit */
};

struct table;

/* Headings are copied and escaped. NULL and errno (ENOMEM). */
struct table *table_new(const struct table_column *columns, size_t count);
void table_free(struct table *table); /* NULL is allowed */

/* The next cell, row by row, left to right; copies and escapes `text`. table_print() returns failures. */
void table_text(struct table *table, enum style style, const char *text);
void table_format(struct table *table, enum style style, const char *format, ...) __attribute__((format(printf, 3, 4)));

size_t table_width(const struct table *table, size_t limit); /* columns of a line, at most `limit` unless that is 0 */

/* A line of '=', as wide as the table is printed. */
void table_print_rule(const struct table *table, const struct output *output);

/* 0, or -ENOMEM when a cell could not be kept (then nothing is printed). */
int table_print(const struct table *table, const struct output *output, bool heading);

/* Comma-separated values, quoted as RFC 4180 says; but lines end with a newline alone. */
struct csv {
	FILE *stream;
	bool in_line; /* a field of this line has been written */
};

void csv_text(struct csv *csv, const char *text); /* unchanged: escape what comes from outside first */
int csv_shown(struct csv *csv, const char *text); /* from outside, escaped; "" for NULL. 0 or -ENOMEM */
void csv_number(struct csv *csv, uint64_t number);
void csv_real(struct csv *csv, double number, int digits); /* so many after the decimal point */
void csv_end(struct csv *csv);                             /* of the line */

#endif
