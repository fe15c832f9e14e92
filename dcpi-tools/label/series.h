/*
 * series.h - several runs of one program, each under its own label
 *
 * Thread rule: that of child.h.
 */
#ifndef DCPI_TOOLS_LABEL_SERIES_H
#define DCPI_TOOLS_LABEL_SERIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/ctl/commands.h"
#include "process/process_labels.h"

#define SERIES_RUNS_MAX 1000

/* The result of one run. */
struct series_run {
	uint64_t elapsed_ns, cpu_ns; /* processor time: children that it waited for included */
	int status;                  /* as waitpid(2) gives it */
};

struct series {
	struct ctl_request asking; /* which dcpid */
	const char *name;
	size_t first, runs;
	char *const *program;
	bool is_quiet;    /* the program's output goes nowhere */
	bool keeps_going; /* also after a run that failed */

	size_t done, failed;
	bool is_cut;                                /* the last one that is done failed, and ended it */
	struct series_run results[SERIES_RUNS_MAX]; /* of those that are done */
};

/* "wave5.3" for run `index`, counted from 0. 0, or -ENAMETOOLONG. */
int series_label(const struct series *series, size_t index, char label[LABEL_SIZE]);

/*
 * Run all of them, with progress on standard error. An exit status; if it is not 0, some may have run. If the series is
 * cut, the caller ends like the last run.
 */
int series_run(struct series *series);

/* "8 runs: 12.31 s to 14.87 s, median 12.40 s" on standard error. */
void series_print(const struct series *series);

/* The median of sorted durations: the middle one, or the mean of the two in the middle. `count` is not 0. */
uint64_t series_median(const uint64_t *sorted, size_t count);

/* The object that dcpilabel(1) describes; takes `statistics`, NULL: null. NULL when memory ends. */
json_t *series_json(const struct series *series, json_t *statistics);

#endif
