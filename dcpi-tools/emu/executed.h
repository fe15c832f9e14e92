/*
 * executed.h - how much was executed in a run, from its record files
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_EXECUTED_H
#define DCPI_TOOLS_EMU_EXECUTED_H

#include <stdint.h>

struct executed {
	uint64_t instructions;  /* a string's once for each time it repeats */
	uint64_t loads, stores; /* instructions that do */
	uint64_t branches;      /* that are predicted */
};

/* Read it for all programs; those whose record is damaged are left out. 0 or -errno. */
int executed_read(const char *directory, struct executed *executed);

#endif
