#include "dcpi-tools/diff/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/text.h"
#include "image/lines.h"

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
	char *shown = text_shown(request->name);
	struct guard guard = procedure_guard(shown);
	int status;

	memset(code, 0, sizeof(*code));
	guard_enter(&guard);
	status = choose(&reader, visit->index);
	if (!status)
		status = analyze(&reader, visit->database);
	if (!status)
		status = take(&reader);
	if (!status)
		status = input_each_run(input, visit, take_run, &reader);
	guard_leave(&guard);
	procedure_analysis_free(reader.analysis);
	path_records_fini(&reader.recorded);
	procedure_choice_fini(&reader.choice);
	free(shown);
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
