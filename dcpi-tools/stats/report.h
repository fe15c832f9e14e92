/*
 * report.h - the report of dcpistats, and its output
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_STATS_REPORT_H
#define DCPI_TOOLS_STATS_REPORT_H

#include "analysis/variation.h"
#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/profile_set.h"
#include "dcpi-tools/common/run_history.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/stats/rows.h"

/* By what the counts of a set are divided before sets are compared. */
enum stats_normalization {
	NORMALIZE_NONE,  /* nothing, but periods are made equal */
	NORMALIZE_TOTAL, /* a set's samples */
	NORMALIZE_TIME,  /* how long its runs lasted, or for how long it was sampled */
};

enum stats_sort {
	SORT_RANGE, /* what varies more than noise first */
	SORT_SUM,
	SORT_P,
	SORT_DEVIATION,
};

/* What the user asked for. */
struct stats_request {
	struct options options;                   /* without database and selection: the sets have them */
	struct profile_sets *sets;                /* found out when the report is made */
	struct shown_events_request shown_events; /* one event */
	enum stats_row_kind kind;
	enum stats_normalization normalization;
	enum stats_sort sort;
	double noise; /* as variation_request.noise */
	double p;     /* from here on down a row is marked */
	double cutoff_percent;
	size_t limit; /* rows; 0: all */
	bool all;     /* also rows with few samples */
	bool demangle;
	const char *plot; /* a file to draw into; NULL: none */
};

/* A set of samples as a whole. */
struct stats_set {
	struct stats_total total; /* samples that were asked for */
	bool is_random;           /* as in struct effective_sample */
	uint64_t unknown, lost;   /* of all that was sampled in the set's slices */
	double period;            /* events per sample, on average where it varied; 0: not known */
	struct selection_match match;
	bool is_labelled;                   /* selected by a label */
	struct selection_run run;           /* then */
	char *directory;                    /* of its database */
	char weights[SUMMARY_WEIGHTS_SIZE]; /* what its samples were weighted from (summary.h); "": they are not */
};

struct stats_report_row {
	const struct stats_row *row;
	const double *weights; /* by set: what an effective sample of the row counts as (analysis/effective.h) */
	struct variation_row variation;
	bool is_marked;
};

/* The contents of the report. */
struct stats_report {
	const struct stats_request *request;
	const struct profile_sets *sets; /* request->sets */
	struct stats_set *details;       /* by set, as factors, totals and above */
	double *factors;
	double *weights;     /* what an effective sample of all counts as */
	double *row_weights; /* what an effective sample of a row counts as, by row and set */
	double *totals;      /* samples times factors */
	double *above;       /* of outliers: how far they are above the median total, as a part of it; 0 for others */
	double total;        /* of all sets */
	double median_total;
	struct stats_rows *rows;
	struct stats_report_row *list; /* sorted */
	size_t row_count;              /* all */
	size_t shown;
	size_t few;         /* rows left out for their few samples */
	double few_percent; /* the part that those have of all samples */
	size_t marked;      /* rows, shown or not */
	bool has_periods;   /* of all sets */
	bool knows_runs;    /* of all sets that a label selects it is known how long they lasted */
	bool is_scaled;     /* periods differ, and counts are scaled by them */
	struct variation variation;
	struct run_history history; /* how much runs of other programs differ: the prior of the noise */
	char event[EVENT_NAME_SIZE];
	char unit[EVENT_UNIT_SIZE];
};

/*
 * Read and compare the sets of the request, which must outlive the report. `database` is not used: NULL. An exit
 * status: 0, or another after a message.
 */
int stats_report_make(struct stats_report *report, const struct stats_request *request, struct database *database);
void stats_report_fini(struct stats_report *report); /* a zeroed one is allowed */

/*
 * The divisor of --normalize time: how long the runs of a set lasted, if a label selects it and these times are known.
 */
uint64_t stats_report_time_ns(const struct stats_report *report, size_t set);
bool stats_report_divides_by_run(const struct stats_report *report, size_t set);

/* "procedure", "image" or "instruction" */
const char *stats_report_row_name(const struct stats_report *report);

/* 0, -ENOMEM, -EIO. */
int stats_report_print_text(const struct stats_report *report, const struct output *output);
int stats_report_print_csv(const struct stats_report *report, FILE *stream);
int stats_report_print_json(const struct stats_report *report, FILE *stream);

/* Draw request->plot; an exit status, after a message when it is not 0. */
int stats_report_plot(const struct stats_report *report);

#endif
