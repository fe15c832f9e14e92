/*
 * report.h - the report of dcpidiff: two inputs, their matching images and procedures, and how these differ
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_REPORT_H
#define DCPI_TOOLS_DIFF_REPORT_H

#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/profile_set.h"
#include "dcpi-tools/common/run_history.h"
#include "dcpi-tools/diff/code.h"
#include "dcpi-tools/diff/compare.h"
#include "dcpi-tools/diff/input.h"
#include "dcpi-tools/diff/match.h"

enum diff_measure {
	MEASURE_SAMPLES,
	MEASURE_CPI,
	MEASURE_FREQUENCY,
	MEASURE_STALLS,
	MEASURE_COUNT,
};

extern const char *const diff_measure_names[MEASURE_COUNT]; /* "samples", "cpi", ... */

/* What the user asked for. */
struct diff_request {
	struct options options; /* except the selection of samples */
	struct profile_sets sets;
	struct input_request input;
	struct input_pattern *patterns; /* the array of input.patterns */
	size_t pattern_count, pattern_capacity;
	const char *procedure; /* only this one, by blocks and instructions or by lines; NULL: all procedures */
	enum code_view view;
	enum listing_syntax syntax;
	enum diff_measure measure;
	double confidence_percent; /* of intervals */
	bool marked_only;
	size_t limit; /* rows; 0: all */
};

#define DIFF_ITEM_NOWHERE UINT32_MAX

/* A procedure or an image, on one side or both. */
struct diff_item {
	struct diff_comparison comparison; /* first: compare_adjust() */
	const char *title;                 /* of the procedure; NULL: the image */
	uint32_t group;                    /* of images */
	uint32_t images[2];                /* indices into the inputs' selections, DIFF_ITEM_NOWHERE: it is not there */
	uint64_t offsets[2];
	bool has_offset[2];
	struct code_figures figures[2];
};

/* Images that match, in different builds. */
struct diff_rebuilt {
	uint32_t images[2];
	const char *why; /* "path", "soname", ... */
};

/* The contents of the report. */
struct diff_report {
	const struct diff_request *request;
	struct diff_input inputs[2];
	struct match_input matched[2];
	struct match_procedure *procedures[2]; /* what the images of `matched` point into */
	uint32_t *groups[2];                   /* of each side's images; those without rows have none */
	size_t group_count;
	bool *same_build; /* by group */
	struct compare_scale scale;
	struct run_history history;
	struct variation noise; /* with several runs of a side: how much they differ */
	bool *run_is_after;     /* this and run_totals are what scale.noise points into */
	double *run_totals;
	bool is_one_unit;        /* amounts of both sides can be compared; otherwise none are shown */
	struct diff_item *items; /* what differs most first */
	size_t item_count, shown;
	size_t marked_count;
	struct diff_code codes[2]; /* of request->procedure; then there are no items */
	struct code_rows code;
	struct diff_rebuilt *rebuilt;
	size_t rebuilt_count;
};

/*
 * Read and compare the sets of the request, which must outlive the report. `database` is not used: NULL. An exit
 * status: 0, or another after a message.
 */
int diff_report_make(struct diff_report *report, const struct diff_request *request, struct database *database);
void diff_report_fini(struct diff_report *report); /* a zeroed one is allowed */

/* 0, -ENOMEM, -EIO. */
int diff_report_print_text(const struct diff_report *report, const struct output *output);
int diff_report_print_csv(const struct diff_report *report, FILE *stream);
int diff_report_print_json(const struct diff_report *report, FILE *stream);

/* Whether a row of a procedure is shown, by --marked and --limit. */
bool diff_report_shows_row(const struct diff_report *report, const struct code_row *row);

/* The divisor of printed amounts, and the name of that unit ("s", "M", ...; "": 1). */
double diff_report_unit(const struct diff_report *report, const char **name);

#endif
