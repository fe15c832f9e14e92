/*
 * dcpilist - the source lines and instructions of a procedure, with their samples
 *
 * Its options; what it shows is in dcpi-tools/list/, and man/dcpilist.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/list/report.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

const char *argp_program_version = "dcpilist " DCPI_VERSION;

enum key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_SOURCE,
	KEY_INSTRUCTIONS,
	KEY_ASM,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Look in this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Only the column of this event", 1},
	{"source", KEY_SOURCE, NULL, 0, "Only source lines", 1},
	{"instructions", KEY_INSTRUCTIONS, NULL, 0, "Only instructions", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{"asm", KEY_ASM, "SYNTAX", 0, "Instructions of x86-64: att (default) or intel", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{&options_selection, 0, NULL, 0},
	{&options_output, 0, NULL, 0},
	{0},
};

static void
add_image(struct request *request, const char *image, const struct argp_state *state)
{
	const char **images = reallocarray(request->images, request->image_count + 1, sizeof(*images));

	if (!images) {
		argp_failure(state, STATUS_FAILURE, ENOMEM, "--image");
		return;
	}
	request->images = images;
	request->images[request->image_count++] = image;
}

static void
add_event(struct request *request, const char *event, const struct argp_state *state)
{
	if (request->columns.event_count == EVENTS_MAX)
		argp_error(state, "--event can be given %d times at most", EVENTS_MAX);
	request->columns.events[request->columns.event_count++] = event;
}

static void
take_syntax(struct request *request, const char *text, const struct argp_state *state)
{
	if (strcmp(text, "att") == 0)
		request->syntax = LISTING_ATT;
	else if (strcmp(text, "intel") == 0)
		request->syntax = LISTING_INTEL;
	else
		argp_error(state, "--asm is one of 'att' and 'intel'");
}

static void
take_argument(struct request *request, const char *text, const struct argp_state *state)
{
	if (!request->procedure)
		request->procedure = text;
	else
		add_image(request, text, state);
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; children[i].argp; i++)
			state->child_inputs[i] = &request->options;
		return 0;
	case KEY_IMAGE:
		add_image(request, text, state);
		return 0;
	case ARGP_KEY_ARG:
		take_argument(request, text, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which procedure? 'dcpiprof' shows which are hot");
		return 0;
	case KEY_EVENT:
		add_event(request, text, state);
		return 0;
	case KEY_SOURCE:
		request->mode = LIST_SOURCE;
		return 0;
	case KEY_INSTRUCTIONS:
		request->mode = LIST_INSTRUCTIONS;
		return 0;
	case KEY_ASM:
		take_syntax(request, text, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "PROCEDURE [IMAGE...]",
	.doc = "Show the source lines and instructions of a procedure, with their samples.\v"
	       "PROCEDURE is a name or an address in it, as 0x1139. Without options: the latest epoch, all images. "
	       "See dcpilist(1).",
	.children = children,
};

static int
print_report(const struct report *report)
{
	const struct options *options = &report->request->options;
	bool is_text = options->format == FORMAT_TEXT;
	struct output output;
	int err, end;

	output_open(&output, is_text ? options->color : COLOR_NEVER, is_text && options->pager);
	if (is_text)
		err = report_print_text(report, &output);
	else
		err = report_print_json(report, output.stream);
	end = output_close(&output);
	if (err || end)
		return message_cannot("standard output", "write the report", err ? err : end, NULL);
	return STATUS_OK;
}

static int
run(const struct request *request)
{
	struct database database;
	struct report report;
	int status;

	status = database_open(&database, request->options.directory);
	if (status)
		return status;
	status = report_make(&report, request, &database);
	database_close(&database); /* a pager may keep us for hours */
	if (!status)
		status = print_report(&report);
	report_fini(&report);
	return status;
}

int
main(int argc, char **argv)
{
	struct request request = {0};
	int status;

	text_init();
	options_init(&request.options);
	status = argp_parse(&argp, argc, argv, 0, NULL, &request);
	if (status)
		status = message_cannot(NULL, "read the command line", -status, NULL);
	else
		status = run(&request);
	free(request.images);
	return status;
}
