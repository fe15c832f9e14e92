#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/mem/command.h"
#include "dcpi-tools/mem/object_report.h"
#include "dcpi-tools/mem/plot.h"
#include "dcpi-tools/mem/report.h"
#include "dcpi-tools/mem/script.h"
#include "dcpi-tools/mem/thread_report.h"
#include "profile/catalog.h"
#include "profile/memory_rows.h"

#define WHY_SIZE 512

struct mem_view_request {
	struct options options;
	const char *object; /* NULL: all */
	const char *plot;   /* NULL: none */
	char **script;      /* its name and arguments; NULL: none */
	size_t limit;
	bool by_object;
};

struct mem_view_report {
	const struct mem_view_request *request;
	struct memory_profile profile;
	struct memory_report report;
	struct epoch_summary epoch;
	char script[PATH_MAX];
	const struct memory_group *group;   /* that the user named; NULL: all */
	const struct memory_member *member; /* NULL: all of the group */
};

/* ---- the profile ---- */

/* --epoch may name several: of the newest of them that has objects. Its id becomes *epoch. */
static int
read_chosen(struct database *database, const struct selection_request *request, struct memory_profile *profile,
            uint32_t *epoch)
{
	char why[WHY_SIZE] = "";
	uint32_t *ids;
	size_t count;
	int err;

	*epoch = 0;
	if (!request->epoch)
		return memory_rows_read(database->profile, epoch, profile);
	err = catalog_choose_epochs(database->profile, request, &ids, &count, why, sizeof(why));
	if (err)
		return database_cannot_select(database, err, why);
	err = -ENOENT;
	for (size_t i = count; i-- > 0 && err == -ENOENT;) {
		memory_profile_fini(profile);
		*epoch = ids[i];
		err = memory_rows_read(database->profile, epoch, profile);
	}
	free(ids);
	return err;
}

/* An exit status: 0, or another after a message. */
static int
read_profile(struct database *database, const struct selection_request *request, struct memory_profile *profile,
             uint32_t *epoch)
{
	const int err = read_chosen(database, request, profile, epoch);

	if (err >= 0)
		return err;
	if (err != -ENOENT)
		return database_cannot_read(database, err);
	message_print(database->directory,
	              request->epoch ? "epoch %s has no memory objects: 'dcpimem run' records them"
	                             : "no epoch has memory objects%s: 'dcpimem run' records them",
	              request->epoch ? request->epoch : "");
	return STATUS_FAILURE;
}

/* An exit status: 0, or another after a message. */
static int
read_epoch(struct database *database, uint32_t id, struct epoch_summary *epoch)
{
	struct epoch_summary *epochs;
	size_t count;
	int err = catalog_read_epochs(database->profile, &epochs, &count);

	if (err)
		return database_cannot_read(database, err);
	for (size_t i = 0; i < count; i++) {
		if (epochs[i].id == id)
			*epoch = epochs[i];
	}
	free(epochs);
	return STATUS_OK;
}

static int
find_object(struct mem_view_report *shown, const char *name)
{
	const char *similar;

	shown->group = mem_find(&shown->report, name, &shown->member, &similar);
	if (shown->group)
		return STATUS_OK;
	if (similar)
		message_print(name, "there is no such object with accesses, or several; %s is one", similar);
	else
		message_print(name, "there is no such object with accesses: 'dcpimem objects --limit 1000' lists them");
	return STATUS_USAGE;
}

/* ---- the steps of each command: struct tool's ---- */

static int
view_make(struct report *report, const struct request *asked, struct database *database)
{
	struct mem_view_report *shown = (void *)report;
	const struct mem_view_request *request = (const void *)asked;
	int status = request->plot ? plot_check(request->plot) : STATUS_OK;
	uint32_t epoch;
	int err;

	shown->request = request;
	if (request->script)
		status = script_find(request->script[0], shown->script);
	if (!status)
		status = read_profile(database, &request->options.request, &shown->profile, &epoch);
	if (!status)
		status = read_epoch(database, epoch, &shown->epoch);
	if (status)
		return status;
	err = memory_report_init(&shown->report, &shown->profile);
	if (err)
		return message_cannot(NULL, "make the report", err, NULL);
	return request->object ? find_object(shown, request->object) : STATUS_OK;
}

static void
view_fini(struct report *report)
{
	struct mem_view_report *shown = (void *)report;

	memory_report_fini(&shown->report);
	memory_profile_fini(&shown->profile);
}

static struct mem_view
view_of(const struct mem_view_request *request)
{
	return (struct mem_view){
		.limit = request->limit, .by_object = request->by_object, .header = request->options.header};
}

static int
objects_text(const struct report *report, const struct output *output)
{
	const struct mem_view_report *shown = (const void *)report;
	const struct mem_view view = view_of(shown->request);

	return mem_objects_text(&shown->report, &view, output);
}

static int
objects_json(const struct report *report, FILE *stream)
{
	const struct mem_view_report *shown = (const void *)report;
	const struct mem_view view = view_of(shown->request);

	return mem_objects_json(&shown->report, &view, stream);
}

static int
threads_text(const struct report *report, const struct output *output)
{
	const struct mem_view_report *shown = (const void *)report;

	return mem_threads_text(&shown->report, shown->request->options.header, output);
}

static int
threads_json(const struct report *report, FILE *stream)
{
	const struct mem_view_report *shown = (const void *)report;

	return mem_threads_json(&shown->report, stream);
}

static int
threads_plot(const struct report *report)
{
	const struct mem_view_report *shown = (const void *)report;
	const char *plot = shown->request->plot;

	return plot ? mem_plot_threads(&shown->report, plot) : TOOL_PRINTS;
}

static int
object_text(const struct report *report, const struct output *output)
{
	const struct mem_view_report *shown = (const void *)report;

	return mem_object_text(&shown->report, shown->group, shown->member, shown->request->options.header, output);
}

static int
object_json(const struct report *report, FILE *stream)
{
	const struct mem_view_report *shown = (const void *)report;

	return mem_object_json(&shown->report, shown->group, shown->member, stream);
}

static int
object_plot(const struct report *report)
{
	const struct mem_view_report *shown = (const void *)report;
	const struct mem_view_request *request = shown->request;
	const struct memory_member *member =
		shown->member ? shown->member : &shown->report.objects[shown->group->first_object];

	return request->plot ? mem_plot_object(&shown->report, member, request->object, request->plot) : TOOL_PRINTS;
}

static int
script_act(const struct report *report)
{
	const struct mem_view_report *shown = (const void *)report;
	struct script_profile profile;
	const int err = script_profile_init(&profile, &shown->report, &shown->epoch);
	const int status = err ? message_cannot(shown->script, "run the script", err, NULL)
	                       : script_run(&profile, shown->script, shown->request->script);

	script_profile_fini(&profile);
	return status;
}

static int
view(const struct tool *tool, int argc, char **argv)
{
	struct mem_view_request request = {.limit = 0};
	struct mem_view_report report = {.request = &request};

	return tool_run(tool, &request, &report, argc, argv);
}

/* ---- their options ---- */

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
	static const struct tool tool = {
		.line = &line,
		.make = view_make,
		.print_text = objects_text,
		.print_json = objects_json,
		.fini = view_fini,
	};

	return view(&tool, argc, argv);
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
	static const struct tool tool = {
		.line = &line,
		.make = view_make,
		.print_text = threads_text,
		.print_json = threads_json,
		.act = threads_plot,
		.fini = view_fini,
	};

	return view(&tool, argc, argv);
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
		       "OBJECT is as 'dcpimem objects' names it: "
		       "makeMatrix+0x60, or makeMatrix+0x60#3 for the third of them.",
		.shared = SHARED_DATABASE | SHARED_OUTPUT,
		.options = offsetof(struct mem_view_request, options),
		.argument_missing = "which object? 'dcpimem objects' lists them",
	};
	static const struct tool tool = {
		.line = &line,
		.make = view_make,
		.print_text = object_text,
		.print_json = object_json,
		.act = object_plot,
		.fini = view_fini,
	};

	return view(&tool, argc, argv);
}

static void
take_script(void *member, char *text, struct argp_state *state)
{
	(void)text; /* is the first of these */
	*(char ***)member = options_program(state);
}

int
mem_script_main(int argc, char **argv)
{
	static const struct option_row rows[] = {
		EPOCH_ROW,
		OPTION_ARGUMENT(offsetof(struct mem_view_request, script), take_script),
		OPTION_END,
	};
	static const struct command_line line = {
		.rows = rows,
		.arguments = "FILE [ARGUMENT]...",
		.doc = "Run a script in Lua, which reads objects, threads and accesses from the variable 'profile'.\v"
		       "FILE is a file, '-' for standard input, or one of the scripts that are installed: "
		       "gaps.lua, handovers.lua, hot.lua. dcpimem(1) says what scripts can read.",
		.shared = SHARED_DATABASE,
		.options = offsetof(struct mem_view_request, options),
		.in_order = true,
		.argument_missing = "which script? 'dcpimem script gaps.lua' is one",
	};
	static const struct tool tool = {
		.line = &line,
		.make = view_make,
		.act = script_act,
		.fini = view_fini,
	};

	return view(&tool, argc, argv);
}
