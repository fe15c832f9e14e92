/*
 * here.h - dcpimem run and record on this machine: collect, keep, report
 *
 * Thread rule: as native.h.
 */
#ifndef DCPI_TOOLS_MEM_HERE_H
#define DCPI_TOOLS_MEM_HERE_H

#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/mem/native.h"

struct mem_here_request {
	struct native_request native;
	const struct command_once *once; /* where the profile is kept, and the report; its machine is not used */
	size_t limit;
	bool by_object;
};

/* The exit status: the program's, where there is one. */
int mem_here_run(const struct mem_here_request *request);

#define MEM_OPTION_WATCH(type, member)                                                                                 \
	OPTION_FALSE(1, "no-watch", type, member, "Here, with faults: watch no words for writes (watchpoints)")

/* For OPTION_CALL (member: enum access_source). */
void mem_take_source(void *member, char *text, struct argp_state *state);

#endif
