#include "dcpi-tools/list/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

static int
choose_columns(struct report *report, const char *directory)
{
	char why[1024];
	int err;

	err = columns_choose(report->selection, &report->request->columns, &report->columns, why, sizeof(why));
	if (!err)
		return STATUS_OK;
	message_print(directory, "%s", why);
	return error_exit_status(err);
}

static int
choose_procedure(struct report *report)
{
	const struct procedure_request procedure = {
		.name = report->request->procedure.name,
		.images = report->request->options.images,
		.image_count = report->request->options.image_count,
		.event = report->columns.events[0],
	};

	return procedure_choose(report->selection, &procedure, &report->choice);
}

static int
add_up(struct report *report)
{
	const size_t events = report->analysis->event_count;

	report->totals = calloc(events + 1, sizeof(*report->totals));
	for (size_t event = 0; event < events && report->totals; event++)
		for (uint32_t i = 0; i < report->analysis->graph->instruction_count; i++)
			report->totals[event] +=
				instruction_samples(report, report->analysis->samples, i, (uint16_t)event);
	return report->totals ? 0 : -ENOMEM;
}

/* For frequencies: the model, the event that is time, and what was recorded. */
static int
prepare_frequencies(struct report *report, struct database *database, uint16_t *event)
{
	const uint32_t number = report->selection->images[report->choice.found.code.index].number;
	int err, status;

	status = time_event_ask(report->selection, NULL, database->directory, event);
	if (!status)
		status = model_ask(report->selection, report->request->cpu, *event, &report->model);
	if (status)
		return status;
	err = recorded_read(database->profile, report->selection, number, &report->recorded);
	return err ? database_cannot_read(database, err) : STATUS_OK;
}

static int
count(struct report *report, struct database *database)
{
	struct procedure_input input = {
		.selection = report->selection,
		.code = &report->choice.found.code,
		.symbol = report->choice.found.symbol,
		.event = report->columns.events[0],
		.exact = &report->recorded.exact.paths,
		.branches = &report->recorded.branches.paths,
		.bursts = &report->recorded.bursts.paths,
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
		err = add_up(report);
	if (!err)
		return STATUS_OK;
	return message_cannot(report->request->procedure.name, "list the procedure", err,
	                      err == -ENOENT ? CODE_IMAGE_NO_TEXT : NULL);
}

static int
find_places(struct report *report)
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

static int
find_lines(struct report *report)
{
	int err = find_places(report);

	if (!err)
		err = line_index_make(report->places, report->analysis->graph->instruction_count, &report->index);
	return err ? message_cannot(report->request->procedure.name, "read the line numbers", err, NULL) : STATUS_OK;
}

static int
look_into_files(struct report *report, struct database *database)
{
	char *shown = text_shown(report->request->procedure.name);
	struct guard guard = procedure_guard(shown);
	int status;

	guard_enter(&guard);
	status = choose_procedure(report);
	if (!status)
		status = count(report, database);
	if (!status)
		status = find_lines(report);
	guard_leave(&guard);
	free(shown);
	return status;
}

int
list_report_make(struct report *report, const struct request *request, struct database *database)
{
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->options.request, &report->selection);
	if (!status)
		status = choose_columns(report, database->directory);
	return status ? status : look_into_files(report, database);
}

void
list_report_fini(struct report *report)
{
	free(report->totals);
	line_index_fini(&report->index);
	free(report->places);
	sources_fini(&report->sources);
	image_lines_free(report->lines);
	procedure_analysis_free(report->analysis);
	recorded_fini(&report->recorded);
	procedure_choice_fini(&report->choice);
	selection_free(report->selection);
}

uint64_t
instruction_samples(const struct report *report, const uint64_t *counts, uint32_t instruction, uint16_t event)
{
	return counts[event * report->analysis->graph->instruction_count + instruction];
}

uint64_t
line_samples(const struct report *report, const uint64_t *counts, const struct list_line *line, uint16_t event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < line->count; i++)
		sum += instruction_samples(report, counts, report->index.order[line->first + i], event);
	return sum;
}

const struct frequency *
instruction_frequency(const struct report *report, uint32_t instruction, uint64_t *times)
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
line_frequency(const struct report *report, const struct list_line *line, uint64_t *times)
{
	const struct frequency *most = NULL;

	for (uint32_t i = 0; i < line->count; i++) {
		uint64_t own;
		const struct frequency *frequency =
			instruction_frequency(report, report->index.order[line->first + i], &own);

		if (!frequency || (most && frequency->value <= most->value))
			continue;
		most = frequency;
		*times = own;
	}
	return most;
}

void
list_instruction_text(const struct report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE])
{
	instruction_format(&report->choice.found.code, &report->analysis->graph->instructions[instruction],
	                   report->request->procedure.syntax, text);
}
