/*
 * symbols_internal.h - candidates for symbols, as symbols.c, plt.c and call_frames.c find them (private to this room)
 *
 * The builder makes one table of them that gives each offset one symbol. A function that is found twice (an alias, or
 * in .symtab and in .dynsym) becomes one symbol under its best name: functions before labels, global before weak
 * before local, then fewer leading underscores, then with a size, then the shorter name, then byte order. Where symbols
 * overlap, the one that begins last wins for as long as it lasts. Ranges without a name (from .eh_frame) only fill what
 * named symbols leave open.
 * Thread rule: one thread per builder.
 */
#ifndef DCPI_IMAGE_SYMBOLS_INTERNAL_H
#define DCPI_IMAGE_SYMBOLS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/symbols.h"

/* Best first. */
enum symbol_binding {
	SYMBOL_GLOBAL,
	SYMBOL_WEAK,
	SYMBOL_LOCAL,
};

struct symbol_candidate {
	uint64_t offset;
	uint64_t size;      /* 0: not known */
	uint64_t limit;     /* offset that it cannot pass, e.g. the end of its section */
	const char *name;   /* borrowed until symbol_builder_finish(); NULL: unnamed */
	size_t name_length; /* without a version (`@@GLIBC_2.2.5`) */
	const char *suffix; /* literal that goes behind the name, or NULL */
	enum symbol_binding binding;
	bool label; /* a label in code, not declared to be a function */
};

struct symbol_builder {
	struct symbol_candidate *candidates;
	size_t count, capacity;
	size_t sorted; /* of them, the first that are in order */
};

#define SYMBOL_BUILDER_INIT                                                                                            \
	{                                                                                                              \
		0                                                                                                      \
	}

void symbol_builder_fini(struct symbol_builder *builder);

/* 0 or -ENOMEM. An empty candidate (limit not above offset) is ignored. */
int symbol_builder_add(struct symbol_builder *builder, const struct symbol_candidate *candidate);

/* The best named candidate that begins at `offset`, among those added so far; NULL when there is none. Sorts. */
const struct symbol_candidate *symbol_builder_best(struct symbol_builder *builder, uint64_t offset);

/* Make the table; afterwards the builder may only be finished with symbol_builder_fini(). 0 or -ENOMEM. */
int symbol_builder_finish(struct symbol_builder *builder, struct symbol_table **table);

#endif
