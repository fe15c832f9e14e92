#include "dcpi-tools/calc/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/path_records.h"
#include "dcpi-tools/common/text.h"

/* The paths of the record, if frequencies may come `from` it. */
static const struct procedure_paths *
wanted_paths(const struct calc_report *report, enum calc_frequency_source from, const struct path_record *record)
{
	return report->request->from == FROM_BEST || report->request->from == from ? &record->paths : NULL;
}

/* Which command records exact counts for such samples. */
static const char *
counting_command(const struct calc_report *report)
{
	return path_records_emulated_epoch(report->selection)
	               ? "'dcpiemu run' takes them, unless --model leaves 'counts' out"
	               : "'dcpix -- PROGRAM' takes them";
}

/* Refuse a source that was asked for and is not there: an exit status. */
static int
check_source(const struct calc_report *report)
{
	const struct {
		enum frequency_method method;
		const char *missing, *command;
	} sources[] = {
		[FROM_EXACT] = {FREQUENCY_COUNTED, "exact counts", counting_command(report)},
		[FROM_BRANCHES] = {FREQUENCY_BRANCHES, "branch stacks", NULL},
		[FROM_INSTRUCTIONS] = {FREQUENCY_RETIRED, "samples of instructions",
	                               "dcpid takes them, where the machine counts these"},
		[FROM_BURSTS] = {FREQUENCY_BURSTS, "bursts", "'dcpix --bursts -p PID' takes them"},
	};
	const enum calc_frequency_source from = report->request->from;
	uint32_t epoch;

	if (from == FROM_BEST || from == FROM_SAMPLES ||
	    frequency_source(report->analysis, &report->records, &epoch) == sources[from].method)
		return STATUS_OK;
	message_print(report->request->procedure.name, "there are no %s of it%s%s", sources[from].missing,
	              sources[from].command ? ": " : "", sources[from].command ? sources[from].command : "");
	return STATUS_EMPTY;
}

static int
analyze(struct calc_report *report)
{
	const enum calc_frequency_source from = report->request->from;
	const struct procedure_input input = {
		.selection = report->selection,
		.code = &report->choice.found.code,
		.symbol = report->choice.found.symbol,
		.event = report->event,
		.pipeline = &report->model.pipeline,
		.exact = &report->records.exact.paths,
		.branches = wanted_paths(report, FROM_BRANCHES, &report->records.branches),
		.bursts = wanted_paths(report, FROM_BURSTS, &report->records.bursts),
		.ignore_exact = report->request->check || (from != FROM_BEST && from != FROM_EXACT),
		.ignore_retired = from != FROM_BEST && from != FROM_INSTRUCTIONS,
	};
	int err = procedure_analyze(&input, &report->analysis);

	if (err)
		return message_cannot(report->request->procedure.name, "analyse the procedure", err,
		                      err == -ENOENT ? CODE_IMAGE_NO_TEXT : NULL);
	if (!report->request->check || report->analysis->executions)
		return check_source(report);
	message_print(report->request->procedure.name, "there are no exact counts of it to compare with: %s",
	              counting_command(report));
	return STATUS_EMPTY;
}

/* What reads the image's files. An exit status. */
static int
analyze_procedure(struct calc_report *report, struct database *database)
{
	const struct calc_request *request = report->request;
	const struct procedure_request procedure = {
		.name = request->procedure.name,
		.images = request->options.images,
		.image_count = request->options.image_count,
		.event = report->event,
	};
	int status, err;

	status = procedure_choose(report->selection, &procedure, &report->choice);
	if (!status)
		status = model_ask(report->selection, request->cpu, report->event, &report->model);
	if (status)
		return status;
	err = path_records_read(database->profile, report->selection,
	                        report->selection->images[report->choice.found.code.index].number, &report->records);
	if (err)
		return database_cannot_read(database, err);
	status = analyze(report);
	if (status)
		return status;
	for (size_t event = 0, at = 0; event < report->selection->event_count; event++)
		for (size_t i = 0; i < report->analysis->graph->instruction_count; i++)
			other_cores_add(&report->left_out, report->selection, report->event, event,
			                report->analysis->samples[at++]);
	return STATUS_OK;
}

int
calc_report_make(struct calc_report *report, const struct calc_request *request, struct database *database)
{
	struct guard guard;
	char *shown;
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->options.request, &report->selection);
	if (!status)
		status = time_event_ask(report->selection, request->event, database->directory, &report->event);
	if (status)
		return status;
	shown = text_shown(request->procedure.name);
	guard = procedure_guard(shown);
	guard_enter(&guard);
	status = analyze_procedure(report, database);
	guard_leave(&guard);
	free(shown);
	return status;
}

void
calc_report_fini(struct calc_report *report)
{
	procedure_analysis_free(report->analysis);
	path_records_fini(&report->records);
	procedure_choice_fini(&report->choice);
	selection_free(report->selection);
}

double
calc_block_percent(const struct calc_report *report, uint32_t index)
{
	const double total = (double)report->analysis->time_samples;

	return total > 0 ? 100 * procedure_block_samples(report->analysis, index) / total : 0;
}

void
calc_instruction_text(const struct calc_report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE])
{
	instruction_format(&report->choice.found.code, &report->analysis->graph->instructions[instruction],
	                   report->request->procedure.syntax, text);
}
