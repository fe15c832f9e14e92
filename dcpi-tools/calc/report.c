#include "dcpi-tools/calc/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/image_choice.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/symbolizer.h"
#include "dcpi-tools/common/text.h"

static int
choose_event(struct report *report, const char *directory)
{
	char why[256];
	int event = time_event_choose(report->selection, report->request->event, why, sizeof(why));

	if (event < 0) {
		message_print(directory, "%s", why);
		return error_exit_status(event);
	}
	report->event = (uint16_t)event;
	return STATUS_OK;
}

static int
choose_images(struct report *report)
{
	const struct image_request images = {
		.patterns = report->request->images,
		.count = report->request->image_count,
		.event = report->event,
	};

	report->titles = image_titles(report->selection);
	if (!report->titles)
		return message_cannot(NULL, "name the images", -ENOMEM, NULL);
	return images_choose(report->selection, report->titles, &images, &report->wanted);
}

static int
choose_procedure(struct report *report)
{
	const struct procedure_query query = {
		.selection = report->selection,
		.wanted = report->wanted,
		.name = report->request->procedure,
		.event = report->event,
	};
	struct procedure procedure = {.kind = PROCEDURE_UNNAMED};
	char why[1024];
	int err;

	err = procedure_find(&query, &report->found, why, sizeof(why));
	if (err && !why[0])
		return message_cannot(query.name, "find the procedure", err, NULL);
	if (err) {
		message_print(query.name, "%s", why);
		return error_exit_status(err);
	}
	procedure.offset = report->found.symbol->offset;
	procedure.name = report->found.symbol->name;
	if (procedure.name)
		procedure.kind = PROCEDURE_NAMED;
	report->title = procedure_title(&procedure, report->found.code.image, true);
	return report->title ? STATUS_OK : message_cannot(NULL, "name the procedure", -ENOMEM, NULL);
}

/* By the CPU of the newest epoch. */
static int
choose_pipeline(struct report *report)
{
	const struct selection *selection = report->selection;
	const char *cpu = selection->epoch_count ? selection->epochs[selection->epoch_count - 1].cpu : "";
	char directory[4096];
	int err;

	pipeline_directory(directory, sizeof(directory));
	err = pipeline_choose(directory, report->request->cpu, cpu, &report->pipeline, report->pipeline_note,
	                      sizeof(report->pipeline_note));
	if (!err)
		return STATUS_OK;
	message_print(NULL, "%s", report->pipeline_note);
	return error_exit_status(err);
}

static int
read_exact(struct report *report, struct database *database)
{
	const uint32_t number = report->selection->images[report->found.code.index].number;
	int err = exact_read(database->profile, number, &report->exact);

	return err ? database_cannot_read(database, err) : STATUS_OK;
}

static int
analyze(struct report *report)
{
	const struct procedure_input input = {
		.selection = report->selection,
		.code = &report->found.code,
		.symbol = report->found.symbol,
		.event = report->event,
		.pipeline = &report->pipeline,
		.executions = report->exact.counts,
		.execution_count = report->exact.count,
		.exact_edges = report->exact.edges,
		.exact_edge_count = report->exact.edge_count,
		.ignore_exact = report->request->check,
	};
	int err = procedure_analyze(&input, &report->analysis);

	if (!err && (!report->request->check || report->analysis->executions))
		return STATUS_OK;
	if (!err) {
		message_print(report->request->procedure,
		              "there are no exact counts of it to compare with: 'dcpix -- PROGRAM' takes them");
		return STATUS_EMPTY;
	}
	return message_cannot(report->request->procedure, "analyse the procedure", err,
	                      err == -ENOENT ? "its code is not in the image's file" : NULL);
}

/* A fault inside libelf or libdw is the file's, not the database's. */
static int
look_into_files(struct report *report, struct database *database)
{
	char *shown = text_shown(report->request->procedure);
	struct guard guard = {
		.subject = shown ? shown : "?",
		.claim = "an image cannot be read: its file is damaged",
		.advice = "name another one with --image",
		.status = STATUS_FAILURE,
	};
	int status;

	guard_enter(&guard);
	status = choose_procedure(report);
	if (!status)
		status = choose_pipeline(report);
	if (!status)
		status = read_exact(report, database);
	if (!status)
		status = analyze(report);
	guard_leave(&guard);
	free(shown);
	return status;
}

int
report_make(struct report *report, const struct request *request, struct database *database)
{
	int status;

	memset(report, 0, sizeof(*report));
	report->request = request;
	status = database_select(database, &request->options.request, &report->selection);
	if (!status)
		status = choose_event(report, database->directory);
	if (!status)
		status = choose_images(report);
	return status ? status : look_into_files(report, database);
}

void
report_fini(struct report *report)
{
	procedure_analysis_free(report->analysis);
	exact_fini(&report->exact);
	code_image_close(&report->found.code);
	free(report->title);
	image_titles_free(report->titles, report->selection ? report->selection->image_count : 0);
	free(report->wanted);
	selection_free(report->selection);
}

double
block_percent(const struct report *report, uint32_t index)
{
	const double total = (double)report->analysis->time_samples;

	return total > 0 ? 100 * block_samples(report->analysis, index) / total : 0;
}

char *
instruction_text(const struct report *report, uint32_t instruction)
{
	const struct instruction *at = &report->analysis->graph->instructions[instruction];
	const struct code_image *code = &report->found.code;
	char text[INSTRUCTION_TEXT_SIZE];
	const uint8_t *bytes;
	size_t size;

	bytes = image_contents_code(code->contents, at->address, &size);
	if (!bytes)
		return strdup("?");
	decoder_text(procedures_decoder(code->procedures), bytes, size, at->address, report->request->syntax, text,
	             sizeof(text));
	return strdup(text);
}
