/*
 * dcpiprof - where the samples fell, by procedure or by image
 *
 * Its options; what it shows is in dcpi-tools/prof/, and man/dcpiprof.1.scd describes it.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/prof/report.h"

const char *argp_program_version = "dcpiprof " DCPI_VERSION;

enum key {
	KEY_IMAGE = 1,
	KEY_EVENT,
	KEY_SORT,
	KEY_KEEP,
	KEY_LIMIT,
	KEY_NO_DEMANGLE,
};

static const struct argp_option entries[] = {
	{NULL, 0, NULL, 0, "What is shown:", 1},
	{"by-image", 'i', NULL, 0, "A row for each image, not each procedure", 1},
	{"image", KEY_IMAGE, "IMAGE", 0, "Only this image: a file name, a path, a pattern or a build-id's beginning",
         1},
	{"event", KEY_EVENT, "EVENT", 0, "Only the columns of this event", 1},
	{"sort", KEY_SORT, "EVENT", 0, "Sort by this event", 1},
	{"keep", KEY_KEEP, "PERCENT", 0, "Only the rows that PERCENT of the samples need", 1},
	{"limit", KEY_LIMIT, "N", 0, "At most N rows", 1},
	{"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as the linker knows them", 1},
	{NULL, 0, NULL, 0, "Which samples:", 2},
	{NULL, 0, NULL, 0, "How it is shown:", 3},
	{0},
};

static const struct argp_child children[] = {
	{&options_database, 0, NULL, 0},
	{&options_selection, 0, NULL, 0},
	{&options_output, 0, NULL, 0},
	{&options_table, 0, NULL, 0},
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

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; children[i].argp; i++)
			state->child_inputs[i] = &request->options;
		return 0;
	case 'i':
		request->by_image = true;
		return 0;
	case KEY_IMAGE:
	case ARGP_KEY_ARG:
		add_image(request, text, state);
		return 0;
	case KEY_EVENT:
		add_event(request, text, state);
		return 0;
	case KEY_SORT:
		request->columns.sort = text;
		return 0;
	case KEY_KEEP:
		request->keep_percent = options_number(state, "--keep", text, 0, 100);
		return 0;
	case KEY_LIMIT:
		request->limit = options_count(state, "--limit", text);
		return 0;
	case KEY_NO_DEMANGLE:
		request->demangle = false;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = entries,
	.parser = parse_option,
	.args_doc = "[IMAGE...]",
	.doc = "Show where the samples of a dcpi profile database fell, by procedure or by image.\v"
	       "Without options: the latest epoch, all images. See dcpiprof(1).",
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
	if (options->format == FORMAT_JSON)
		err = report_print_json(report, output.stream);
	else if (options->format == FORMAT_CSV)
		err = report_print_csv(report, output.stream);
	else
		err = report_print_text(report, &output);
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
	struct request request = {.demangle = true, .keep_percent = 100};
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
