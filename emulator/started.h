/*
 * started.h - how the emulator was started with one of our plugins, so that it can be started so again
 *
 * Options of the plugins: comm=HEX, the program's name; cpu=MODEL, prefix=PATH and seed=N, what the emulator was
 * started with, for programs that are executed later. The plugin lies, or is linked to, in the directory of a run.
 * Thread rule: one thread; constant once read.
 */
#ifndef DCPI_EMULATOR_STARTED_H
#define DCPI_EMULATOR_STARTED_H

#include <limits.h>

#include "emulator/program.h"
#include "process/context_table.h"

struct started {
	char directory[PATH_MAX]; /* of the run */
	char comm[COMM_SIZE];
	char emulator[PATH_MAX];
	char plugin[2 * PATH_MAX + 256]; /* with its options but for comm */
	char cpu[64], prefix[PATH_MAX], seed[32];
};

/* From the options that a plugin gets; `self` is some function of it. 0 or -errno. */
int started_read(struct started *started, int argc, char **argv, const void *self);

/* The same for program_command(): pointers into `started`. */
struct emulation started_emulation(const struct started *started);

#endif
