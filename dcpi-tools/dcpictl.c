/*
 * dcpictl - asks dcpid how it is and what to do, looks after databases, and finds what is in the way
 *
 * man/dcpictl.1.scd describes it.
 */
#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "control/request.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/ctl/commands.h"

const char *argp_program_version = "dcpictl " DCPI_VERSION;

enum ctl_option {
	ALLOW_SOCKET = 1 << 0,
	ALLOW_LABEL = 1 << 1,
	ALLOW_JSON = 1 << 2,
	ALLOW_PROMETHEUS = 1 << 3,
	ALLOW_OUTPUT = 1 << 4,
	ALLOW_PID = 1 << 5,
	ALLOW_RELEASE = 1 << 6,
	ALLOW_TO = 1 << 7,
};

enum ctl_arguments {
	TAKES_NONE,
	TAKES_ONE,
	TAKES_ONE_AND_PROGRAM, /* the program's own arguments follow it */
};

static void
check_status(struct ctl_request *request, struct argp_state *state)
{
	if (request->prometheus && request->json)
		argp_error(state, "--json or --prometheus, not both");
}

static void
check_label(struct ctl_request *request, struct argp_state *state)
{
	if (!request->argument || (!request->program && !request->pid))
		argp_error(state, "label LABEL -- PROGRAM [ARGUMENT]..., or label LABEL --pid PID");
	if (request->program && request->pid)
		argp_error(state, "a program or --pid, not both");
	request->label = request->argument;
}

static void
check_salvage(struct ctl_request *request, struct argp_state *state)
{
	if (!request->to)
		argp_error(state, "salvage needs --to NEWDIR, a directory that is not there yet");
}

static const struct ctl_command {
	const char *name;
	const char *usage; /* what follows the name; NULL: nothing but options */
	const char *help;
	unsigned allowed; /* of enum ctl_option; --db goes with every command */
	enum ctl_arguments takes;
	void (*check)(struct ctl_request *request, struct argp_state *state); /* NULL: nothing more to check */
	int (*run)(const struct ctl_request *request);
} commands[] = {
	{"status", NULL, "what is collected, at what cost, and what is missing",
         ALLOW_SOCKET | ALLOW_JSON | ALLOW_PROMETHEUS | ALLOW_OUTPUT, TAKES_NONE, check_status, ctl_status},
	{"flush", NULL, "write everything sampled up to now to the database", ALLOW_SOCKET, TAKES_NONE, NULL,
         ctl_remote},
	{"epoch", NULL, "do that and begin a new epoch; its number is printed", ALLOW_SOCKET | ALLOW_LABEL, TAKES_NONE,
         NULL, ctl_epoch},
	{"label", "LABEL [--] PROGRAM [ARGUMENT]...\nlabel LABEL --pid PID",
         "run PROGRAM; its samples, and those of all that it begins, carry LABEL", ALLOW_SOCKET | ALLOW_PID,
         TAKES_ONE_AND_PROGRAM, check_label, ctl_label},
	{"reload", NULL, "read the configuration again", ALLOW_SOCKET, TAKES_NONE, NULL, ctl_remote},
	{"quit", NULL, "write everything and end dcpid", ALLOW_SOCKET, TAKES_NONE, NULL, ctl_remote},
	{"compact", NULL, "give space that the database does not need back to the file system", ALLOW_SOCKET,
         TAKES_NONE, NULL, ctl_compact},
	{"keep", "[--release] [EPOCH|LABEL]",
         "let nothing of an epoch be dropped for its age, or for the size limit; or say which\n"
         "           epochs are kept",
         ALLOW_RELEASE, TAKES_ONE, NULL, ctl_keep},
	{"check", NULL, "read the whole database, without a dcpid; say what is wrong", 0, TAKES_NONE, NULL, ctl_check},
	{"salvage", NULL, "read what is whole of a damaged database into a new one", ALLOW_TO, TAKES_NONE,
         check_salvage, ctl_salvage},
	{"doctor", NULL, "say what is in the way, what has no symbols, and what mends it", ALLOW_SOCKET | ALLOW_JSON,
         TAKES_NONE, NULL, ctl_doctor},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void
take_argument(void *member, char *text, struct argp_state *state)
{
	struct ctl_request *request = member;

	if (!request->command) {
		const char *names[COMMAND_COUNT];

		for (size_t i = 0; i < COMMAND_COUNT; i++)
			names[i] = commands[i].name;
		request->entry = &commands[options_choice(state, "command", text, names, COMMAND_COUNT)];
		request->command = request->entry->name;
	} else if (!request->argument && request->entry->takes >= TAKES_ONE) {
		request->argument = text;
	} else if (request->entry->takes == TAKES_ONE_AND_PROGRAM) {
		request->program = options_program(state);
	} else {
		argp_error(state, "one command at a time");
	}
}

static void
take_pid(void *member, char *text, struct argp_state *state)
{
	*(unsigned *)member = (unsigned)options_whole(state, "--pid", text, 1, INT32_MAX);
}

static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
append(char *text, size_t size, const char *format, ...)
{
	const size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, size - length, format, arguments);
	va_end(arguments);
}

static void
check(void *checked, struct argp_state *state)
{
	struct ctl_request *request = checked;
	const struct {
		const char *name;
		enum ctl_option option;
		bool is_given, is_complete;
		const char *needs; /* what must be given, too */
	} options[] = {
		{"--label", ALLOW_LABEL, request->label, true, ""},
		{"--json", ALLOW_JSON, request->json, true, ""},
		{"--prometheus", ALLOW_PROMETHEUS, request->prometheus, true, ""},
		{"--output", ALLOW_OUTPUT, request->output, request->prometheus, " --prometheus"},
		{"--pid", ALLOW_PID, request->pid, true, ""},
		{"--release", ALLOW_RELEASE, request->release, request->argument, " EPOCH"},
		{"--to", ALLOW_TO, request->to, true, ""},
	};

	if (!request->command) {
		argp_usage(state);
		return;
	}
	if (request->socket && !(request->entry->allowed & ALLOW_SOCKET))
		argp_error(state, "%s reads a database: --db, not --socket", request->command);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char names[80] = "";

		if (!options[i].is_given || (request->entry->allowed & options[i].option && options[i].is_complete))
			continue;
		for (size_t k = 0; k < COMMAND_COUNT; k++)
			if (commands[k].allowed & options[i].option)
				append(names, sizeof(names), "%s%s", *names ? " and " : "", commands[k].name);
		argp_error(state, "%s goes with %s%s", options[i].name, names, options[i].needs);
	}
	if (request->entry->check)
		request->entry->check(request, state);
}

static const struct option_row rows[] = {
	OPTION_TEXT(0, "socket", "PATH", struct ctl_request, socket,
                    "Talk to the dcpid that listens at PATH (default: " CONFIG_SOCKET ", with --db: DIR/control)"),
	OPTION_TEXT(0, "label", "LABEL", struct ctl_request, label, "With epoch: call the new epoch LABEL"),
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

/* What --help prints of the commands: those without arguments share a line of the usage. */
static void
describe(char *usage, size_t usage_size, char *doc, size_t doc_size)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!commands[i].usage)
			append(usage, usage_size, "%s%s", *usage ? "|" : "", commands[i].name);
	append(doc, doc_size,
	       "Ask dcpid how it is and what to do, look after a profile database, find what is in the way.\v");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (commands[i].usage)
			append(usage, usage_size, "\n%s %s", commands[i].name, commands[i].usage);
		append(doc, doc_size, "  %-8s %s\n", commands[i].name, commands[i].help);
	}
	append(doc, doc_size, "\nEach returns when the work is done. See dcpictl(1).");
}

int
main(int argc, char **argv)
{
	char usage[512] = "", doc[2048] = "";
	const struct command_line line = {
		.rows = rows,
		.arguments = usage,
		.doc = doc,
		.shared = SHARED_DATABASE,
		.options = offsetof(struct ctl_request, options),
		.in_order = true,
		.check = check,
	};
	struct ctl_request request = {0};
	json_t *label;
	int status;

	describe(usage, sizeof(usage), doc, sizeof(doc));
	status = command_line_read(&line, &request, argc, argv);
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
	return request.entry->run(&request);
}
