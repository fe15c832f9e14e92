/*
 * code.h - one procedure of one side: its blocks, instructions and source lines, with samples
 *
 * Not changed once it is read. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_CODE_H
#define DCPI_TOOLS_DIFF_CODE_H

#include "code/decoder.h"
#include "dcpi-tools/common/sources.h"
#include "dcpi-tools/diff/input.h"

struct diff_instruction {
	uint64_t address;
	char *text;
	struct compare_count samples;
	struct compare_count *runs; /* of those, by run of the side; NULL: not known */
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

/* Read it while the database is open, for an opened side. An exit status: 0, or another after a message. */
int diff_code_read(struct diff_code *code, struct diff_input *input, const struct diff_code_request *request,
                   const struct profile_set_visit *visit);
void diff_code_fini(struct diff_code *code); /* a zeroed one is allowed */

#endif
