/*
 * program.h - what execve(2) would do with a file, and the command line with which the emulator does it
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_EMULATOR_PROGRAM_H
#define DCPI_EMULATOR_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/context_table.h"

#define PROGRAM_LINE_SIZE 256 /* the kernel reads no more of a script's first line */

enum program_kind {
	PROGRAM_NONE,       /* execve() would refuse it; errno says why */
	PROGRAM_ELF,        /* of this byte order and 64 bits, for `machine` */
	PROGRAM_SCRIPT,     /* "#!": `interpreter` and `argument` */
	PROGRAM_OTHER,      /* 32 bits, or an unknown format */
	PROGRAM_PRIVILEGED, /* it gets another user, group or capabilities, or may not be read: it cannot be emulated */
};

struct program {
	enum program_kind kind;
	uint16_t machine;                    /* EM_X86_64, ... */
	char interpreter[PROGRAM_LINE_SIZE]; /* of a script; of an ELF file its dynamic linker, "" when it has none */
	char argument[PROGRAM_LINE_SIZE];    /* of a script's first line; "" when there is none */
};

void program_examine(const char *path, struct program *program);

/*
 * The path at which a shell would find `name`: the name itself if it has a slash, else the first file in $PATH that may
 * be executed. 0 with `path`, or -errno.
 */
int program_search(const char *name, char path[PATH_MAX]);

struct emulation {
	const char *emulator;
	const char *plugin; /* with its options, as for -plugin; the option that names the program is added */
	const char *cpu;    /* NULL: the emulator's choice */
	const char *prefix; /* directory of its dynamic linker and libraries; NULL: the root */
	const char *seed;   /* of its random numbers; NULL: none */
};

/* Write emulation.plugin: the plugin at `path` with the options that it needs to follow programs executed later. */
void program_plugin(const struct emulation *emulation, const char *path, char *plugin, size_t size);

/*
 * A variable that the emulator of a run with a seed has in its environment, but the program has not. QEMU 10.0 lets the
 * kernel choose where the guest's memory is (its mmap_h_eq_g()): between the emulator's own mappings. The choice is
 * reproducible if the emulator's malloc() makes no mappings; otherwise its second thread would begin an arena at some
 * time. If the program has this variable, the program and the emulator keep that value.
 */
#define PROGRAM_TUNABLES "GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.mmap_max=0"

/* The program's `environment` with PROGRAM_TUNABLES added. Free the array, not its strings; NULL when memory ends. */
const char **program_environment(const char *const *environment);

/*
 * The emulator's arguments, ended by a NULL, to run `path` - whose program_examine() is `program` - with its
 * `arguments` and `environment` (those of execve(), may be NULL). `plugin` is memory for one of the strings. Free the
 * array, not its strings; NULL when memory ends.
 */
const char **program_command(const struct emulation *emulation, const char *path, const struct program *program,
                             const char *const *arguments, const char *const *environment, char *plugin, size_t size);

/*
 * The arguments that the emulator gave a plugin, to start it with them again. Options of the plugins: comm=HEX, the
 * program's name; cpu=MODEL, prefix=PATH and seed=N, the options of the emulator, for programs that are executed later.
 * The plugin, or a link to it, is in the directory of a run.
 */
struct plugin_args {
	char directory[PATH_MAX]; /* of the run */
	char comm[COMM_SIZE];
	char emulator[PATH_MAX];
	char plugin[2 * PATH_MAX + 256]; /* with its options except comm */
	char cpu[64], prefix[PATH_MAX], seed[32];
	struct emulation emulation; /* for program_command(); its strings are those above */
};

/* Read the options that a plugin gets; `self` is any function of the plugin. 0 or -errno. `args` must not be moved. */
int plugin_args_read(struct plugin_args *args, int argc, char **argv, const void *self);

#endif
