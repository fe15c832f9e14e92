#include "dcpi-tools/diff/code_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/align.h"

struct code_row *
code_rows_add(struct code_rows *rows, enum code_row_kind kind)
{
	struct code_row *grown = array_grow(rows->rows, &rows->capacity, rows->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	rows->rows = grown;
	grown[rows->count] = (struct code_row){.kind = kind};
	return &grown[rows->count++];
}

static int
add_procedure(const struct diff_code codes[2], const struct scale *scale, struct code_rows *rows)
{
	const struct side_count samples[2] = {codes[0].samples, codes[1].samples};
	struct code_row *row = code_rows_add(rows, ROW_PROCEDURE);

	if (!row)
		return -ENOMEM;
	comparison_make(scale, samples, &row->comparison);
	for (unsigned side = 0; side < 2; side++) {
		row->has[side] = true;
		row->places[side] = codes[side].instruction_count ? codes[side].instructions[0].address : 0;
		row->figures[side] = codes[side].figures;
	}
	row->text = codes[1].title;
	return 0;
}

/* A row for what is one on both sides, or on one of them alone (the other is NULL). */
static int
add_instruction(const struct code_instruction *before, const struct code_instruction *after, const struct scale *scale,
                struct code_rows *rows)
{
	const struct code_instruction *sides[2] = {before, after};
	const struct side_count none = {0};
	const struct side_count samples[2] = {before ? before->samples : none, after ? after->samples : none};
	struct code_row *row = code_rows_add(rows, ROW_INSTRUCTION);

	if (!row)
		return -ENOMEM;
	comparison_make(scale, samples, &row->comparison);
	for (unsigned side = 0; side < 2; side++) {
		if (!sides[side])
			continue;
		row->has[side] = true;
		row->places[side] = sides[side]->address;
		row->figures[side] = sides[side]->figures;
		row->text = sides[side]->text;
	}
	return 0;
}

static int
add_block(const struct diff_code codes[2], size_t index, const struct scale *scale, struct code_rows *rows)
{
	const struct diff_code_block *block = &codes[0].blocks[index];
	struct code_row *row = code_rows_add(rows, ROW_BLOCK);
	struct side_count samples[2] = {{0}};
	int err = 0;

	if (!row)
		return -ENOMEM;
	row->size = block->count;
	for (unsigned side = 0; side < 2; side++) {
		row->has[side] = true;
		row->places[side] = codes[side].instructions[block->first].address;
		row->figures[side] = codes[side].blocks[index].figures;
		for (uint32_t i = 0; i < block->count; i++)
			side_count_add(&samples[side], &codes[side].instructions[block->first + i].samples);
	}
	comparison_make(scale, samples, &row->comparison);
	for (uint32_t i = 0; i < block->count && !err; i++)
		err = add_instruction(&codes[0].instructions[block->first + i],
		                      &codes[1].instructions[block->first + i], scale, rows);
	return err;
}

/* One build has one flow graph, unless what was recorded of jumps differs. */
static bool
same_blocks(const struct diff_code codes[2])
{
	if (codes[0].block_count != codes[1].block_count || codes[0].instruction_count != codes[1].instruction_count)
		return false;
	for (size_t i = 0; i < codes[0].block_count; i++)
		if (codes[0].blocks[i].first != codes[1].blocks[i].first ||
		    codes[0].blocks[i].count != codes[1].blocks[i].count)
			return false;
	return true;
}

static uint64_t *
hashes(const struct diff_code *code)
{
	uint64_t *numbers = calloc(code->instruction_count + 1, sizeof(*numbers));

	for (size_t i = 0; numbers && i < code->instruction_count; i++)
		numbers[i] = instruction_hash(code->instructions[i].text);
	return numbers;
}

/* Those of the first side in their order; those that only the second has, where they are in its order. */
static int
merge(const struct diff_code codes[2], const uint32_t *partners, const struct scale *scale, struct code_rows *rows)
{
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; i < codes[0].instruction_count && !err; i++) {
		const struct code_instruction *after = NULL;

		if (partners[i] != ALIGN_NONE) {
			for (; next < partners[i] && !err; next++)
				err = add_instruction(NULL, &codes[1].instructions[next], scale, rows);
			after = &codes[1].instructions[next++];
		}
		if (!err)
			err = add_instruction(&codes[0].instructions[i], after, scale, rows);
	}
	for (; next < codes[1].instruction_count && !err; next++)
		err = add_instruction(NULL, &codes[1].instructions[next], scale, rows);
	return err;
}

int
code_rows_instructions(const struct diff_code codes[2], const struct scale *scale, struct code_rows *rows)
{
	uint64_t *before = hashes(&codes[0]), *after = hashes(&codes[1]);
	uint32_t *partners = calloc(codes[0].instruction_count + 1, sizeof(*partners));
	int err = before && after && partners ? 0 : -ENOMEM;

	if (!err)
		err = sequences_align(before, codes[0].instruction_count, after, codes[1].instruction_count, partners);
	if (!err)
		err = merge(codes, partners, scale, rows);
	free(partners);
	free(after);
	free(before);
	return err;
}

static int
add_rows(const struct diff_code codes[2], const struct scale *scale, struct code_rows *rows)
{
	int err = 0;

	if (rows->view == VIEW_LINES)
		return code_rows_lines(codes, scale, rows);
	if (!rows->same_build || !same_blocks(codes))
		return code_rows_instructions(codes, scale, rows);
	for (size_t i = 0; i < codes[0].block_count && !err; i++)
		err = add_block(codes, i, scale, rows);
	return err;
}

static bool
is_part(const struct diff_code *code, const struct code_instruction *instruction, const struct code_row *row,
        unsigned side)
{
	switch (row->kind) {
	case ROW_INSTRUCTION:
		return instruction->address == row->places[side];
	case ROW_BLOCK:
		return code->instructions[code->blocks[instruction->block].first].address == row->places[side];
	case ROW_LINE:
		return instruction->line == row->places[side] && instruction->file != SOURCE_NONE &&
		       strcmp(text_basename(code->sources.sources[instruction->file].path), row->file) == 0;
	default:
		return true;
	}
}

/* The samples of each run of one side that are the row's. */
static void
add_runs_of_side(const struct diff_code *code, unsigned side, size_t count, const struct code_row *row,
                 struct side_count *runs)
{
	for (size_t i = 0; i < code->instruction_count && row->has[side]; i++) {
		const struct code_instruction *instruction = &code->instructions[i];

		if (!instruction->runs || !is_part(code, instruction, row, side))
			continue;
		for (size_t run = 0; run < count; run++)
			side_count_add(&runs[run], &instruction->runs[run]);
	}
}

static int
add_runs(const struct diff_code codes[2], const struct scale *scale, struct code_rows *rows)
{
	for (size_t i = 0; i < rows->count && scale->run_count > 0; i++) {
		struct code_row *row = &rows->rows[i];
		struct side_count *runs = calloc(scale->run_count, sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		row->comparison.runs = runs;
		add_runs_of_side(&codes[0], 0, scale->runs[0], row, runs);
		add_runs_of_side(&codes[1], 1, scale->runs[1], row, runs + scale->runs[0]);
	}
	return 0;
}

/* Instructions, or lines, are judged together, and blocks: each kind adds up to the procedure. */
static int
judge(struct code_rows *rows, enum code_row_kind kind, const struct scale *scale, double alpha, size_t *marked)
{
	struct diff_comparison *judged = calloc(rows->count + 1, sizeof(*judged));
	struct comparisons comparisons = {judged, 0, sizeof(*judged)};
	size_t count = 0;
	int err;

	for (size_t i = 0; judged && i < rows->count; i++)
		if (rows->rows[i].kind == kind)
			judged[count++] = rows->rows[i].comparison;
	comparisons.count = count;
	err = judged ? comparisons_add_noise(scale, &comparisons, &rows->noise) : -ENOMEM;
	if (!err)
		err = comparisons_judge(&comparisons, alpha, marked);
	count = 0;
	for (size_t i = 0; !err && i < rows->count; i++)
		if (rows->rows[i].kind == kind)
			rows->rows[i].comparison = judged[count++];
	free(judged);
	return err;
}

int
code_rows_make(const struct diff_code codes[2], bool same_build, enum code_view view, const struct scale *scale,
               double alpha, struct code_rows *rows)
{
	const bool has_lines = codes[0].has_lines && codes[1].has_lines;
	size_t ignored;
	int err;

	*rows = (struct code_rows){.same_build = same_build, .view = view};
	if (view == VIEW_LINES && !has_lines)
		return -ENOENT;
	if (view == VIEW_BEST)
		rows->view = !same_build && has_lines ? VIEW_LINES : VIEW_INSTRUCTIONS;
	err = add_procedure(codes, scale, rows);
	if (!err)
		err = add_rows(codes, scale, rows);
	if (!err)
		err = add_runs(codes, scale, rows);
	if (!err)
		err = judge(rows, ROW_PROCEDURE, scale, alpha, &ignored);
	if (!err)
		err = judge(rows, ROW_BLOCK, scale, alpha, &ignored);
	if (!err)
		err = judge(rows, rows->view == VIEW_LINES ? ROW_LINE : ROW_INSTRUCTION, scale, alpha,
		            &rows->marked_count);
	return err;
}

void
code_rows_fini(struct code_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->rows[i].comparison.runs);
	free(rows->rows);
	memset(rows, 0, sizeof(*rows));
}
