#include "dcpi-tools/diff/code_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/align.h"

/* A new row, zeroed; NULL: no memory. */
static struct code_row *
add_row(struct code_rows *rows, enum code_row_kind kind)
{
	struct code_row *grown = array_grow(rows->rows, &rows->capacity, rows->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	rows->rows = grown;
	grown[rows->count] = (struct code_row){.kind = kind};
	return &grown[rows->count++];
}

const char *const code_row_kind_names[] = {"procedure", "block", "instruction", "line"};

static int
add_procedure(const struct diff_code codes[2], const struct compare_scale *scale, struct code_rows *rows)
{
	const struct compare_count samples[2] = {codes[0].samples, codes[1].samples};
	struct code_row *row = add_row(rows, ROW_PROCEDURE);

	if (!row)
		return -ENOMEM;
	compare_make(scale, samples, &row->comparison);
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
add_instruction(const struct diff_instruction *before, const struct diff_instruction *after,
                const struct compare_scale *scale, struct code_rows *rows)
{
	const struct diff_instruction *sides[2] = {before, after};
	const struct compare_count none = {0};
	const struct compare_count samples[2] = {before ? before->samples : none, after ? after->samples : none};
	struct code_row *row = add_row(rows, ROW_INSTRUCTION);

	if (!row)
		return -ENOMEM;
	compare_make(scale, samples, &row->comparison);
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
add_block(const struct diff_code codes[2], size_t index, const struct compare_scale *scale, struct code_rows *rows)
{
	const struct diff_code_block *block = &codes[0].blocks[index];
	struct code_row *row = add_row(rows, ROW_BLOCK);
	struct compare_count samples[2] = {{0}};
	int err = 0;

	if (!row)
		return -ENOMEM;
	row->size = block->count;
	for (unsigned side = 0; side < 2; side++) {
		row->has[side] = true;
		row->places[side] = codes[side].instructions[block->first].address;
		row->figures[side] = codes[side].blocks[index].figures;
		for (uint32_t i = 0; i < block->count; i++)
			compare_count_add(&samples[side], &codes[side].instructions[block->first + i].samples);
	}
	compare_make(scale, samples, &row->comparison);
	for (uint32_t i = 0; i < block->count && !err; i++)
		err = add_instruction(&codes[0].instructions[block->first + i],
		                      &codes[1].instructions[block->first + i], scale, rows);
	return err;
}

/* One build has one flow graph, unless what was recorded of jumps differs. */
static bool
has_same_blocks(const struct diff_code codes[2])
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
		numbers[i] = align_instruction_hash(code->instructions[i].text);
	return numbers;
}

/* Those of the first side in their order; those that only the second has, where they are in its order. */
static int
merge_instructions(const struct diff_code codes[2], const uint32_t *partners, const struct compare_scale *scale,
                   struct code_rows *rows)
{
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; i < codes[0].instruction_count && !err; i++) {
		const struct diff_instruction *after = NULL;

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

/* Instructions of both sides, and of each side alone, in the order of addresses. */
static int
add_instructions(const struct diff_code codes[2], const struct compare_scale *scale, struct code_rows *rows)
{
	uint64_t *before = hashes(&codes[0]), *after = hashes(&codes[1]);
	uint32_t *partners = calloc(codes[0].instruction_count + 1, sizeof(*partners));
	int err = before && after && partners ? 0 : -ENOMEM;

	if (!err)
		err = align_sequences(before, codes[0].instruction_count, after, codes[1].instruction_count, partners);
	if (!err)
		err = merge_instructions(codes, partners, scale, rows);
	free(partners);
	free(after);
	free(before);
	return err;
}

/* ---- Source lines of two builds ---- */

/* A line that instructions were made from. */
struct code_line {
	const char *name; /* of its file, without folder */
	uint32_t file;    /* of the side's sources */
	unsigned number;
	struct compare_count samples;
	struct code_figures figures;
};

struct code_lines {
	struct code_line *lines; /* by name, file and number */
	size_t count;
};

/* Where a row belongs: behind line `position` of the second side. */
struct code_line_entry {
	unsigned position, behind;
	const struct code_line *lines[2];
};

static int
compare_lines(const void *a, const void *b)
{
	const struct code_line *one = a, *other = b;
	const int order = strcmp(one->name, other->name);

	if (order)
		return order;
	if (one->file != other->file)
		return one->file < other->file ? -1 : 1;
	return (one->number > other->number) - (one->number < other->number);
}

/* A line was executed as often as the instruction of it that was executed most. */
static void
add_up(struct code_line *line, const struct code_line *more)
{
	const double executions = fmax(line->figures.executions, more->figures.executions);

	compare_count_add(&line->samples, &more->samples);
	figures_add(&line->figures, &more->figures);
	line->figures.executions = executions;
}

static int
list_lines(const struct diff_code *code, struct code_lines *lines)
{
	size_t used = 0;

	lines->lines = calloc(code->instruction_count + 1, sizeof(*lines->lines));
	if (!lines->lines)
		return -ENOMEM;
	for (size_t i = 0; i < code->instruction_count; i++) {
		const struct diff_instruction *from = &code->instructions[i];

		if (from->file == SOURCE_NONE)
			continue;
		lines->lines[lines->count++] = (struct code_line){
			.name = text_basename(code->sources.sources[from->file].path),
			.file = from->file,
			.number = from->line,
			.samples = from->samples,
			.figures = from->figures,
		};
	}
	if (lines->count == 0)
		return 0;
	qsort(lines->lines, lines->count, sizeof(*lines->lines), compare_lines);
	for (size_t i = 1; i < lines->count; i++) {
		if (compare_lines(&lines->lines[used], &lines->lines[i]) == 0)
			add_up(&lines->lines[used], &lines->lines[i]);
		else
			lines->lines[++used] = lines->lines[i];
	}
	lines->count = used + 1;
	return 0;
}

/* The lines of one file name on both sides. */
struct code_line_file {
	uint64_t start_ns; /* when the samples of the first side begin */
	const struct code_line *lines[2];
	size_t counts[2];
	const struct source *sources[2]; /* of the first of them */
};

/* Where the texts of lines `first` to `last` are; NULL: no memory. */
static uint64_t *
hash_lines(const struct source *source, unsigned first, unsigned last)
{
	uint64_t *numbers = calloc((size_t)last - first + 1, sizeof(*numbers));

	for (unsigned i = first; numbers && i <= last; i++)
		numbers[i - first] = align_text_hash(source_line(source, i));
	return numbers;
}

/* Two files at one path are one file, which has the text of the second build only. */
static bool
can_align(const struct code_line_file *file)
{
	for (unsigned side = 0; side < 2; side++)
		if (!file->counts[side] || !file->sources[side]->lines ||
		    file->lines[side][file->counts[side] - 1].number > file->sources[side]->line_count)
			return false;
	return strcmp(file->sources[0]->path, file->sources[1]->path) != 0;
}

/* The lines of the second side that those of the first are, from its first one on; NULL: no memory. */
static uint32_t *
align_lines(const struct code_line_file *file)
{
	const unsigned first[2] = {file->lines[0][0].number, file->lines[1][0].number};
	const unsigned last[2] = {file->lines[0][file->counts[0] - 1].number,
	                          file->lines[1][file->counts[1] - 1].number};
	uint64_t *before = hash_lines(file->sources[0], first[0], last[0]);
	uint64_t *after = hash_lines(file->sources[1], first[1], last[1]);
	const size_t count = (size_t)last[0] - first[0] + 1;
	uint32_t *partners = calloc(count + 1, sizeof(*partners));
	int err = before && after && partners ? 0 : -ENOMEM;

	if (!err)
		err = align_sequences(before, count, after, (size_t)last[1] - first[1] + 1, partners);
	for (size_t i = 0; !err && i < count; i++)
		if (partners[i] != ALIGN_NONE)
			partners[i] += first[1];
	free(after);
	free(before);
	if (!err)
		return partners;
	free(partners);
	return NULL;
}

static int
compare_entries(const void *a, const void *b)
{
	const struct code_line_entry *one = a, *other = b;

	if (one->position != other->position)
		return one->position < other->position ? -1 : 1;
	return (one->behind > other->behind) - (one->behind < other->behind);
}

static struct code_line_entry *
find_entry(struct code_line_entry *entries, size_t count, unsigned position)
{
	for (size_t i = 0; i < count; i++)
		if (entries[i].position == position && !entries[i].behind && !entries[i].lines[0])
			return &entries[i];
	return NULL;
}

/* `partners`: NULL: lines of one number are one. */
static size_t
place_lines(const struct code_line_file *file, const uint32_t *partners, struct code_line_entry *entries)
{
	size_t count = 0;
	unsigned position = 0;

	for (size_t i = 0; i < file->counts[1]; i++)
		entries[count++] = (struct code_line_entry){.position = file->lines[1][i].number,
		                                            .lines = {NULL, &file->lines[1][i]}};
	for (size_t i = 0; i < file->counts[0]; i++) {
		const struct code_line *line = &file->lines[0][i];
		const unsigned at = line->number - file->lines[0][0].number;
		const bool is_there = !partners || partners[at] != ALIGN_NONE;
		struct code_line_entry *entry = NULL;

		if (is_there) {
			position = partners ? partners[at] : line->number;
			entry = find_entry(entries, file->counts[1], position);
		}
		if (!entry) {
			entry = &entries[count++];
			*entry = (struct code_line_entry){.position = position, .behind = line->number};
		}
		entry->lines[0] = line;
	}
	qsort(entries, count, sizeof(*entries), compare_entries);
	return count;
}

static int
add_line_row(const struct code_line_file *file, const struct code_line_entry *entry, const struct compare_scale *scale,
             struct code_rows *rows)
{
	const struct compare_count none = {0};
	const struct compare_count samples[2] = {entry->lines[0] ? entry->lines[0]->samples : none,
	                                         entry->lines[1] ? entry->lines[1]->samples : none};
	struct code_row *row;

	if (!samples[0].count && !samples[1].count)
		return 0;
	row = add_row(rows, ROW_LINE);
	if (!row)
		return -ENOMEM;
	compare_make(scale, samples, &row->comparison);
	for (unsigned side = 0; side < 2; side++) {
		if (!entry->lines[side])
			continue;
		row->has[side] = true;
		row->places[side] = entry->lines[side]->number;
		row->figures[side] = entry->lines[side]->figures;
		row->file = entry->lines[side]->name;
		row->text =
			file->sources[side]->lines ? source_line(file->sources[side], entry->lines[side]->number) : "";
	}
	return 0;
}

/* A file not written since the first samples has the text that both sides were compiled from. */
static bool
is_unchanged(const struct code_line_file *file)
{
	struct stat status;

	if (strcmp(file->sources[0]->path, file->sources[1]->path) != 0 || stat(file->sources[0]->path, &status))
		return false;
	return (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec < file->start_ns;
}

static int
add_file(const struct code_line_file *file, const struct compare_scale *scale, struct code_rows *rows)
{
	struct code_line_entry *entries = calloc(file->counts[0] + file->counts[1] + 1, sizeof(*entries));
	uint32_t *partners = can_align(file) ? align_lines(file) : NULL;
	size_t count = 0;
	int err = entries && (partners || !can_align(file)) ? 0 : -ENOMEM;

	if (!rows->same_build && !partners && file->counts[0] && file->counts[1])
		rows->by_number |= !is_unchanged(file);
	if (!err)
		count = place_lines(file, partners, entries);
	for (size_t i = 0; i < count && !err; i++)
		err = add_line_row(file, &entries[i], scale, rows);
	free(partners);
	free(entries);
	return err;
}

/* How many lines from `from` on are of one file, if that is called `name`. */
static size_t
count_of(const struct code_lines *lines, size_t from, const char *name)
{
	size_t count = 0;

	while (from + count < lines->count && lines->lines[from + count].file == lines->lines[from].file &&
	       strcmp(lines->lines[from + count].name, name) == 0)
		count++;
	return count;
}

static int
merge_lines(const struct diff_code codes[2], const struct code_lines lines[2], const struct compare_scale *scale,
            struct code_rows *rows)
{
	size_t at[2] = {0};
	int err = 0;

	while ((at[0] < lines[0].count || at[1] < lines[1].count) && !err) {
		struct code_line_file file = {.start_ns = codes[0].start_ns};
		const char *name = NULL;

		for (unsigned side = 0; side < 2; side++)
			if (at[side] < lines[side].count &&
			    (!name || strcmp(lines[side].lines[at[side]].name, name) < 0))
				name = lines[side].lines[at[side]].name;
		for (unsigned side = 0; side < 2; side++) {
			file.lines[side] = &lines[side].lines[at[side]];
			file.counts[side] = count_of(&lines[side], at[side], name);
			if (file.counts[side])
				file.sources[side] = &codes[side].sources.sources[file.lines[side][0].file];
			at[side] += file.counts[side];
		}
		err = add_file(&file, scale, rows);
	}
	return err;
}

static int
add_lines(const struct diff_code codes[2], const struct compare_scale *scale, struct code_rows *rows)
{
	struct code_lines lines[2] = {0};
	int err = list_lines(&codes[0], &lines[0]);

	if (!err)
		err = list_lines(&codes[1], &lines[1]);
	if (!err)
		err = merge_lines(codes, lines, scale, rows);
	free(lines[0].lines);
	free(lines[1].lines);
	return err;
}

/* ---- The rows ---- */

static bool
is_part(const struct diff_code *code, const struct diff_instruction *instruction, const struct code_row *row,
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
                 struct compare_count *runs)
{
	for (size_t i = 0; i < code->instruction_count && row->has[side]; i++) {
		const struct diff_instruction *instruction = &code->instructions[i];

		if (!instruction->runs || !is_part(code, instruction, row, side))
			continue;
		for (size_t run = 0; run < count; run++)
			compare_count_add(&runs[run], &instruction->runs[run]);
	}
}

static int
add_runs(const struct diff_code codes[2], const struct compare_scale *scale, struct code_rows *rows)
{
	for (size_t i = 0; i < rows->count && scale->run_count > 0; i++) {
		struct code_row *row = &rows->rows[i];
		struct compare_count *runs = calloc(scale->run_count, sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		row->comparison.runs = runs;
		add_runs_of_side(&codes[0], 0, scale->runs[0], row, runs);
		add_runs_of_side(&codes[1], 1, scale->runs[1], row, runs + scale->runs[0]);
	}
	return 0;
}

/* Chances are adjusted for the rows of one kind, which add up to the procedure. */
static int
adjust(struct code_rows *rows, enum code_row_kind kind, const struct compare_scale *scale, double alpha, size_t *marked)
{
	struct diff_comparison *judged = calloc(rows->count + 1, sizeof(*judged));
	struct compare_rows comparisons = {judged, 0, sizeof(*judged)};
	size_t count = 0;
	int err;

	for (size_t i = 0; judged && i < rows->count; i++)
		if (rows->rows[i].kind == kind)
			judged[count++] = rows->rows[i].comparison;
	comparisons.count = count;
	err = judged ? compare_add_noise(scale, &comparisons, &rows->noise) : -ENOMEM;
	if (!err)
		err = compare_adjust(&comparisons, alpha, marked);
	count = 0;
	for (size_t i = 0; !err && i < rows->count; i++)
		if (rows->rows[i].kind == kind)
			rows->rows[i].comparison = judged[count++];
	free(judged);
	return err;
}

int
code_rows_make(const struct diff_code codes[2], bool same_build, enum code_view view, const struct compare_scale *scale,
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
	if (err)
		return err;
	if (rows->view == VIEW_LINES)
		err = add_lines(codes, scale, rows);
	else if (!same_build || !has_same_blocks(codes))
		err = add_instructions(codes, scale, rows);
	else
		for (size_t i = 0; i < codes[0].block_count && !err; i++)
			err = add_block(codes, i, scale, rows);
	if (err)
		return err;
	err = add_runs(codes, scale, rows);
	if (err)
		return err;
	err = adjust(rows, ROW_PROCEDURE, scale, alpha, &ignored);
	if (err)
		return err;
	err = adjust(rows, ROW_BLOCK, scale, alpha, &ignored);
	if (err)
		return err;
	return adjust(rows, rows->view == VIEW_LINES ? ROW_LINE : ROW_INSTRUCTION, scale, alpha, &rows->marked_count);
}

void
code_rows_fini(struct code_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->rows[i].comparison.runs);
	free(rows->rows);
	memset(rows, 0, sizeof(*rows));
}
