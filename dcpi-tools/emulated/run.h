/*
 * run.h - run a program in the emulator, with one of our plugins
 *
 * The program has our standard streams, environment and process group, and the caller decides what its exit status
 * means. Thread rule: one thread; the process's signals belong to run_program() until the program has ended.
 */
#ifndef DCPI_TOOLS_EMULATED_RUN_H
#define DCPI_TOOLS_EMULATED_RUN_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/emulated/run_directory.h"

struct run_request {
	char *const *command; /* found as a shell would */
	const char *plugin;   /* its file in lib/dcpi */
	const char *does;     /* "dcpix counts", for what is refused */
	const char *instead;  /* what could be done about a program that no emulator is for; NULL: nothing */
	const char *cpu;      /* as qemu's -cpu; NULL: all that the emulator knows, or $QEMU_CPU */
	const char *prefix;   /* where the program's libraries are; NULL: where they are on Debian */
	const char *seed;     /* of the emulator's random numbers, a number; NULL: none */
	uint64_t room_bytes;  /* that must be free where the plugin keeps its files; a full disk is a fault there */
	/* Before it is started, with the directory of the plugin: an exit status, after a message. NULL: nothing. */
	int (*prepare)(void *context, const char *directory);
	int (*begin)(void *context);                      /* as child.h has them */
	void (*tick)(void *context, uint64_t elapsed_ns); /* NULL: not called */
	uint64_t tick_ns;                                 /* as child.h has it */
	void *context;
	bool is_quiet;
	const sigset_t *mask; /* as child.h has it */
};

struct emulated_run {
	char directory[PATH_MAX]; /* private, with what the plugin left; run_remove() */
	int lock;                 /* of it */
	struct run_reaper reaper; /* for when we are killed */
	char emulator[PATH_MAX];
	int status;                /* of the program, as waitpid(2) gives it */
	int asked;                 /* as child.h has it */
	uint64_t start_ns, end_ns; /* since 1970 */
	bool disk_filled;          /* the directory's disk has no room left: what the plugin left is not all */
};

/*
 * STATUS_OK when the program ran, with any result; else an exit status after a message. Call run_remove() in any case.
 */
int run_program(struct emulated_run *run, const struct run_request *request);
void run_remove(struct emulated_run *run);

double run_seconds(const struct emulated_run *run); /* that it took */

/* End as the program did: with its exit status, or by its signal. If it succeeded, end with `failed`. */
int run_exit_status(const struct emulated_run *run, int failed);

#endif
