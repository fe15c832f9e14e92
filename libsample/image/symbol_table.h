/*
 * symbol_table.h - what a symbol table is made of (private to this room)
 */
#ifndef DCPI_IMAGE_SYMBOL_TABLE_H
#define DCPI_IMAGE_SYMBOL_TABLE_H

#include "image/symbols.h"

/* A stretch of code and the symbol that holds it. A symbol inside another cuts the other into two ranges. */
struct symbol_range {
	uint64_t start, end;
	size_t symbol;
};

struct symbol_table {
	struct symbol *symbols;
	size_t count;
	struct symbol_range *ranges; /* ascending, disjoint */
	size_t range_count;
	char *names;
};

#endif
