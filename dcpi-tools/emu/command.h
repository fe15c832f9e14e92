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
#include <stddef.h>

#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/options.h"
#include "emulator/setup.h"
#include "profile/epoch.h"

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
	bool events_chosen;       /* by --event: only those */
	const char *model_option; /* the last option given that says what is modelled and how; NULL: none */
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

/* For struct command_line's `check`: whether what is kept has a place. */
void command_check_kept(const struct command_request *request, struct argp_state *state);

/* ---- Commands that emulate a program once: dcpiemu run, dcpimem run ---- */

/* The first member of their requests. */
struct command_once {
	struct command_request common;
	const char *machine, *output;
	unsigned threads; /* 0: as many as the machine has cores */
	bool json;
};

#define COMMAND_ONCE_WHERE                                                                                             \
	OPTION_HEADING(1, "As if where:"),                                                                             \
		OPTION_TEXT(1, "machine", "NAME|FILE", struct command_once, machine,                                   \
	                    "On that machine ('dcpiemu machines' lists them)"),                                        \
		OPTION_CALL(1, "threads", 0, "N", offsetof(struct command_once, threads), command_take_threads,        \
	                    "The program sees N of its cores, also by OMP_NUM_THREADS and the like, and %t in "        \
	                    "arguments is N")
#define COMMAND_ONCE_KEPT                                                                                              \
	OPTION_HEADING(2, "Where the profile is kept:"),                                                               \
		OPTION_NAME(2, "label", "LABEL", struct command_once, common.label, EPOCH_LABEL_SIZE - 1,              \
	                    "Call the epoch and its processes LABEL (the epoch is called dcpiemu otherwise)"),         \
		OPTION_TRUE(2, "no-db", 0, struct command_once, common.without_database, "Nowhere: only the report"),  \
		OPTION_HEADING(3, "The report:")
#define COMMAND_ONCE_REPORT                                                                                            \
	OPTION_REPORT_JSON(3, struct command_once, json), OPTION_REPORT_FILE(3, struct command_once, output),          \
		OPTION_TRUE(3, "quiet", 0, struct command_once, common.is_quiet,                                       \
	                    "No progress, and no report unless --output names a file"),                                \
		OPTION_ARGUMENT(offsetof(struct command_once, common.command), command_take_program)

void command_take_threads(void *member, char *text, struct argp_state *state);

/* Whether there is all that is needed; `title`: of the command. */
void command_check_once(const struct command_once *once, const char *title, struct argp_state *state);

/* Fill in machine, pipeline and threads. STATUS_OK, or an exit status after a message. */
int command_choose_once(struct command_once *once);

/*
 * Before the program runs, for hours perhaps: a report that cannot be written is an error at once. STATUS_OK, or an
 * exit status after a message.
 */
int command_open_report(const struct command_once *once, struct atomic_file *file);

/* `err`: of what was written, or -ECANCELED: there is nothing to report, which was said. As command_open_report(). */
int command_close_report(const struct command_once *once, struct atomic_file *file, int err);

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
