/*
 * plugin_args.h - the arguments that the emulator gave a plugin, and how to start the emulator with them again
 *
 * Options of the plugins: comm=HEX, the program's name; cpu=MODEL, prefix=PATH and seed=N, what the emulator was
 * started with, for programs that are executed later. The plugin lies, or is linked to, in the directory of a run.
 * Thread rule: one thread; constant once read.
 */
#ifndef DCPI_EMULATOR_PLUGIN_ARGS_H
#define DCPI_EMULATOR_PLUGIN_ARGS_H

#include <limits.h>

#include "emulator/program.h"
#include "process/context_table.h"

struct plugin_args {
	char directory[PATH_MAX]; /* of the run */
	char comm[COMM_SIZE];
	char emulator[PATH_MAX];
	char plugin[2 * PATH_MAX + 256]; /* with its options but for comm */
	char cpu[64], prefix[PATH_MAX], seed[32];
};

/* From the options that a plugin gets; `self` is some function of it. 0 or -errno. */
int plugin_args_read(struct plugin_args *args, int argc, char **argv, const void *self);

/* Arguments of program_command(); its strings are those of `args`. */
struct emulation plugin_args_emulation(const struct plugin_args *args);

#endif
