/*
 * emulation.h - one emulated run of a program on another machine, from the command line to the counts
 *
 * Thread rule: one thread; it prints error messages.
 */
#ifndef DCPI_TOOLS_EMU_EMULATION_H
#define DCPI_TOOLS_EMU_EMULATION_H

#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/emu/record_read.h"
#include "dcpi-tools/emulated/run.h"
#include "emulator/setup.h"

struct emulation_outcome;

/* Somebody who reads in the directory of the run while it lasts. Each function may be NULL, and gets `context`. */
struct emulation_watch {
	/* before it: STATUS_OK, or an exit status after a message */
	int (*prepare)(void *context, const char *directory);
	int (*begin)(void *context); /* in the new process, before the emulator; as prepare() */
	void (*poll)(void *context);
	uint64_t poll_ns; /* how often */
	/* After it, when the counters are read and before the profile is written; as prepare(). */
	int (*finish)(void *context, const struct emulation_outcome *outcome);
	const struct memory_rows *memory; /* filled by finish(), for the profile */
	void *context;
};

struct emulation_request {
	const struct setup *setup; /* complete */
	const char *cpu, *prefix;  /* as run_request has them */
	const char *directory;     /* of the database; NULL: nothing is written */
	const char *label;         /* of epoch and processes; NULL: none */
	const char *title;         /* in the line of progress; NULL: the machine's name */
	char *const *command;
	const sigset_t *mask;                /* signals that it finds blocked; NULL: as we have them */
	const struct emulation_watch *watch; /* NULL: nobody */
	bool sets_threads; /* setup->threads is announced in the environment, and is %t in arguments */
	bool is_quiet;     /* no progress */
	bool is_silent;    /* nothing of the output of the program */
};

struct emulation_outcome {
	struct emulated_run run;
	struct counters counters;
	struct executed executed;
	bool has_run;   /* something was executed */
	uint32_t epoch; /* in the database; 0: none */
};

/* What the options of a command say; the setup must be chosen, and outlive it. */
struct emulation_request emulation_of(const struct command_once *once);

/*
 * STATUS_OK when the program ran, with any result, and the counts are kept; else an exit status after a message, with
 * an incomplete outcome. Call emulation_fini() in any case.
 */
int emulation_run(const struct emulation_request *request, struct emulation_outcome *outcome);
void emulation_fini(struct emulation_outcome *outcome);

/* How long it took there, s; here, run_seconds(). */
double emulation_seconds(const struct setup *setup, const struct emulation_outcome *outcome);

#endif
