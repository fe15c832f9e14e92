#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/mem/command.h"
#include "dcpi-tools/mem/plot.h"
#include "dcpi-tools/mem/report.h"
#include "profile/catalog.h"
#include "profile/memory_rows.h"

#define WHY_SIZE 512

struct mem_view_request {
	struct options options;
	const char *object; /* NULL: all */
	const char *plot;   /* NULL: none */
	size_t limit;
	bool by_object;
};

/* ---- the profile ---- */

/* Of the newest epoch that the user's expression names and that has one. */
static int
read_chosen(struct database *database, const struct mem_view_request *request, struct memory_profile *profile)
{
	char why[WHY_SIZE] = "";
	uint32_t *ids, none = 0;
	size_t count;
	int err;

	if (!request->options.request.epoch)
		return memory_rows_read(database->profile, &none, profile);
	err = catalog_choose_epochs(database->profile, &request->options.request, &ids, &count, why, sizeof(why));
	if (err)
		return database_cannot_select(database, err, why);
	err = -ENOENT;
	for (size_t i = count; i-- > 0 && err == -ENOENT;) {
		memory_profile_fini(profile);
		err = memory_rows_read(database->profile, &ids[i], profile);
	}
	free(ids);
	return err;
}

static int
read_profile(const struct mem_view_request *request, struct memory_profile *profile)
{
	struct database database;
	int status = database_open(&database, request->options.directory), err;

	if (status)
		return status;
	err = read_chosen(&database, request, profile);
	status = err > 0 ? err : STATUS_OK;
	if (err == -ENOENT) {
		message_print(database.directory,
		              request->options.request.epoch
		                      ? "epoch %s has no memory objects: 'dcpimem run' records them"
		                      : "no epoch has memory objects%s: 'dcpimem run' records them",
		              request->options.request.epoch ? request->options.request.epoch : "");
		status = STATUS_FAILURE;
	} else if (err < 0) {
		status = database_cannot_read(&database, err);
	}
	database_close(&database);
	return status;
}

/* ---- the commands ---- */

/* What a command prints. */
struct mem_view_command {
	int (*text)(const struct memory_report *report, const struct mem_view_request *request,
	            const struct output *output);
	int (*json)(const struct memory_report *report, const struct mem_view_request *request, FILE *stream);
	/* Draw what --plot names; an exit status. NULL: it has no such option. */
	int (*plot)(const struct memory_report *report, const struct mem_view_request *request);
};

static struct mem_view
view_of(const struct mem_view_request *request)
{
	return (struct mem_view){
		.limit = request->limit, .by_object = request->by_object, .header = request->options.header};
}

static int
objects_text(const struct memory_report *report, const struct mem_view_request *request, const struct output *output)
{
	const struct mem_view view = view_of(request);

	return mem_objects_text(report, &view, output);
}

static int
objects_json(const struct memory_report *report, const struct mem_view_request *request, FILE *stream)
{
	const struct mem_view view = view_of(request);

	return mem_objects_json(report, &view, stream);
}

static int
threads_text(const struct memory_report *report, const struct mem_view_request *request, const struct output *output)
{
	const struct mem_view view = view_of(request);

	return mem_threads_text(report, &view, output);
}

static int
threads_json(const struct memory_report *report, const struct mem_view_request *request, FILE *stream)
{
	const struct mem_view view = view_of(request);

	return mem_threads_json(report, &view, stream);
}

static int
object_text(const struct memory_report *report, const struct mem_view_request *request, const struct output *output)
{
	const struct mem_view view = view_of(request);
	const struct memory_member *member;
	const char *similar;
	const struct memory_group *group = mem_find(report, request->object, &member, &similar);

	return mem_object_text(report, group, member, &view, output);
}

static int
object_json(const struct memory_report *report, const struct mem_view_request *request, FILE *stream)
{
	const struct memory_member *member;
	const char *similar;
	const struct memory_group *group = mem_find(report, request->object, &member, &similar);

	return mem_object_json(report, group, member, stream);
}

static int
object_plot(const struct memory_report *report, const struct mem_view_request *request)
{
	const struct memory_member *member;
	const char *similar;
	const struct memory_group *group = mem_find(report, request->object, &member, &similar);

	return mem_plot_object(report, member ? member : &report->objects[group->first_object], request->object,
	                       request->plot);
}

static int
threads_plot(const struct memory_report *report, const struct mem_view_request *request)
{
	return mem_plot_threads(report, request->plot);
}

static int
check_object(const struct memory_report *report, const struct mem_view_request *request)
{
	const struct memory_member *member;
	const char *similar;

	if (!request->object || mem_find(report, request->object, &member, &similar))
		return STATUS_OK;
	if (similar)
		message_print(request->object, "there is no such object with accesses, or several; %s is one", similar);
	else
		message_print(request->object,
		              "there is no such object with accesses: 'dcpimem objects --limit 1000' lists them");
	return STATUS_USAGE;
}

static int
print(const struct mem_view_command *command, const struct memory_report *report,
      const struct mem_view_request *request)
{
	struct output output;
	int err, closed;

	output_open(&output, request->options.color, request->options.pager);
	if (request->options.format == FORMAT_JSON)
		err = command->json(report, request, output.stream);
	else
		err = command->text(report, request, &output);
	closed = output_close(&output);
	err = err ? err : closed;
	return err ? message_cannot(NULL, "print", err, NULL) : STATUS_OK;
}

static int
view(const struct command_line *line, const struct mem_view_command *command, int argc, char **argv)
{
	struct mem_view_request request = {.limit = 0};
	struct memory_profile profile = {.source = 0};
	struct memory_report report;
	int status = command_line_read(line, &request, argc, argv);

	if (!status && request.plot)
		status = plot_check(request.plot);
	if (!status)
		status = read_profile(&request, &profile);
	if (!status) {
		int err = memory_report_init(&report, &profile);

		status = err ? message_cannot(NULL, "make the report", err, NULL) : check_object(&report, &request);
		if (!status)
			status = command->plot && request.plot ? command->plot(&report, &request)
			                                       : print(command, &report, &request);
		memory_report_fini(&report);
	}
	memory_profile_fini(&profile);
	options_fini(&request.options);
	return status;
}

#define EPOCH_ROW                                                                                                      \
	OPTION_TEXT(1, "epoch", "EPOCH", struct mem_view_request, options.request.epoch,                               \
	            "Of this epoch: its number, its label, or as dcpiprof(1) has it (the newest that has objects)")
#define PLOT_ROW                                                                                                       \
	OPTION_TEXT(1, "plot", "FILE", struct mem_view_request, plot,                                                  \
	            "Draw it into FILE instead: .svg, .png, .pdf or .gnuplot")
#define NO_HEADER_ROW OPTION_FALSE(1, "no-header", struct mem_view_request, options.header, "Only the rows")

static void
take_object(void *member, char *text, struct argp_state *state)
{
	const char **object = member;

	if (*object)
		argp_error(state, "one object at a time: %s or %s?", *object, text);
	*object = text;
}

int
mem_objects_main(int argc, char **argv)
{
	static const struct option_row rows[] = {
		EPOCH_ROW,
		OPTION_TRUE(1, "each", 0, struct mem_view_request, by_object,
	                    "A row for each object, not for each allocation site"),
		OPTION_ROW_LIMIT(struct mem_view_request, limit),
		NO_HEADER_ROW,
		OPTION_ARGUMENT(0, command_refuse_argument),
		OPTION_END,
	};
	static const struct command_line line = {
		.rows = rows,
		.doc = "List memory objects by what accesses to them cost, with what could be done.",
		.shared = SHARED_DATABASE | SHARED_OUTPUT,
		.options = offsetof(struct mem_view_request, options),
	};
	static const struct mem_view_command command = {objects_text, objects_json, NULL};

	return view(&line, &command, argc, argv);
}

int
mem_threads_main(int argc, char **argv)
{
	static const struct option_row rows[] = {
		EPOCH_ROW, PLOT_ROW, NO_HEADER_ROW, OPTION_ARGUMENT(0, command_refuse_argument), OPTION_END,
	};
	static const struct command_line line = {
		.rows = rows,
		.doc = "List threads with the nodes and the objects that they access.",
		.shared = SHARED_DATABASE | SHARED_OUTPUT,
		.options = offsetof(struct mem_view_request, options),
	};
	static const struct mem_view_command command = {threads_text, threads_json, threads_plot};

	return view(&line, &command, argc, argv);
}

int
mem_object_main(int argc, char **argv)
{
	static const struct option_row rows[] = {
		EPOCH_ROW,     PLOT_ROW,
		NO_HEADER_ROW, OPTION_ARGUMENT(offsetof(struct mem_view_request, object), take_object),
		OPTION_END,
	};
	static const struct command_line line = {
		.rows = rows,
		.arguments = "OBJECT",
		.doc = "Show one object: who accesses it, when, from where, and where it was allocated.\v"
		       "OBJECT is as 'dcpimem objects' names it: makeMatrix+0x60, or makeMatrix+0x60#3 for the third "
		       "of them.",
		.shared = SHARED_DATABASE | SHARED_OUTPUT,
		.options = offsetof(struct mem_view_request, options),
		.argument_missing = "which object? 'dcpimem objects' lists them",
	};
	static const struct mem_view_command command = {object_text, object_json, object_plot};

	return view(&line, &command, argc, argv);
}
