/*
 * procedure_options.h - what tools that show one procedure are asked for
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PROCEDURE_OPTIONS_H
#define DCPI_TOOLS_PROCEDURE_OPTIONS_H

#include "base/guard.h"
#include "code/decoder.h"
#include "dcpi-tools/common/options.h"

struct procedure_options {
	const char *name; /* as procedure_find() takes it */
	enum listing_syntax syntax;
};

/* What a command line without a procedure is refused with. */
#define PROCEDURE_MISSING "which procedure? 'dcpiprof' shows which are hot"

/* PROCEDURE [IMAGE...] */
void procedure_options_argument(struct procedure_options *procedure, struct options *options, char *text,
                                struct argp_state *state);

/* --asm, as command_line.h calls it; `listing_syntax` is an enum listing_syntax. */
void procedure_options_syntax(void *listing_syntax, char *text, struct argp_state *state);

/* For the time in which images are read: a fault inside libelf or libdw is the file's. `shown` is escaped, or NULL. */
struct guard procedure_guard(const char *shown);

#endif
