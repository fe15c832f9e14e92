/*
 * command.h - the commands of dcpimem, and what run and record share; copy_cost.h has one more, which is not for users
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_COMMAND_H
#define DCPI_TOOLS_MEM_COMMAND_H

#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/mem/native.h"

/* argv[0] is "dcpimem COMMAND". The exit status. */
int mem_run_main(int argc, char **argv);
int mem_record_main(int argc, char **argv);
int mem_import_main(int argc, char **argv);
int mem_objects_main(int argc, char **argv);
int mem_object_main(int argc, char **argv);
int mem_threads_main(int argc, char **argv);
int mem_script_main(int argc, char **argv);

/* ---- On this machine: record.c ---- */

struct mem_here_request {
	struct native_request native;
	const struct command_once *once; /* where the profile is kept, and the report; its machine is not used */
	size_t limit;
	bool by_object;
};

/* Collect, keep, report. The exit status: the program's, where there is one. */
int mem_here_run(const struct mem_here_request *request);

#define MEM_OPTION_WATCH(type, member)                                                                                 \
	OPTION_FALSE(1, "no-watch", type, member, "Here, with faults: watch no words for writes (watchpoints)")

/* For OPTION_CALL (members: enum access_source, uint64_t). */
void mem_take_source(void *member, char *text, struct argp_state *state);
void mem_take_period(void *member, char *text, struct argp_state *state);

#endif
