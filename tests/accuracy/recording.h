/*
 * recording.h - what tests/accuracy/record leaves: samples, exact counts and bursts of one program's work
 *
 * Opened, its procedures are analysed one after the other, each from one source of frequencies at a time.
 * Thread rule: one thread per recording.
 */
#ifndef DCPI_ACCURACY_RECORDING_H
#define DCPI_ACCURACY_RECORDING_H

#include <stdio.h>

#include "analysis/procedure.h"
#include "tests/accuracy/score.h"

enum accuracy_source {
	SOURCE_SAMPLES, /* of time, alone */
	SOURCE_BURSTS,  /* and single-step bursts */
	SOURCE_EXACT,   /* the exact counts */
	SOURCE_COUNT,
};

const char *source_name(enum accuracy_source source);

struct accuracy_recording;

/*
 * `path` is the directory of one recording, `models` that of the pipeline models. NULL after a message on standard
 * error.
 */
struct accuracy_recording *recording_open(const char *path, const char *models);
void recording_close(struct accuracy_recording *recording); /* NULL is allowed */

const char *recording_name(const struct accuracy_recording *recording); /* "lua.objects" */

/* The samples of time that the program itself has, libraries and kernel left out. */
double recording_samples(const struct accuracy_recording *recording);

/* One procedure, seen from one source. Valid during the call only. */
struct visited {
	const char *name;
	const struct symbol *symbol;
	const struct procedure_analysis *analysis; /* estimated from the source */
	const struct procedure_analysis *exact;    /* analysed from exact counts */
	struct score_procedure score;
};

typedef void visit_function(const struct visited *visited, void *user);

/*
 * All procedures of the program with at least `least` samples that were counted exactly, too; but not main(), which is
 * always ours. 0, or a negative error after a message.
 */
int recording_visit(struct accuracy_recording *recording, enum accuracy_source source, uint64_t least,
                    visit_function *visit, void *user);

/* Write a procedure as text (specimen.h). 0, or a negative error. */
int recording_write_specimen(struct accuracy_recording *recording, const struct visited *visited, FILE *file);

#endif
