/*
 * dcpimem - which memory objects are accessed remotely or shared falsely, by which threads, and what to do
 *
 * Its commands are in dcpi-tools/mem/, what they read and decide is in libsample/memory/, and man/dcpimem.1.scd
 * describes it.
 */
#include <argp.h>
#include <string.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/mem/command.h"
#include "dcpi-tools/mem/copy_cost.h"

const char *argp_program_version = "dcpimem " DCPI_VERSION;

static const struct {
	const char *name;
	char *title; /* what its own help calls it */
	int (*run)(int argc, char **argv);
} commands[] = {
	{"run", "dcpimem run", mem_run_main},
	{"objects", "dcpimem objects", mem_objects_main},
	{"object", "dcpimem object", mem_object_main},
	{"threads", "dcpimem threads", mem_threads_main},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

struct mem_choice {
	size_t command;
	int at; /* where it stands among the arguments */
};

static size_t
find_command(const struct argp_state *state, const char *text)
{
	const char *names[COMMAND_COUNT];

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		names[i] = commands[i].name;
	return options_choice(state, "command", text, names, COMMAND_COUNT);
}

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct mem_choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_ARG: /* what follows is the command's */
		choice->command = find_command(state, text);
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

static const struct argp argp = {
	.parser = parse_option,
	.args_doc = "run --machine NAME [OPTION]... [--] PROGRAM [ARGUMENT]...\nobjects\nobject OBJECT\nthreads",
	.doc = "Which memory objects are accessed remotely or shared falsely, by which threads, and what to do.\v"
	       "run        a program: track its objects, sample its accesses, and report\n"
	       "objects    by what they cost, and what could be done\n"
	       "object     one of them: who accesses it, when, from where\n"
	       "threads    with the nodes and the objects that they access\n\n"
	       "'dcpimem COMMAND --help' has the options of each. See dcpimem(1).",
};

int
main(int argc, char **argv)
{
	struct guard guard = {
		.subject = "dcpimem",
		.claim = "the database or the record of the run is damaged",
		.advice = DATABASE_DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
	};
	struct mem_choice choice = {0};
	int status;

	if (argc > 1 && strcmp(argv[1], COPY_COST_COMMAND) == 0)
		return mem_copy_cost_main(argc - 1, argv + 1);
	text_init();
	argp_err_exit_status = STATUS_USAGE;
	status = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
	if (status)
		return message_cannot(NULL, "read the command line", -status, NULL);
	argv += choice.at;
	argv[0] = commands[choice.command].title;
	guard_enter(&guard);
	status = commands[choice.command].run(argc - choice.at, argv);
	guard_leave(&guard);
	return status;
}
