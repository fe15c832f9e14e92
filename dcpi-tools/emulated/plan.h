/*
 * plan.h - what must be known of a program before it is started under an emulator
 *
 * Thread rule: one thread; it prints what is wrong.
 */
#ifndef DCPI_TOOLS_EMULATED_PLAN_H
#define DCPI_TOOLS_EMULATED_PLAN_H

#include <limits.h>

#include "dcpi-tools/emulated/run.h"
#include "emulator/program.h"

struct plan {
	char path[PATH_MAX];
	struct program program;     /* what is to run */
	struct program interpreter; /* the ELF file that it runs in: itself, or a script's interpreter */
	const char *target;         /* "x86_64" */
	char emulator[PATH_MAX];
	char prefix[PATH_MAX]; /* ""; the root */
	const char *cpu;       /* NULL: the emulator's choice, or $QEMU_CPU */
};

/* STATUS_OK, or an exit status after a message. */
int plan_make(struct plan *plan, const struct run_request *request);

#endif
