/*
 * code_rows.h - which blocks and instructions, or source lines, of one procedure on two sides match
 *
 * One build is compared by block and instruction. Two builds are compared by source line where both have line numbers:
 * lines of files of one name are aligned by their texts, as diff(1) does, if both texts can be read at different paths,
 * else by number. Without line numbers, instructions are aligned by their text.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_CODE_ROWS_H
#define DCPI_TOOLS_DIFF_CODE_ROWS_H

#include "dcpi-tools/diff/code.h"
#include "dcpi-tools/diff/compare.h"

enum code_view {
	VIEW_BEST,         /* as above */
	VIEW_INSTRUCTIONS, /* whatever the builds are */
	VIEW_LINES,
};

enum code_row_kind {
	ROW_PROCEDURE,
	ROW_BLOCK,
	ROW_INSTRUCTION,
	ROW_LINE,
};

extern const char *const code_row_kind_names[]; /* "procedure", ... */

struct code_row {
	struct diff_comparison comparison; /* first: compare_adjust() */
	enum code_row_kind kind;
	bool has[2];        /* it is there */
	uint64_t places[2]; /* addresses, or numbers of lines */
	const char *file;   /* of a line, without folder; borrowed */
	const char *text;   /* of an instruction or a line; borrowed; of the second side if it is there */
	size_t size;        /* instructions of a block */
	struct code_figures figures[2];
};

struct code_rows {
	struct code_row *rows; /* the procedure, then blocks with their instructions, or lines */
	size_t count, capacity;
	size_t marked_count;
	struct variation noise; /* with several runs of a side: of instructions or lines */
	enum code_view view;    /* what it has become */
	bool same_build;
	bool by_number; /* some lines: their texts could not be compared, and may have changed */
};

/*
 * `codes` must outlive the rows. 0; -ENOENT when lines are wanted and a side has none; -ENOMEM.
 */
int code_rows_make(const struct diff_code codes[2], bool same_build, enum code_view view,
                   const struct compare_scale *scale, double alpha, struct code_rows *rows);
void code_rows_fini(struct code_rows *rows); /* a zeroed one is allowed */

#endif
