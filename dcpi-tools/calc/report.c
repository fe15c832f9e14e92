#include "dcpi-tools/calc/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/frequency_source.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

static int
choose_procedure(struct report *report)
{
	const struct procedure_request procedure = {
		.name = report->request->procedure.name,
		.images = report->request->options.images,
		.image_count = report->request->options.image_count,
		.event = report->event,
	};

	return procedure_choose(report->selection, &procedure, &report->choice);
}

static int
read_recorded(struct report *report, struct database *database)
{
	const uint32_t number = report->selection->images[report->choice.found.code.index].number;
	int err = recorded_read(database->profile, report->selection, number, &report->recorded);

	return err ? database_cannot_read(database, err) : STATUS_OK;
}

static const struct procedure_paths *
wanted(const struct report *report, enum report_from from, const struct recorded_event *recorded)
{
	return report->request->from == FROM_BEST || report->request->from == from ? &recorded->paths : NULL;
}

/* Who takes exact counts, where the samples are from. */
static const char *
who_counts(const struct report *report)
{
	return recorded_emulated_epoch(report->selection)
	               ? "'dcpiemu run' takes them, unless --model leaves 'counts' out"
	               : "'dcpix -- PROGRAM' takes them";
}

/* Where one source was asked for: is it there? */
static int
check_source(const struct report *report)
{
	const struct {
		enum frequency_method method;
		const char *missing, *who;
	} sources[] = {
		[FROM_EXACT] = {FREQUENCY_COUNTED, "exact counts", who_counts(report)},
		[FROM_BRANCHES] = {FREQUENCY_BRANCHES, "branch stacks", NULL},
		[FROM_INSTRUCTIONS] = {FREQUENCY_RETIRED, "samples of instructions",
	                               "dcpid takes them, where the machine counts these"},
		[FROM_BURSTS] = {FREQUENCY_BURSTS, "bursts", "'dcpix --bursts -p PID' takes them"},
	};
	const enum report_from from = report->request->from;
	uint32_t epoch;

	if (from == FROM_BEST || from == FROM_SAMPLES ||
	    frequency_source(report->analysis, &report->recorded, &epoch) == sources[from].method)
		return STATUS_OK;
	message_print(report->request->procedure.name, "there are no %s of it%s%s", sources[from].missing,
	              sources[from].who ? ": " : "", sources[from].who ? sources[from].who : "");
	return STATUS_EMPTY;
}

static int
analyze(struct report *report)
{
	const enum report_from from = report->request->from;
	const struct procedure_input input = {
		.selection = report->selection,
		.code = &report->choice.found.code,
		.symbol = report->choice.found.symbol,
		.event = report->event,
		.pipeline = &report->model.pipeline,
		.exact = &report->recorded.exact.paths,
		.branches = wanted(report, FROM_BRANCHES, &report->recorded.branches),
		.bursts = wanted(report, FROM_BURSTS, &report->recorded.bursts),
		.ignore_exact = report->request->check || (from != FROM_BEST && from != FROM_EXACT),
		.ignore_retired = from != FROM_BEST && from != FROM_INSTRUCTIONS,
	};
	int err = procedure_analyze(&input, &report->analysis);

	if (!err && (!report->request->check || report->analysis->executions))
		return check_source(report);
	if (!err) {
		message_print(report->request->procedure.name, "there are no exact counts of it to compare with: %s",
		              who_counts(report));
		return STATUS_EMPTY;
	}
	return message_cannot(report->request->procedure.name, "analyse the procedure", err,
	                      err == -ENOENT ? CODE_IMAGE_NO_TEXT : NULL);
}

/* An exit status. */
static int
judge(struct report *report, struct database *database)
{
	const struct code_image *code = &report->choice.found.code;
	struct truth truth;
	int err;

	report->truth_epoch = report->request->check ? truth_epoch(report->selection) : 0;
	if (!report->truth_epoch)
		return STATUS_OK;
	err = truth_read(database->profile, report->selection->images[code->index].number, report->truth_epoch, &truth);
	if (err)
		return database_cannot_read(database, err);
	err = truth_judge(&truth, code, report->analysis, &report->verdicts);
	truth_fini(&truth);
	return err ? message_cannot(report->request->procedure.name, "judge the stalls", err, NULL) : STATUS_OK;
}

/* What cores of other kinds took of the procedure. */
static void
leave_out(struct report *report)
{
	const size_t count = report->analysis->graph->instruction_count;

	for (size_t event = 0; event < report->selection->event_count; event++)
		for (size_t i = 0; i < count; i++)
			other_cores_add(&report->left_out, report->selection, report->event, event,
			                report->analysis->samples[event * count + i]);
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
		status = model_ask(report->selection, report->request->cpu, report->event, &report->model);
	if (!status)
		status = read_recorded(report, database);
	if (!status)
		status = analyze(report);
	if (!status) {
		leave_out(report);
		status = judge(report, database);
	}
	guard_leave(&guard);
	free(shown);
	return status;
}

int
calc_report_make(struct report *report, const struct request *request, struct database *database)
{
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->options.request, &report->selection);
	if (!status)
		status = time_event_ask(report->selection, request->event, database->directory, &report->event);
	return status ? status : look_into_files(report, database);
}

void
calc_report_fini(struct report *report)
{
	free(report->verdicts);
	procedure_analysis_free(report->analysis);
	recorded_fini(&report->recorded);
	procedure_choice_fini(&report->choice);
	selection_free(report->selection);
}

double
block_percent(const struct report *report, uint32_t index)
{
	const double total = (double)report->analysis->time_samples;

	return total > 0 ? 100 * procedure_block_samples(report->analysis, index) / total : 0;
}

void
calc_instruction_text(const struct report *report, uint32_t instruction, char text[INSTRUCTION_TEXT_SIZE])
{
	instruction_format(&report->choice.found.code, &report->analysis->graph->instructions[instruction],
	                   report->request->procedure.syntax, text);
}
