#include "dcpi-tools/diff/code.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/diff/match.h"
#include "image/lines.h"

/* ---- Reading the procedure of one side ---- */

/* While diff_code_read() runs. */
struct diff_code_reader {
	struct diff_code *code;
	struct diff_input *input;
	const struct diff_code_request *request;
	struct procedure_choice choice;
	struct path_records recorded;
	struct procedure_analysis *analysis;
};

/* Find the procedure, in images named for both sets or for this one. */
static int
choose(struct diff_code_reader *reader, size_t set)
{
	const struct input_request *input = reader->request->input;
	const char **images = calloc(input->pattern_count + 1, sizeof(*images));
	struct procedure_options procedure = {.name = reader->request->name};
	int status;

	if (!images)
		return message_cannot(NULL, "choose the images", -ENOMEM, NULL);
	for (size_t i = 0; i < input->pattern_count; i++)
		if (input_pattern_is_of(&input->patterns[i], set))
			images[procedure.options.image_count++] = input->patterns[i].text;
	procedure.options.images = images;
	status = procedure_choose(reader->input->all.selection, &procedure, reader->input->all.event, &reader->choice);
	free(images);
	return status;
}

static int
analyze(struct diff_code_reader *reader, struct database *database)
{
	const struct selection *selection = reader->input->all.selection;
	struct procedure_input input = {
		.selection = selection,
		.code = &reader->choice.found.code,
		.symbol = reader->choice.found.symbol,
		.event = reader->input->all.event,
		.exact = &reader->recorded.exact.paths,
		.branches = &reader->recorded.branches.paths,
		.bursts = &reader->recorded.bursts.paths,
	};
	int err;

	if (reader->request->input->analyze) {
		const int status = model_ask(selection, reader->request->input->cpu, reader->input->all.event,
		                             &reader->input->all.model);

		if (status)
			return status;
		err = path_records_read(database->profile, selection, selection->images[input.code->index].number,
		                        &reader->recorded);
		if (err)
			return database_cannot_read(database, err);
		input.pipeline = &reader->input->all.model.pipeline;
	}
	err = procedure_analyze(&input, &reader->analysis);
	if (!err)
		return STATUS_OK;
	return message_cannot(reader->request->name, "compare the procedure", err,
	                      err == -ENOENT ? CODE_IMAGE_NO_TEXT : NULL);
}

static int
take_instruction(struct diff_code_reader *reader, uint32_t block, uint32_t index)
{
	const struct procedure_analysis *analysis = reader->analysis;
	struct diff_instruction *to = &reader->code->instructions[reader->code->instruction_count++];
	const size_t events = (size_t)reader->input->all.event * analysis->graph->instruction_count;
	char text[INSTRUCTION_TEXT_SIZE];

	instruction_format(&reader->choice.found.code, &analysis->graph->instructions[index], reader->request->syntax,
	                   text);
	*to = (struct diff_instruction){
		.address = analysis->graph->instructions[index].address,
		.samples = {analysis->samples[events + index], analysis->taken[events + index],
	                    analysis->squares[index]},
		.size = analysis->graph->instructions[index].size,
		.file = SOURCE_NONE,
		.block = block,
		.text = strdup(text),
	};
	if (reader->request->input->analyze)
		figures_of_instruction(analysis, block, index, &to->figures);
	compare_count_add(&reader->code->samples, &to->samples);
	return to->text ? 0 : -ENOMEM;
}

static int
take_blocks(struct diff_code_reader *reader)
{
	const struct flow_graph *graph = reader->analysis->graph;
	struct diff_code *code = reader->code;
	int err = 0;

	code->blocks = calloc(graph->block_count + 1, sizeof(*code->blocks));
	code->instructions = calloc(graph->instruction_count + 1, sizeof(*code->instructions));
	if (!code->blocks || !code->instructions)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->block_count && !err; i++) {
		struct diff_code_block *block = &code->blocks[code->block_count++];

		*block = (struct diff_code_block){.first = (uint32_t)code->instruction_count,
		                                  .count = graph->blocks[i].count};
		if (reader->request->input->analyze)
			figures_of_block(reader->analysis, i, &block->figures);
		for (uint32_t k = 0; k < block->count && !err; k++)
			err = take_instruction(reader, i, graph->blocks[i].first + k);
	}
	return err;
}

/* Without debug information, or with damaged one, there are no lines. */
static int
take_lines(struct diff_code_reader *reader)
{
	struct diff_code *code = reader->code;
	struct image_lines *lines;
	int err;

	if (!reader->choice.found.code.file || image_lines_new(reader->choice.found.code.file, &lines))
		return 0;
	err = 0;
	for (size_t i = 0; i < code->instruction_count && !err; i++) {
		struct source_place place;

		if (image_lines_find(lines, code->instructions[i].address, &place))
			continue;
		code->instructions[i].line = place.line;
		err = sources_add(&code->sources, place.path, &code->instructions[i].file);
		code->has_lines |= code->instructions[i].file != SOURCE_NONE;
	}
	image_lines_free(lines);
	return err;
}

static int
take_run(void *context, const struct input_run *run)
{
	const struct diff_code_reader *reader = context;
	const uint32_t number = reader->input->all.selection->images[reader->code->image].number;
	uint32_t image = 0;

	while (image < run->selection->image_count && run->selection->images[image].number != number)
		image++;
	for (size_t i = 0; i < reader->code->instruction_count; i++) {
		struct diff_instruction *to = &reader->code->instructions[i];
		uint64_t offset;

		if (!to->runs)
			to->runs = calloc(run->most, sizeof(*to->runs));
		if (!to->runs)
			return -ENOMEM;
		if (image < run->selection->image_count &&
		    image_file_offset(reader->choice.found.code.file, to->address, &offset) == 0)
			to->runs[run->index].count =
				code_image_count(run->selection, image, offset, offset + to->size, run->event,
			                         &to->runs[run->index].taken, &to->runs[run->index].squares);
	}
	return 0;
}

/* What other cores took of the procedure, in place of what they took of all images. */
static void
leave_out(struct diff_code_reader *reader)
{
	const struct procedure_analysis *analysis = reader->analysis;
	const size_t count = analysis->graph->instruction_count;
	struct survey_all *all = &reader->input->all;

	memset(&all->left_out, 0, sizeof(all->left_out));
	for (size_t event = 0; event < analysis->event_count; event++)
		for (size_t i = 0; i < count; i++)
			other_cores_add(&all->left_out, all->selection, all->event, event,
			                analysis->samples[event * count + i]);
}

static int
take(struct diff_code_reader *reader)
{
	struct diff_code *code = reader->code;
	int err;

	leave_out(reader);
	code->start_ns = reader->input->all.selection->match.start_ns;
	code->image = reader->choice.found.code.index;
	code->title = reader->choice.title;
	reader->choice.title = NULL; /* its owner is code now */
	code->offset = reader->choice.found.symbol->offset;
	if (reader->request->input->analyze)
		figures_of_procedure(reader->analysis, &code->figures);
	err = take_blocks(reader);
	if (!err)
		err = take_lines(reader);
	return err ? message_cannot(reader->request->name, "compare the procedure", err, NULL) : STATUS_OK;
}

int
diff_code_read(struct diff_code *code, struct diff_input *input, const struct diff_code_request *request,
               const struct profile_set_visit *visit)
{
	struct diff_code_reader reader = {.code = code, .input = input, .request = request};
	struct image_guard guard;
	int status;

	memset(code, 0, sizeof(*code));
	image_guard_enter(&guard, request->name, NULL);
	status = choose(&reader, visit->index);
	if (status)
		goto out;
	status = analyze(&reader, visit->database);
	if (status)
		goto out;
	status = take(&reader);
	if (status)
		goto out;
	status = input_each_run(input, visit, take_run, &reader);
out:
	image_guard_leave(&guard);
	procedure_analysis_free(reader.analysis);
	path_records_fini(&reader.recorded);
	procedure_choice_fini(&reader.choice);
	return status;
}

void
diff_code_fini(struct diff_code *code)
{
	for (size_t i = 0; i < code->instruction_count; i++) {
		free(code->instructions[i].text);
		free(code->instructions[i].runs);
	}
	free(code->instructions);
	free(code->blocks);
	free(code->title);
	sources_fini(&code->sources);
	memset(code, 0, sizeof(*code));
}

/* ---- Rows of both sides ---- */

const char *const code_row_kind_names[] = {"procedure", "block", "instruction", "line"};

/* While code_rows_make() runs. */
struct code_rows_maker {
	const struct diff_code *codes; /* of both sides */
	const struct compare_scale *scale;
	struct code_rows *rows;
};

/* What a row is made of on one side; without a place that side does not have it. */
struct code_row_half {
	bool has;
	uint64_t place;
	struct compare_count samples;
	const struct code_figures *figures;
};

/* NULL: no memory. */
static struct code_row *
add_row(const struct code_rows_maker *maker, enum code_row_kind kind, const struct code_row_half halves[2])
{
	struct code_rows *rows = maker->rows;
	const struct compare_count samples[2] = {halves[0].samples, halves[1].samples};
	struct code_row *grown = array_grow(rows->rows, &rows->capacity, rows->count + 1, sizeof(*grown)), *row;

	if (!grown)
		return NULL;
	rows->rows = grown;
	row = &grown[rows->count++];
	*row = (struct code_row){.kind = kind};
	compare_make(maker->scale, samples, &row->comparison);
	for (unsigned side = 0; side < 2; side++) {
		if (!halves[side].has)
			continue;
		row->has[side] = true;
		row->places[side] = halves[side].place;
		row->figures[side] = *halves[side].figures;
	}
	return row;
}

static int
add_procedure(const struct code_rows_maker *maker)
{
	struct code_row_half halves[2];
	struct code_row *row;

	for (unsigned side = 0; side < 2; side++) {
		const struct diff_code *code = &maker->codes[side];

		halves[side] = (struct code_row_half){true, code->instruction_count ? code->instructions[0].address : 0,
		                                      code->samples, &code->figures};
	}
	row = add_row(maker, ROW_PROCEDURE, halves);
	if (!row)
		return -ENOMEM;
	row->text = maker->codes[1].title;
	return 0;
}

/* A row for what is one on both sides, or on one of them alone (the other is NULL). */
static int
add_instruction(const struct code_rows_maker *maker, const struct diff_instruction *before,
                const struct diff_instruction *after)
{
	const struct diff_instruction *sides[2] = {before, after};
	struct code_row_half halves[2] = {0};
	struct code_row *row;

	for (unsigned side = 0; side < 2; side++)
		if (sides[side])
			halves[side] = (struct code_row_half){true, sides[side]->address, sides[side]->samples,
			                                      &sides[side]->figures};
	row = add_row(maker, ROW_INSTRUCTION, halves);
	if (!row)
		return -ENOMEM;
	row->text = after ? after->text : before->text;
	return 0;
}

static int
add_block(const struct code_rows_maker *maker, size_t index)
{
	const struct diff_code *codes = maker->codes;
	const struct diff_code_block *block = &codes[0].blocks[index];
	struct code_row_half halves[2];
	struct code_row *row;
	int err = 0;

	for (unsigned side = 0; side < 2; side++) {
		const struct diff_instruction *first = &codes[side].instructions[block->first];

		halves[side] = (struct code_row_half){true, first->address, {0}, &codes[side].blocks[index].figures};
		for (uint32_t i = 0; i < block->count; i++)
			compare_count_add(&halves[side].samples, &first[i].samples);
	}
	row = add_row(maker, ROW_BLOCK, halves);
	if (!row)
		return -ENOMEM;
	row->size = block->count;
	for (uint32_t i = block->first; i < block->first + block->count && !err; i++)
		err = add_instruction(maker, &codes[0].instructions[i], &codes[1].instructions[i]);
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
		numbers[i] = match_instruction_hash(code->instructions[i].text);
	return numbers;
}

/* Those of the first side in their order; those that only the second has, where they are in its order. */
static int
merge_instructions(const struct code_rows_maker *maker, const uint32_t *partners)
{
	const struct diff_code *codes = maker->codes;
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; i < codes[0].instruction_count && !err; i++) {
		const struct diff_instruction *after = NULL;

		if (partners[i] != MATCH_NONE) {
			for (; next < partners[i] && !err; next++)
				err = add_instruction(maker, NULL, &codes[1].instructions[next]);
			after = &codes[1].instructions[next++];
		}
		if (!err)
			err = add_instruction(maker, &codes[0].instructions[i], after);
	}
	for (; next < codes[1].instruction_count && !err; next++)
		err = add_instruction(maker, NULL, &codes[1].instructions[next]);
	return err;
}

/* Instructions of both sides, and of each side alone, in the order of addresses. */
static int
add_instructions(const struct code_rows_maker *maker)
{
	const struct diff_code *codes = maker->codes;
	uint64_t *before = hashes(&codes[0]), *after = hashes(&codes[1]);
	uint32_t *partners = calloc(codes[0].instruction_count + 1, sizeof(*partners));
	int err = before && after && partners ? 0 : -ENOMEM;

	if (!err)
		err = match_sequences(before, codes[0].instruction_count, after, codes[1].instruction_count, partners);
	if (!err)
		err = merge_instructions(maker, partners);
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
		numbers[i - first] = match_text_hash(source_line(source, i));
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
		err = match_sequences(before, count, after, (size_t)last[1] - first[1] + 1, partners);
	for (size_t i = 0; !err && i < count; i++)
		if (partners[i] != MATCH_NONE)
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
		const bool is_there = !partners || partners[at] != MATCH_NONE;
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
add_line_row(const struct code_rows_maker *maker, const struct code_line_file *file,
             const struct code_line_entry *entry)
{
	const unsigned last = entry->lines[1] ? 1 : 0;
	const struct code_line *shown = entry->lines[last];
	struct code_row_half halves[2] = {0};
	struct code_row *row;

	for (unsigned side = 0; side < 2; side++)
		if (entry->lines[side])
			halves[side] =
				(struct code_row_half){true, entry->lines[side]->number, entry->lines[side]->samples,
			                               &entry->lines[side]->figures};
	if (!halves[0].samples.count && !halves[1].samples.count)
		return 0;
	row = add_row(maker, ROW_LINE, halves);
	if (!row)
		return -ENOMEM;
	row->file = shown->name;
	row->text = file->sources[last]->lines ? source_line(file->sources[last], shown->number) : "";
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
add_file(const struct code_rows_maker *maker, const struct code_line_file *file)
{
	struct code_line_entry *entries = calloc(file->counts[0] + file->counts[1] + 1, sizeof(*entries));
	uint32_t *partners = can_align(file) ? align_lines(file) : NULL;
	size_t count = 0;
	int err = entries && (partners || !can_align(file)) ? 0 : -ENOMEM;

	if (!maker->rows->same_build && !partners && file->counts[0] && file->counts[1])
		maker->rows->by_number |= !is_unchanged(file);
	if (!err)
		count = place_lines(file, partners, entries);
	for (size_t i = 0; i < count && !err; i++)
		err = add_line_row(maker, file, &entries[i]);
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
merge_lines(const struct code_rows_maker *maker, const struct code_lines lines[2])
{
	size_t at[2] = {0};
	int err = 0;

	while ((at[0] < lines[0].count || at[1] < lines[1].count) && !err) {
		struct code_line_file file = {.start_ns = maker->codes[0].start_ns};
		const char *name = NULL;

		for (unsigned side = 0; side < 2; side++)
			if (at[side] < lines[side].count &&
			    (!name || strcmp(lines[side].lines[at[side]].name, name) < 0))
				name = lines[side].lines[at[side]].name;
		for (unsigned side = 0; side < 2; side++) {
			file.lines[side] = &lines[side].lines[at[side]];
			file.counts[side] = count_of(&lines[side], at[side], name);
			if (file.counts[side])
				file.sources[side] = &maker->codes[side].sources.sources[file.lines[side][0].file];
			at[side] += file.counts[side];
		}
		err = add_file(maker, &file);
	}
	return err;
}

static int
add_lines(const struct code_rows_maker *maker)
{
	struct code_lines lines[2] = {0};
	int err = list_lines(&maker->codes[0], &lines[0]);

	if (!err)
		err = list_lines(&maker->codes[1], &lines[1]);
	if (!err)
		err = merge_lines(maker, lines);
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

/* The samples of each run that are the row's. */
static int
add_runs(const struct code_rows_maker *maker, struct code_row *row)
{
	const struct compare_scale *scale = maker->scale;
	struct compare_count *runs = row->comparison.runs = calloc(scale->run_count, sizeof(*runs));

	if (!runs)
		return -ENOMEM;
	for (unsigned side = 0; side < 2; runs += scale->runs[side++])
		for (size_t i = 0; i < maker->codes[side].instruction_count && row->has[side]; i++) {
			const struct diff_instruction *instruction = &maker->codes[side].instructions[i];

			if (!instruction->runs || !is_part(&maker->codes[side], instruction, row, side))
				continue;
			for (size_t run = 0; run < scale->runs[side]; run++)
				compare_count_add(&runs[run], &instruction->runs[run]);
		}
	return 0;
}

/* Chances are adjusted for the rows of one kind, which add up to the procedure. */
static int
adjust(const struct code_rows_maker *maker, enum code_row_kind kind, double alpha, size_t *marked)
{
	struct code_rows *rows = maker->rows;
	struct diff_comparison *judged = calloc(rows->count + 1, sizeof(*judged));
	struct compare_rows comparisons = {judged, 0, sizeof(*judged)};
	size_t count = 0;
	int err;

	for (size_t i = 0; judged && i < rows->count; i++)
		if (rows->rows[i].kind == kind)
			judged[count++] = rows->rows[i].comparison;
	comparisons.count = count;
	err = judged ? compare_add_noise(maker->scale, &comparisons, &rows->noise) : -ENOMEM;
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
	const struct code_rows_maker maker = {.codes = codes, .scale = scale, .rows = rows};
	const bool has_lines = codes[0].has_lines && codes[1].has_lines;
	size_t ignored;
	int err;

	*rows = (struct code_rows){.same_build = same_build, .view = view};
	if (view == VIEW_LINES && !has_lines)
		return -ENOENT;
	if (view == VIEW_BEST)
		rows->view = !same_build && has_lines ? VIEW_LINES : VIEW_INSTRUCTIONS;
	err = add_procedure(&maker);
	if (err)
		return err;
	if (rows->view == VIEW_LINES)
		err = add_lines(&maker);
	else if (!same_build || !has_same_blocks(codes))
		err = add_instructions(&maker);
	else
		for (size_t i = 0; i < codes[0].block_count && !err; i++)
			err = add_block(&maker, i);
	for (size_t i = 0; i < rows->count && scale->run_count > 0 && !err; i++)
		err = add_runs(&maker, &rows->rows[i]);
	if (!err)
		err = adjust(&maker, ROW_PROCEDURE, alpha, &ignored);
	if (!err)
		err = adjust(&maker, ROW_BLOCK, alpha, &ignored);
	if (err)
		return err;
	return adjust(&maker, rows->view == VIEW_LINES ? ROW_LINE : ROW_INSTRUCTION, alpha, &rows->marked_count);
}

void
code_rows_fini(struct code_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->rows[i].comparison.runs);
	free(rows->rows);
	memset(rows, 0, sizeof(*rows));
}
