/*
 * dcpictl - asks dcpid how it is and what to do, looks after databases, and finds what is in the way
 *
 * man/dcpictl.1.scd describes it.
 */
#include <jansson.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "control/request.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/ctl/commands.h"

const char *argp_program_version = "dcpictl " DCPI_VERSION;

static const struct ctl_command {
	const char *name;
	int (*run)(const struct ctl_request *request);
} commands[] = {
	{"status", ctl_remote},   {"flush", ctl_remote},  {"epoch", ctl_remote},   {"label", ctl_label},
	{"reload", ctl_remote},   {"quit", ctl_remote},   {"compact", ctl_remote}, {"check", ctl_check},
	{"salvage", ctl_salvage}, {"doctor", ctl_doctor}, {"keep", ctl_keep},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static bool
is_command(const struct ctl_request *request, const char *command)
{
	return request->command && strcmp(request->command, command) == 0;
}

/* What follows the label is the program's. */
static void
take_argument(void *member, char *text, struct argp_state *state)
{
	struct ctl_request *request = member;

	if (!request->command) {
		const char *names[COMMAND_COUNT];
		size_t chosen;

		for (size_t i = 0; i < COMMAND_COUNT; i++)
			names[i] = commands[i].name;
		chosen = options_choice(state, "command", text, names, COMMAND_COUNT);
		request->command = commands[chosen].name;
		request->run = commands[chosen].run;
		if (is_command(request, "label") && request->label)
			argp_error(state, "--label goes with epoch");
	} else if (is_command(request, "keep") && !request->epoch) {
		request->epoch = text;
	} else if (!is_command(request, "label")) {
		argp_error(state, "one command at a time");
	} else if (!request->label) {
		request->label = text;
	} else {
		request->program = options_program(state);
	}
}

static void
take_label(void *member, char *text, struct argp_state *state)
{
	struct ctl_request *request = member;

	if (is_command(request, "label"))
		argp_error(state, "--label goes with epoch");
	request->label = text;
}

static void
take_pid(void *member, char *text, struct argp_state *state)
{
	*(unsigned *)member = (unsigned)options_whole(state, "--pid", text, 1, INT32_MAX);
}

/* The command reads a database and asks no dcpid. */
static bool
is_offline(const struct ctl_request *request)
{
	return is_command(request, "check") || is_command(request, "salvage") || is_command(request, "keep");
}

static void
check_label(const struct argp_state *state, const struct ctl_request *request)
{
	if (!request->label || (!request->program && !request->pid))
		argp_error(state, "label LABEL -- PROGRAM [ARGUMENT]..., or label LABEL --pid PID");
	if (request->program && request->pid)
		argp_error(state, "a program or --pid, not both");
}

static void
check(void *checked, struct argp_state *state)
{
	const struct ctl_request *request = checked;

	if (!request->command) {
		argp_usage(state);
		return;
	}
	if (is_command(request, "label"))
		check_label(state, request);
	else if (request->label && !is_command(request, "epoch"))
		argp_error(state, "--label goes with epoch");
	if (request->pid && !is_command(request, "label"))
		argp_error(state, "--pid goes with label");
	if (request->json && !is_command(request, "status") && !is_command(request, "doctor"))
		argp_error(state, "--json goes with status and doctor");
	if (request->prometheus && !is_command(request, "status"))
		argp_error(state, "--prometheus goes with status");
	if (request->prometheus && request->json)
		argp_error(state, "--json or --prometheus, not both");
	if (request->output && !request->prometheus)
		argp_error(state, "--output goes with status --prometheus");
	if (request->socket && is_offline(request))
		argp_error(state, "%s reads a database: --db, not --socket", request->command);
	if (request->release && (!is_command(request, "keep") || !request->epoch))
		argp_error(state, "--release goes with keep EPOCH");
	if (request->to && !is_command(request, "salvage"))
		argp_error(state, "--to goes with salvage");
	if (!request->to && is_command(request, "salvage"))
		argp_error(state, "salvage needs --to NEWDIR, a directory that is not there yet");
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "socket", "PATH", struct ctl_request, socket,
                    "Talk to the dcpid that listens at PATH (default: " CONFIG_SOCKET ", with --db: DIR/control)"),
	OPTION_CALL(0, "label", 0, "LABEL", 0, take_label, "With epoch: call the new epoch LABEL"),
	OPTION_TRUE(0, "json", 0, struct ctl_request, json, "With status and doctor: print JSON"),
	OPTION_TRUE(0, "prometheus", 0, struct ctl_request, prometheus, "With status: print metrics for Prometheus"),
	OPTION_TEXT(0, "output", "FILE", struct ctl_request, output, "With status --prometheus: replace FILE by them"),
	OPTION_CALL(0, "pid", 0, "PID", offsetof(struct ctl_request, pid), take_pid,
                    "With label: label this process that runs, and what it begins from now on"),
	OPTION_TRUE(0, "release", 0, struct ctl_request, release, "With keep: keep the epoch no longer"),
	OPTION_TEXT(0, "to", "NEWDIR", struct ctl_request, to, "With salvage: make the new database in NEWDIR"),
	OPTION_ARGUMENT(0, take_argument),
	OPTION_END,
};

static const struct command_line line = {
	.rows = rows,
	.arguments = "status|flush|epoch|reload|quit|compact|check|salvage|doctor\n"
		     "label LABEL [--] PROGRAM [ARGUMENT]...\nlabel LABEL --pid PID\nkeep [--release] [EPOCH|LABEL]",
	.doc = "Ask dcpid how it is and what to do, look after a profile database, find what is in the way."
	       "\v  status   what is collected, at what cost, and what is missing\n"
	       "  flush    write everything sampled up to now to the database\n"
	       "  epoch    do that and begin a new epoch; its number is printed\n"
	       "  label    run PROGRAM; its samples, and those of all that it begins, carry LABEL\n"
	       "  reload   read the configuration again\n"
	       "  quit     write everything and end dcpid\n"
	       "  compact  give space that the database does not need back to the file system\n"
	       "  keep     let nothing of an epoch be dropped for its age, or for the size limit; or say which\n"
	       "           epochs are kept\n"
	       "  check    read the whole database, without a dcpid; say what is wrong\n"
	       "  salvage  read what is whole of a damaged database into a new one\n"
	       "  doctor   say what is in the way, what has no symbols, and what mends it\n\n"
	       "Each returns when the work is done. See dcpictl(1).",
	.shared = SHARED_DATABASE,
	.options = offsetof(struct ctl_request, options),
	.in_order = true,
	.check = check,
};

int
main(int argc, char **argv)
{
	struct ctl_request request = {0};
	const int status = command_line_read(&line, &request, argc, argv);
	json_t *label;

	if (status)
		return status;
	if (request.label) {
		label = json_string(request.label);
		if (!label) {
			message_print("the label", "is not UTF-8");
			return STATUS_USAGE;
		}
		json_decref(label);
	}
	return request.run(&request);
}
