/*
 * code.h - one procedure on both sides: match its blocks, instructions and source lines
 *
 * If both sides have one build, they are compared by block and instruction. Two builds are compared by source line if
 * both have line numbers. Lines of files with one name are aligned by their texts, as by diff(1), if both texts can be
 * read at different paths, else by number. Without line numbers, instructions are aligned by their text.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_CODE_H
#define DCPI_TOOLS_DIFF_CODE_H

#include "code/decoder.h"
#include "dcpi-tools/common/sources.h"
#include "dcpi-tools/diff/compare.h"
#include "dcpi-tools/diff/input.h"

struct diff_instruction {
	uint64_t address;
	char *text;
	struct compare_count samples;
	struct compare_count *runs; /* the samples by run of the side; NULL: not known */
	uint32_t size;              /* bytes */
	struct code_figures figures;
	uint32_t file; /* index into the sources; SOURCE_NONE: not known */
	unsigned line;
	uint32_t block;
};

struct diff_code_block {
	uint32_t first, count; /* its instructions */
	struct code_figures figures;
};

/* The code of one side; constant after diff_code_read(). */
struct diff_code {
	uint64_t start_ns; /* when the samples of its set begin */
	uint32_t image;    /* index into the selection's */
	char *title;       /* not escaped */
	uint64_t offset;   /* where it begins in the image */
	struct compare_count samples;
	struct code_figures figures;
	struct diff_instruction *instructions;
	size_t instruction_count;
	struct diff_code_block *blocks;
	size_t block_count;
	struct sources sources;
	bool has_lines;
};

struct diff_code_request {
	const char *name; /* as procedure_find() takes it */
	enum listing_syntax syntax;
	const struct input_request *input;
};

/* Read the code of an opened side while the database is open. An exit status: 0, or another after a message. */
int diff_code_read(struct diff_code *code, struct diff_input *input, const struct diff_code_request *request,
                   const struct profile_set_visit *visit);
void diff_code_fini(struct diff_code *code); /* a zeroed one is allowed */

enum code_view {
	VIEW_BEST,         /* chosen as described above */
	VIEW_INSTRUCTIONS, /* for any builds */
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
	bool has[2];        /* whether the side has it */
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
	enum code_view view;    /* the view that was chosen */
	bool same_build;
	bool by_number; /* some lines were matched by number, because their texts could not be compared, and may have
	                   changed */
};

/*
 * `codes` must outlive the rows. 0; -ENOENT when lines are wanted and a side has none; -ENOMEM.
 */
int code_rows_make(const struct diff_code codes[2], bool same_build, enum code_view view,
                   const struct compare_scale *scale, double alpha, struct code_rows *rows);
void code_rows_fini(struct code_rows *rows); /* a zeroed one is allowed */

#endif
