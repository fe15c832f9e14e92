/*
 * dcpiemu - run a program as if on another machine, and profile it there
 *
 * Its commands are in dcpi-tools/emu/, the model is in emulator/, and man/dcpiemu.1.scd describes it.
 */
#include <argp.h>

#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/emu/command.h"

const char *argp_program_version = "dcpiemu " DCPI_VERSION;

static const struct {
	const char *name;
	char *title; /* what its own help calls it */
	int (*run)(int argc, char **argv);
} commands[] = {
	{"run", "dcpiemu run", run_main},
	{"sweep", "dcpiemu sweep", sweep_main},
	{"machines", "dcpiemu machines", machines_main},
	{"calibrate", "dcpiemu calibrate", calibrate_main},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static size_t
find_command(const struct argp_state *state, const char *text)
{
	const char *names[COMMAND_COUNT];

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		names[i] = commands[i].name;
	return options_choice(state, "command", text, names, COMMAND_COUNT);
}

struct emu_choice {
	size_t command;
	int at; /* where it stands among the arguments */
};

static error_t
parse_option(int key, char *text, struct argp_state *state)
{
	struct emu_choice *choice = state->input;

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
	.args_doc = "run|sweep --machine NAME [OPTION]... [--] PROGRAM [ARGUMENT]...\nmachines\ncalibrate",
	.doc = "Run a program as if on another machine: with its cores, caches and memory, in its time; and profile it "
	       "there.\v"
	       "run        once, with a report of where the time would have gone\n"
	       "sweep      on several machines, with several numbers of threads, and a picture\n"
	       "machines   those that are described, and how to describe another\n"
	       "calibrate  measure this machine, and describe it\n\n"
	       "'dcpiemu COMMAND --help' has the options of each. See dcpiemu(1).",
};

int
main(int argc, char **argv)
{
	struct guard guard = {
		.subject = "dcpiemu",
		.claim = "the database or the record of the run is damaged",
		.advice = DATABASE_DAMAGE_ADVICE,
		.status = STATUS_DAMAGED,
	};
	struct emu_choice choice = {0};
	int status;

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
