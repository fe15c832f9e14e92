#include "dcpi-tools/common/tool.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define SUBCOMMANDS_MAX 16 /* of a tool */

static bool
has_events(const struct selection *selection)
{
	for (size_t i = 0; i < selection->event_count; i++)
		if (selection->events[i].available)
			return true;
	return false;
}

int
report_choose_of(struct report_choice *choice, struct selection *selection, const struct database *database,
                 const struct options *options, const struct shown_events_request *shown_events)
{
	struct image_request images = {.patterns = options->images, .count = options->image_count};
	int status;

	*choice = (struct report_choice){.selection = selection};
	if (options->request.stacks && !has_events(selection)) {
		message_print(database->directory,
		              "no call stacks in what was selected: dcpid takes them (stacks.rate in dcpid.conf), "
		              "and dcpimport those that 'perf record -g' recorded");
		return STATUS_EMPTY;
	}
	status = shown_events_ask(selection, shown_events, database->directory, &choice->shown_events);
	if (status)
		return status;
	images.event = choice->shown_events.events[0];
	return images_ask(selection, &images, &choice->titles, &choice->wanted);
}

int
report_choose(struct report_choice *choice, struct database *database, const struct options *options,
              const struct shown_events_request *shown_events)
{
	struct selection *selection = NULL;
	const int status = database_select(database, &options->request, &selection);

	memset(choice, 0, sizeof(*choice));
	return status ? status : report_choose_of(choice, selection, database, options, shown_events);
}

void
report_choice_fini(struct report_choice *choice)
{
	image_titles_free(choice->titles, choice->selection ? choice->selection->image_count : 0);
	free(choice->wanted);
	selection_free(choice->selection);
	memset(choice, 0, sizeof(*choice));
}

int
report_choice_empty(const struct database *database)
{
	message_print(database->directory, "no samples in what was selected");
	return STATUS_EMPTY;
}

static int
print_report(const struct tool *tool, const struct options *options, const struct report *report)
{
	const bool is_text = options->format == FORMAT_TEXT;
	struct output output;
	int err, end;

	/* JSON and CSV have no colours and no pager */
	output_open(&output, is_text ? options->color : COLOR_NEVER, is_text && options->pager);
	if (options->format == FORMAT_JSON)
		err = tool->print_json(report, output.stream);
	else if (options->format == FORMAT_CSV)
		err = tool->print_csv(report, output.stream);
	else
		err = tool->print_text(report, &output);
	end = output_close(&output);
	if (err || end)
		return message_cannot("standard output", "write the report", err ? err : end, NULL);
	return STATUS_OK;
}

static int
make_and_print(const struct tool *tool, const struct options *options, const struct request *request,
               struct report *report)
{
	struct database database = {0}, *opened = tool->without_database ? NULL : &database;
	int status = STATUS_OK;

	if (opened)
		status = database_open(opened, options->directory);
	if (status)
		return status;
	status = tool->make(report, request, opened);
	if (opened)
		database_close(opened); /* a pager may keep the tool running for hours */
	if (!status) {
		status = tool->act ? tool->act(report) : TOOL_PRINTS;
		if (status == TOOL_PRINTS)
			status = print_report(tool, options, report);
	}
	tool->fini(report);
	return status;
}

int
tool_run(const struct tool *tool, void *request, void *report, int argc, char **argv)
{
	struct options *options = command_line_options(tool->line, request);
	int status = command_line_read(tool->line, request, argc, argv);

	if (!status)
		status = make_and_print(tool, options, request, report);
	options_fini(options);
	return status;
}

/* ---- tools with subcommands ---- */

struct subcommand_choice {
	const struct subcommands *commands;
	size_t command;
	int at; /* where it stands among the arguments */
};

static size_t
find_subcommand(const struct subcommands *commands, const struct argp_state *state, const char *text)
{
	const char *names[SUBCOMMANDS_MAX];

	for (size_t i = 0; i < commands->count; i++)
		names[i] = commands->commands[i].name;
	return options_choice(state, "command", text, names, commands->count);
}

static error_t
parse_subcommand(int key, char *text, struct argp_state *state)
{
	struct subcommand_choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_ARG: /* what follows is the command's */
		choice->command = find_subcommand(choice->commands, state, text);
		choice->at = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int
tool_run_subcommand(const struct subcommands *commands, int argc, char **argv)
{
	const struct argp argp = {.parser = parse_subcommand, .args_doc = commands->arguments, .doc = commands->doc};
	struct guard guard = {
		.subject = commands->tool,
		.claim = commands->damage,
		.advice = DATABASE_DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
	};
	struct subcommand_choice choice = {.commands = commands};
	int status;

	text_init();
	argp_err_exit_status = STATUS_USAGE;
	status = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
	if (status)
		return message_cannot(NULL, "read the command line", -status, NULL);
	argv += choice.at;
	argv[0] = commands->commands[choice.command].title;
	guard_enter(&guard);
	status = commands->commands[choice.command].run(argc - choice.at, argv);
	guard_leave(&guard);
	return status;
}
