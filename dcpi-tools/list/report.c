#include "dcpi-tools/list/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

/* For frequencies: the event that is time, the model, and what was recorded. An exit status. */
static int
prepare_frequencies(struct list_report *report, struct database *database, uint16_t *event)
{
	const uint32_t number = report->selection->images[report->choice.found.code.index].number;
	int err, status;

	status = time_event_ask(report->selection, NULL, database->directory, event);
	if (!status)
		status = model_ask(report->selection, report->request->cpu, *event, &report->model);
	if (status)
		return status;
	err = path_records_read(database->profile, report->selection, number, &report->records);
	return err ? database_cannot_read(database, err) : STATUS_OK;
}

static int
add_totals(struct list_report *report)
{
	const struct procedure_analysis *analysis = report->analysis;
	const size_t instructions = analysis->graph->instruction_count;

	report->totals = calloc(analysis->event_count + 1, sizeof(*report->totals));
	report->taken = calloc(analysis->event_count + 1, sizeof(*report->taken));
	if (!report->totals || !report->taken)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->event_count * instructions; i++) {
		report->totals[i / instructions] += analysis->samples[i];
		report->taken[i / instructions] += analysis->taken[i];
	}
	return 0;
}

/* An exit status. */
static int
count_samples(struct list_report *report, struct database *database)
{
	struct procedure_input input = {
		.selection = report->selection,
		.code = &report->choice.found.code,
		.symbol = report->choice.found.symbol,
		.event = report->columns.events[0],
		.exact = &report->records.exact.paths,
		.branches = &report->records.branches.paths,
		.bursts = &report->records.bursts.paths,
	};
	int err;

	if (report->request->frequency) {
		const int status = prepare_frequencies(report, database, &input.event);

		if (status)
			return status;
		input.pipeline = &report->model.pipeline;
	}
	err = procedure_analyze(&input, &report->analysis);
	if (!err)
		err = add_totals(report);
	if (!err)
		return STATUS_OK;
	return message_cannot(report->request->procedure.name, "list the procedure", err,
	                      err == -ENOENT ? CODE_IMAGE_NO_TEXT : NULL);
}

static int
find_places(struct list_report *report)
{
	const struct flow_graph *graph = report->analysis->graph;
	int err;

	report->places = calloc(graph->instruction_count + 1, sizeof(*report->places));
	if (!report->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->instruction_count; i++)
		report->places[i].file = SOURCE_NONE;
	err = image_lines_new(report->choice.found.code.file, &report->lines);
	report->lines_damaged = err == -DCPI_EDAMAGED;
	if (err)
		return err == -ENOENT || err == -DCPI_EDAMAGED ? 0 : err;
	for (uint32_t i = 0; i < graph->instruction_count && !err; i++) {
		struct source_place place;
		const int found = image_lines_find(report->lines, graph->instructions[i].address, &place);

		report->lines_damaged |= found == -DCPI_EDAMAGED;
		if (found)
			continue;
		report->places[i].line = place.line;
		err = sources_add(&report->sources, place.path, &report->places[i].file);
	}
	return err;
}

/* What reads the image's files. An exit status. */
static int
list_procedure(struct list_report *report, struct database *database)
{
	const struct list_request *request = report->request;
	const struct procedure_request procedure = {
		.name = request->procedure.name,
		.images = request->options.images,
		.image_count = request->options.image_count,
		.event = report->columns.events[0],
	};
	int status, err;

	status = procedure_choose(report->selection, &procedure, &report->choice);
	if (!status)
		status = count_samples(report, database);
	if (status)
		return status;
	err = find_places(report);
	if (!err)
		err = line_index_make(report->places, report->analysis->graph->instruction_count, &report->index);
	return err ? message_cannot(request->procedure.name, "read the line numbers", err, NULL) : STATUS_OK;
}

int
list_report_make(struct list_report *report, const struct list_request *request, struct database *database)
{
	struct guard guard;
	char *shown;
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->options.request, &report->selection);
	if (!status)
		status = columns_ask(report->selection, &request->columns, database->directory, &report->columns);
	if (status)
		return status;
	shown = text_shown(request->procedure.name);
	guard = procedure_guard(shown);
	guard_enter(&guard);
	status = list_procedure(report, database);
	guard_leave(&guard);
	free(shown);
	return status;
}

void
list_report_fini(struct list_report *report)
{
	free(report->totals);
	free(report->taken);
	line_index_fini(&report->index);
	free(report->places);
	sources_fini(&report->sources);
	image_lines_free(report->lines);
	procedure_analysis_free(report->analysis);
	path_records_fini(&report->records);
	procedure_choice_fini(&report->choice);
	selection_free(report->selection);
}

uint64_t
list_instruction_samples(const struct list_report *report, const uint64_t *counts, uint32_t instruction, uint16_t event)
{
	return counts[event * report->analysis->graph->instruction_count + instruction];
}

uint64_t
list_line_samples(const struct list_report *report, const uint64_t *counts, const struct line_entry *line,
                  uint16_t event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < line->count; i++)
		sum += list_instruction_samples(report, counts, report->index.order[line->first + i], event);
	return sum;
}

const struct frequency *
list_instruction_frequency(const struct list_report *report, uint32_t instruction, uint64_t *times)
{
	const struct procedure_analysis *analysis = report->analysis;
	const uint32_t block = flow_graph_block_at(analysis->graph, analysis->graph->instructions[instruction].address);
	const struct frequency *frequency;

	if (block == FLOW_OUTSIDE) /* padding */
		return NULL;
	frequency = &analysis->frequencies.blocks[block];
	*times = frequency->confidence == CONFIDENCE_EXACT && analysis->executions ? analysis->executions[instruction]
	                                                                           : 0;
	return frequency->confidence == CONFIDENCE_NONE ? NULL : frequency;
}

const struct frequency *
list_line_frequency(const struct list_report *report, const struct line_entry *line, uint64_t *times)
{
	const struct frequency *most = NULL;

	for (uint32_t i = 0; i < line->count; i++) {
		uint64_t own;
		const struct frequency *frequency =
			list_instruction_frequency(report, report->index.order[line->first + i], &own);

		if (!frequency || (most && frequency->value <= most->value))
			continue;
		most = frequency;
		*times = own;
	}
	return most;
}

void
list_instruction_text(const struct list_report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE])
{
	instruction_format(&report->choice.found.code, &report->analysis->graph->instructions[instruction],
	                   report->request->procedure.syntax, text);
}
