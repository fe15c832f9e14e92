/*
 * model_options.h - what is modelled and how: the options that dcpiemu's commands share
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EMU_MODEL_OPTIONS_H
#define DCPI_TOOLS_EMU_MODEL_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "emulator/setup.h"

struct model_options {
	struct setup setup; /* without machine, pipeline and threads */
	const char *cpu, *prefix;
	bool events_chosen; /* by --event: only those */
};

void model_options_init(struct model_options *options);

/* An argp child, with a struct model_options as its input. */
extern const struct argp model_options_argp;

#endif
