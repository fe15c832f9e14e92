/*
 * inferred - how right what is inferred from samples is, by exact counts and by what dcpiemu recorded
 *
 * inferred [OPTION]... [IMAGE]...
 *
 * Analyses each procedure that has samples in what was selected (options as for dcpitopstalls), from its samples alone:
 * exact counts are read, and not used. Prints a JSON object: `samples` that were selected, `analyzed` of them, and
 * `check`. That has, over all procedures, `judged_samples` (in blocks whose executions were counted) and those of them
 * whose block's estimate is `within_5_percent`, `within_10_percent`, `within_15_percent`; the `stall_cycles` that
 * dcpiemu recorded, and those of them with the right reason and the right culprit inferred (`right_reason_cycles`,
 * `right_culprit_cycles`); the `epoch` they were recorded in, or null; and `procedures` with the same sums of each,
 * most samples first. With --procedure it is of the procedures of this name alone, and each has its `stalls`, by
 * instruction.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/common/symbolizer.h"
#include "dcpi-tools/common/tool.h"
#include "tests/accuracy/recorded_stalls.h"

struct inferred_request {
	struct survey_request survey;
	const char *procedure; /* NULL: all */
};

struct judged_procedure {
	char *title;
	uint32_t image; /* of the selection */
	uint64_t samples;
	struct verdict_sum sum;
	json_t *stalls; /* by instruction; NULL: not asked for */
};

struct judging {
	const char *procedure; /* the only one; NULL: all */
	struct survey_all survey;
	struct profile *profile;
	uint32_t epoch;                  /* that has recorded stalls; 0: none */
	struct recorded_stalls recorded; /* of recorded_image */
	uint32_t recorded_image;         /* of the selection; SURVEY_NO_IMAGE: of none */
	struct judged_procedure *procedures;
	size_t count, capacity;
	struct verdict_sum sum; /* of all */
};

static const struct option_row rows[] = {
	OPTION_HEADING(1, "What is judged:"),
	OPTIONS_SURVEY(struct inferred_request, survey),
	OPTION_TEXT(1, "procedure", "NAME", struct inferred_request, procedure,
                    "Only procedures of this name, and their stalls by instruction"),
	OPTION_HEADING(2, "Which samples:"),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "[IMAGE...]",
	.doc = "Print how right what is inferred from samples is, as JSON.",
	.shared = SHARED_DATABASE | SHARED_SELECTION,
	.options = offsetof(struct inferred_request, survey.options),
};

static json_t *
verdict_json(const struct verdict *verdict, uint64_t address)
{
	return json_pack("{s:o, s:f, s:s, s:o, s:o, s:i, s:b, s:b}", "address", json_count(address), "cycles",
	                 verdict->cycles, "reason", stall_cause_name(verdict->cause), "culprit",
	                 verdict->culprit == VERDICT_ELSEWHERE ? json_null() : json_count(verdict->culprit), "inferred",
	                 verdict->inferred == CAUSE_COUNT ? json_null()
	                                                  : json_string(stall_cause_name(verdict->inferred)),
	                 "inferred_culprits", (int)verdict->inferred_culprits, "right_reason", verdict->is_cause,
	                 "right_culprit", verdict->is_culprit);
}

static json_t *
stalls_json(const struct flow_graph *graph, const struct verdict *verdicts)
{
	json_t *stalls = json_array();
	int failed = !stalls;

	for (size_t i = 0; i < graph->instruction_count; i++)
		if (verdicts[i].cycles > 0)
			failed |= json_array_append_new(stalls,
			                                verdict_json(&verdicts[i], graph->instructions[i].address));
	return json_kept(stalls, failed);
}

static int
keep_procedure(struct judging *judging, const struct procedure_input *input, const struct procedure_analysis *analysis,
               const struct verdict *verdicts)
{
	const struct procedure procedure = {
		.kind = input->symbol->name ? PROCEDURE_NAMED : PROCEDURE_UNNAMED,
		.offset = input->symbol->offset,
		.name = input->symbol->name,
	};
	const bool is_sampled_run = input->exact->is_sampled_run;
	struct judged_procedure *grown;

	grown = array_grow(judging->procedures, &judging->capacity, judging->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	judging->procedures = grown;
	grown += judging->count++;
	*grown = (struct judged_procedure){
		.title = procedure_title(&procedure, input->code->image, true),
		.image = input->code->index,
		.samples = analysis->time_samples,
		.stalls = judging->procedure ? stalls_json(analysis->graph, verdicts) : NULL,
	};
	verdict_sum_add(&grown->sum, analysis, is_sampled_run, verdicts);
	verdict_sum_add(&judging->sum, analysis, is_sampled_run, verdicts);
	return grown->title && (grown->stalls || !judging->procedure) ? 0 : -ENOMEM;
}

/* Have what was recorded of the image that is analysed now. */
static int
take_recorded(struct judging *judging, uint32_t image)
{
	if (!judging->epoch || judging->recorded_image == image)
		return 0;
	recorded_stalls_fini(&judging->recorded);
	judging->recorded_image = image;
	return recorded_stalls_read(judging->profile, judging->survey.selection->images[image].number, judging->epoch,
	                            &judging->recorded);
}

static int
judge_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct judging *judging = context;
	struct verdict *verdicts;
	int err;

	if (judging->procedure && (!input->symbol->name || strcmp(input->symbol->name, judging->procedure) != 0))
		return 0;
	err = take_recorded(judging, input->code->index);
	if (!err)
		err = recorded_stalls_judge(&judging->recorded, input->code, analysis, &verdicts);
	if (err)
		return err;
	err = keep_procedure(judging, input, analysis, verdicts);
	free(verdicts);
	return err;
}

/* Most samples first; ties by image and name, so that the order is reproducible. */
static int
compare(const void *left, const void *right)
{
	const struct judged_procedure *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return strcmp(a->title, b->title);
}

/* An exit status: 0, or another after a message. */
static int
judge_all(struct report *report, const struct request *asked, struct database *database)
{
	const struct inferred_request *request = (const void *)asked;
	struct judging *judging = (void *)report;
	const struct survey_all_visitor visitor = {.context = judging, .procedure = judge_procedure};
	int status = survey_all_open(&judging->survey, &request->survey, database);

	if (status)
		return status;
	judging->procedure = request->procedure;
	judging->profile = database->profile;
	judging->epoch = recorded_stalls_epoch(judging->survey.selection);
	judging->recorded_image = SURVEY_NO_IMAGE;
	judging->survey.ignore_exact = true;
	status = survey_all_run(&judging->survey, database, &visitor);
	if (status)
		return status;
	if (!judging->count) {
		message_print(database->directory, "there is no such procedure that could be analysed");
		return STATUS_EMPTY;
	}
	qsort(judging->procedures, judging->count, sizeof(*judging->procedures), compare);
	return STATUS_OK;
}

static json_t *
sum_json(const struct verdict_sum *sum)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "judged_samples", sum->samples, "within_5_percent",
	                 sum->within[0], "within_10_percent", sum->within[1], "within_15_percent", sum->within[2],
	                 "stall_cycles", sum->stall_cycles, "right_reason_cycles", sum->causes, "right_culprit_cycles",
	                 sum->culprits);
}

static json_t *
check_json(const struct judging *judging)
{
	json_t *procedures = json_array(), *object = sum_json(&judging->sum);
	int failed = !procedures || !object;

	for (size_t i = 0; !failed && i < judging->count; i++) {
		const struct judged_procedure *procedure = &judging->procedures[i];
		json_t *row = sum_json(&procedure->sum);

		failed |= json_object_set_new(row, "procedure", json_shown(procedure->title));
		failed |= json_object_set_new(row, "image", json_shown(judging->survey.titles[procedure->image]));
		failed |= json_object_set_new(row, "samples", json_count(procedure->samples));
		if (procedure->stalls)
			failed |= json_object_set(row, "stalls", procedure->stalls);
		failed |= json_array_append_new(procedures, row);
	}
	failed |= json_object_set_new(object, "epoch", judging->epoch ? json_count(judging->epoch) : json_null());
	failed |= json_object_set_new(object, "procedures", procedures);
	return json_kept(object, failed);
}

/* An exit status: 0, or another after a message. */
static int
print_judging(const struct report *report)
{
	const struct judging *judging = (const void *)report;
	json_t *root = json_pack("{s:o, s:o, s:o}", "samples", json_count(judging->survey.samples), "analyzed",
	                         json_count(judging->survey.analyzed), "check", check_json(judging));
	int err = json_print(root, stdout);

	return err ? message_cannot("standard output", "write the judgement", err, NULL) : STATUS_OK;
}

static void
judging_fini(struct report *report)
{
	struct judging *judging = (void *)report;

	for (size_t i = 0; i < judging->count; i++) {
		free(judging->procedures[i].title);
		json_decref(judging->procedures[i].stalls);
	}
	free(judging->procedures);
	recorded_stalls_fini(&judging->recorded);
	survey_all_fini(&judging->survey);
}

static const struct tool tool = {
	.line = &line,
	.make = judge_all,
	.act = print_judging,
	.fini = judging_fini,
};

int
main(int argc, char **argv)
{
	struct inferred_request request = {0};
	struct judging judging = {0};

	return tool_run(&tool, &request, &judging, argc, argv);
}
