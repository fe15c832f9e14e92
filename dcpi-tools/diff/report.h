/*
 * report.h - what dcpidiff shows: two sides, what of them is one, and how it differs
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_REPORT_H
#define DCPI_TOOLS_DIFF_REPORT_H

#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/profile_set.h"
#include "dcpi-tools/common/run_history.h"
#include "dcpi-tools/diff/code_rows.h"
#include "dcpi-tools/diff/compare.h"
#include "dcpi-tools/diff/meet.h"
#include "dcpi-tools/diff/side.h"

enum measure {
	MEASURE_SAMPLES,
	MEASURE_CPI,
	MEASURE_FREQUENCY,
	MEASURE_STALLS,
	MEASURE_COUNT,
};

extern const char *const measure_names[MEASURE_COUNT]; /* "samples", "cpi", ... */

/* What the user asked for. */
struct request {
	struct options options; /* but for which samples */
	struct profile_sets sets;
	struct side_request side;
	struct side_pattern *patterns; /* what side.patterns is */
	size_t pattern_count, pattern_capacity;
	const char *procedure; /* only this one, by blocks and instructions or by lines; NULL: all procedures */
	enum code_view view;
	enum listing_syntax syntax;
	enum measure measure;
	double confidence_percent; /* of intervals */
	bool marked_only;
	size_t limit; /* rows; 0: all */
};

#define ITEM_NOWHERE UINT32_MAX

/* A procedure or an image, on one side or both. */
struct diff_item {
	struct diff_comparison comparison; /* first: comparisons_judge() */
	const char *title;                 /* of the procedure; NULL: the image */
	uint32_t group;                    /* of images */
	uint32_t images[2];                /* indices into the sides' selections, ITEM_NOWHERE: it is not there */
	uint64_t offsets[2];
	bool has_offset[2];
	struct figures figures[2];
};

/* Images that are one, of which there are several builds. */
struct rebuilt {
	uint32_t images[2];
	const char *why; /* "path", "soname", ... */
};

/* What is shown. */
struct report {
	const struct request *request;
	struct diff_side sides[2];
	struct meet_side met[2];
	struct meet_procedure *procedures[2]; /* what met's images point into */
	uint32_t *groups[2];                  /* of each side's images; those without rows have none */
	size_t group_count;
	bool *same_build; /* by group */
	struct scale scale;
	struct run_history history;
	struct variation noise; /* with several runs of a side: what they differ by */
	bool *run_is_after;     /* what scale.noise points into, as the next */
	double *run_totals;
	bool is_one_unit;        /* amounts of both sides can be compared; else there are none */
	struct diff_item *items; /* what differs most first */
	size_t item_count, shown;
	size_t marked_count;
	struct diff_code codes[2]; /* of request->procedure; then there are no items */
	struct code_rows code;
	struct rebuilt *rebuilt;
	size_t rebuilt_count;
};

/* Read and compare what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int diff_report_make(struct report *report, const struct request *request, struct database *database);
void diff_report_fini(struct report *report); /* a zeroed one is allowed */

/* Rows of a procedure that are shown. */
bool code_row_is_shown(const struct report *report, const struct code_row *row);

/* For code: 0, -ENOMEM. */
int code_print_text(const struct report *report, const struct output *output);
int code_print_csv(const struct report *report, FILE *stream);
int code_print_json(const struct report *report, FILE *stream);

/* The lines that say what is compared, above all else. */
void diff_report_print_sides(const struct report *report, const struct output *output);

/* The line that says what runs differ by; `what`: "procedures", ... */
void diff_report_print_noise(const struct report *report, const struct variation *noise, const char *what,
                             FILE *stream);

/* meet.c's work on what the sides have: images into groups. 0 or -ENOMEM. */
int diff_report_meet(struct report *report);

/* What the image of an item is called on one side; NULL: it is not there. */
const char *item_image(const struct report *report, const struct diff_item *item, unsigned side);

/* "52.000 s" and the like need a divisor: what amounts are shown in, and what it is called ("s", "M"). */
double diff_report_unit(const struct report *report, const char **name);

/* 0, -ENOMEM, -EIO. */
int diff_report_print_text(const struct report *report, const struct output *output);
int diff_report_print_csv(const struct report *report, FILE *stream);
int diff_report_print_json(const struct report *report, FILE *stream);

#endif
