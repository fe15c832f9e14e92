/*
 * command.h - the commands of dcpiemu, and the options that commands which run a program share
 *
 * Each command has a table of its options (dcpi-tools/common/options.h).
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_COMMAND_H
#define DCPI_TOOLS_EMU_COMMAND_H

#include <argp.h>
#include <stdbool.h>

#include "dcpi-tools/common/options.h"
#include "emulator/setup.h"

/* argv[0] is "dcpiemu COMMAND". The exit status. */
int run_main(int argc, char **argv);
int sweep_main(int argc, char **argv);
int machines_main(int argc, char **argv);
int calibrate_main(int argc, char **argv);

/* The options that run and sweep share. */
struct command_request {
	struct options options;
	struct setup setup; /* without machine, pipeline and threads; setup_init() comes before the options */
	const char *cpu, *prefix;
	bool events_chosen; /* by --event: only those */
	const char *label;
	bool without_database, is_quiet;
	char **command;
};

/*
 * For struct command_line's `child`, with the struct command_request as its input: what is modelled and how, the
 * database, and for a sweep the table.
 */
extern const struct argp command_run_options, command_sweep_options;

/* For OPTION_ARGUMENT: the program, whose arguments are all that follows (member: char **); or none is allowed. */
void command_take_program(void *member, char *text, struct argp_state *state);
void command_refuse_argument(void *request, char *text, struct argp_state *state);

/* Fill in machine and pipeline. STATUS_OK, or an exit status after a message. */
int command_choose_machine(const char *choice, struct setup *setup);

/* ---- How many threads a program uses: parse the user's list, and inform the program ---- */

/* The numbers of threads in a list such as "1,2,4..8"; "1.." ends at the number of cores. */
struct thread_list {
	bool wanted[MACHINE_CORES_MAX + 1]; /* by number; 0 is none */
	unsigned most;                      /* that was named; the end of an open range is not */
};

/* 0, or -EINVAL: no such list, or a number that is 0 or larger than MACHINE_CORES_MAX. */
int thread_list_parse(const char *text, struct thread_list *list);

/* Set the environment variables that OpenMP and others read. 0 or -errno. */
int thread_count_announce(unsigned threads);

/*
 * A copy of the arguments in which %t is replaced by the number, and %% by a percent sign. NULL when memory ends; free
 * it with thread_count_free().
 */
char **thread_count_insert(char *const *arguments, unsigned threads);
void thread_count_free(char **arguments);

#endif
