/* The source lines of two builds. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/align.h"
#include "dcpi-tools/diff/code_rows.h"

/* A line that instructions were made from. */
struct diff_line {
	const char *name; /* of its file, without folder */
	uint32_t file;    /* of the side's sources */
	unsigned number;
	struct side_count samples;
	struct figures figures;
};

struct lines {
	struct diff_line *lines; /* by name, file and number */
	size_t count;
};

/* Where a row belongs: behind line `position` of the second side. */
struct diff_line_entry {
	unsigned position, behind;
	const struct diff_line *lines[2];
};

static int
compare_lines(const void *a, const void *b)
{
	const struct diff_line *one = a, *other = b;
	const int order = strcmp(one->name, other->name);

	if (order)
		return order;
	if (one->file != other->file)
		return one->file < other->file ? -1 : 1;
	return (one->number > other->number) - (one->number < other->number);
}

/* How often a line ran is how often its busiest instruction did. */
static void
add_up(struct diff_line *line, const struct diff_line *more)
{
	const double executions = fmax(line->figures.executions, more->figures.executions);

	side_count_add(&line->samples, &more->samples);
	figures_add(&line->figures, &more->figures);
	line->figures.executions = executions;
}

static int
list_lines(const struct diff_code *code, struct lines *lines)
{
	size_t used = 0;

	lines->lines = calloc(code->instruction_count + 1, sizeof(*lines->lines));
	if (!lines->lines)
		return -ENOMEM;
	for (size_t i = 0; i < code->instruction_count; i++) {
		const struct code_instruction *from = &code->instructions[i];

		if (from->file == SOURCE_NONE)
			continue;
		lines->lines[lines->count++] = (struct diff_line){
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
struct diff_stretch {
	uint64_t start_ns; /* when the samples of the first side begin */
	const struct diff_line *lines[2];
	size_t counts[2];
	const struct source *sources[2]; /* of the first of them */
};

/* Where the texts of lines `first` to `last` are; NULL: no memory. */
static uint64_t *
hash_lines(const struct source *source, unsigned first, unsigned last)
{
	uint64_t *numbers = calloc((size_t)last - first + 1, sizeof(*numbers));

	for (unsigned i = first; numbers && i <= last; i++)
		numbers[i - first] = text_hash(source_line(source, i));
	return numbers;
}

/* Two files at one path are one file: the text that was compiled first is not there any more. */
static bool
can_align(const struct diff_stretch *stretch)
{
	for (unsigned side = 0; side < 2; side++)
		if (!stretch->counts[side] || !stretch->sources[side]->lines ||
		    stretch->lines[side][stretch->counts[side] - 1].number > stretch->sources[side]->line_count)
			return false;
	return strcmp(stretch->sources[0]->path, stretch->sources[1]->path) != 0;
}

/* The lines of the second side that those of the first are, from its first one on; NULL: no memory. */
static uint32_t *
align(const struct diff_stretch *stretch)
{
	const unsigned first[2] = {stretch->lines[0][0].number, stretch->lines[1][0].number};
	const unsigned last[2] = {stretch->lines[0][stretch->counts[0] - 1].number,
	                          stretch->lines[1][stretch->counts[1] - 1].number};
	uint64_t *before = hash_lines(stretch->sources[0], first[0], last[0]);
	uint64_t *after = hash_lines(stretch->sources[1], first[1], last[1]);
	const size_t count = (size_t)last[0] - first[0] + 1;
	uint32_t *partners = calloc(count + 1, sizeof(*partners));
	int err = before && after && partners ? 0 : -ENOMEM;

	if (!err)
		err = sequences_align(before, count, after, (size_t)last[1] - first[1] + 1, partners);
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
	const struct diff_line_entry *one = a, *other = b;

	if (one->position != other->position)
		return one->position < other->position ? -1 : 1;
	return (one->behind > other->behind) - (one->behind < other->behind);
}

static struct diff_line_entry *
find_entry(struct diff_line_entry *entries, size_t count, unsigned position)
{
	for (size_t i = 0; i < count; i++)
		if (entries[i].position == position && !entries[i].behind && !entries[i].lines[0])
			return &entries[i];
	return NULL;
}

/* `partners`: NULL: lines of one number are one. */
static size_t
place_lines(const struct diff_stretch *stretch, const uint32_t *partners, struct diff_line_entry *entries)
{
	size_t count = 0;
	unsigned position = 0;

	for (size_t i = 0; i < stretch->counts[1]; i++)
		entries[count++] = (struct diff_line_entry){.position = stretch->lines[1][i].number,
		                                            .lines = {NULL, &stretch->lines[1][i]}};
	for (size_t i = 0; i < stretch->counts[0]; i++) {
		const struct diff_line *line = &stretch->lines[0][i];
		const unsigned at = line->number - stretch->lines[0][0].number;
		const bool is_there = !partners || partners[at] != ALIGN_NONE;
		struct diff_line_entry *entry = NULL;

		if (is_there) {
			position = partners ? partners[at] : line->number;
			entry = find_entry(entries, stretch->counts[1], position);
		}
		if (!entry) {
			entry = &entries[count++];
			*entry = (struct diff_line_entry){.position = position, .behind = line->number};
		}
		entry->lines[0] = line;
	}
	qsort(entries, count, sizeof(*entries), compare_entries);
	return count;
}

static int
add_row(const struct diff_stretch *stretch, const struct diff_line_entry *entry, const struct scale *scale,
        struct code_rows *rows)
{
	const struct side_count none = {0};
	const struct side_count samples[2] = {entry->lines[0] ? entry->lines[0]->samples : none,
	                                      entry->lines[1] ? entry->lines[1]->samples : none};
	struct code_row *row;

	if (!samples[0].count && !samples[1].count)
		return 0;
	row = code_rows_add(rows, ROW_LINE);
	if (!row)
		return -ENOMEM;
	comparison_make(scale, samples, &row->comparison);
	for (unsigned side = 0; side < 2; side++) {
		if (!entry->lines[side])
			continue;
		row->has[side] = true;
		row->places[side] = entry->lines[side]->number;
		row->figures[side] = entry->lines[side]->figures;
		row->file = entry->lines[side]->name;
		row->text = stretch->sources[side]->lines
		                    ? source_line(stretch->sources[side], entry->lines[side]->number)
		                    : "";
	}
	return 0;
}

/* One file that has not been written since the first samples has the text that both sides were compiled from. */
static bool
is_unchanged(const struct diff_stretch *stretch)
{
	struct stat status;

	if (strcmp(stretch->sources[0]->path, stretch->sources[1]->path) != 0 ||
	    stat(stretch->sources[0]->path, &status))
		return false;
	return (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec < stretch->start_ns;
}

static int
add_stretch(const struct diff_stretch *stretch, const struct scale *scale, struct code_rows *rows)
{
	struct diff_line_entry *entries = calloc(stretch->counts[0] + stretch->counts[1] + 1, sizeof(*entries));
	uint32_t *partners = can_align(stretch) ? align(stretch) : NULL;
	size_t count = 0;
	int err = entries && (partners || !can_align(stretch)) ? 0 : -ENOMEM;

	if (!rows->same_build && !partners && stretch->counts[0] && stretch->counts[1])
		rows->by_number |= !is_unchanged(stretch);
	if (!err)
		count = place_lines(stretch, partners, entries);
	for (size_t i = 0; i < count && !err; i++)
		err = add_row(stretch, &entries[i], scale, rows);
	free(partners);
	free(entries);
	return err;
}

/* How many lines from `from` on are of one file, if that is called `name`. */
static size_t
count_of(const struct lines *lines, size_t from, const char *name)
{
	size_t count = 0;

	while (from + count < lines->count && lines->lines[from + count].file == lines->lines[from].file &&
	       strcmp(lines->lines[from + count].name, name) == 0)
		count++;
	return count;
}

static int
add_all(const struct diff_code codes[2], const struct lines lines[2], const struct scale *scale, struct code_rows *rows)
{
	size_t at[2] = {0};
	int err = 0;

	while ((at[0] < lines[0].count || at[1] < lines[1].count) && !err) {
		struct diff_stretch stretch = {.start_ns = codes[0].start_ns};
		const char *name = NULL;

		for (unsigned side = 0; side < 2; side++)
			if (at[side] < lines[side].count &&
			    (!name || strcmp(lines[side].lines[at[side]].name, name) < 0))
				name = lines[side].lines[at[side]].name;
		for (unsigned side = 0; side < 2; side++) {
			stretch.lines[side] = &lines[side].lines[at[side]];
			stretch.counts[side] = count_of(&lines[side], at[side], name);
			if (stretch.counts[side])
				stretch.sources[side] = &codes[side].sources.sources[stretch.lines[side][0].file];
			at[side] += stretch.counts[side];
		}
		err = add_stretch(&stretch, scale, rows);
	}
	return err;
}

int
code_rows_lines(const struct diff_code codes[2], const struct scale *scale, struct code_rows *rows)
{
	struct lines lines[2] = {0};
	int err = list_lines(&codes[0], &lines[0]);

	if (!err)
		err = list_lines(&codes[1], &lines[1]);
	if (!err)
		err = add_all(codes, lines, scale, rows);
	free(lines[0].lines);
	free(lines[1].lines);
	return err;
}
