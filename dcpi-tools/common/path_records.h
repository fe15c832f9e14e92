/*
 * path_records.h - recorded executions and branches of an image, besides its samples, and a text that says from which
 * of them a procedure's frequencies come
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PATH_RECORDS_H
#define DCPI_TOOLS_PATH_RECORDS_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/procedure.h"
#include "profile/profile.h"

struct path_record {
	uint32_t epoch; /* 0: there is nothing */
	struct procedure_paths paths;
};

struct path_records {
	struct path_record exact;    /* event `executions` */
	bool is_emulated;            /* `exact` was counted by dcpiemu while it sampled; else by dcpix */
	struct path_record branches; /* events `branch-stacks` and `branch-runs` */
	struct path_record bursts;   /* event `bursts` */
};

/*
 * Read the newest record of each kind for image `number` of the database; for samples of dcpiemu, `exact` is what it
 * counted in their epoch. 0, also when there is nothing; an error of the database; -ENOMEM.
 */
int path_records_read(struct profile *profile, const struct selection *selection, uint32_t number,
                      struct path_records *records);
void path_records_fini(struct path_records *records); /* a zeroed one is allowed */

/* The newest epoch of a selection with samples that match, if dcpiemu made it; else 0. */
uint32_t path_records_emulated_epoch(const struct selection *selection);

/* The best source of the frequencies of blocks, and the epoch in which it was recorded; 0: that of the samples. */
enum frequency_method frequency_source(const struct procedure_analysis *analysis, const struct path_records *records,
                                       uint32_t *epoch);

/* A line or two for the head of a report; nothing for frequencies by samples of time that are not relative. */
void frequency_source_print(const struct procedure_analysis *analysis, const struct path_records *records,
                            FILE *stream);
json_t *frequency_source_json(const struct procedure_analysis *analysis, const struct path_records *records);

/* Relative frequencies are rounded to two digits. */
void frequency_format(double value, bool is_relative, char *text, size_t size);

#endif
