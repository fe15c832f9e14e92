/*
 * report.h - what dcpicat shows: counts by image and offset, as they are in the database
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CAT_REPORT_H
#define DCPI_TOOLS_CAT_REPORT_H

#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/sample_points.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/tool.h"

/* What the user asked for. */
struct cat_request {
	struct options options;
	struct columns_request columns;
	bool names;    /* of procedures, too */
	bool demangle; /* these */
};

struct cat_image {
	uint32_t index; /* into selection->images */
	size_t first_row, row_count;
};

/* What is shown. */
struct cat_report {
	const struct cat_request *request;
	struct report_choice choice;
	uint64_t totals[SELECTION_EVENTS_MAX]; /* what the rows add up to, by event */
	struct cat_image *images;              /* with rows; by title */
	size_t image_count;
	struct sample_points points; /* the rows, by image and offset */
};

/* Read what the request asks for. An exit status: 0, or another after a message. The request must stay. */
int cat_report_make(struct cat_report *report, const struct cat_request *request, struct database *database);
void cat_report_fini(struct cat_report *report); /* a zeroed one is allowed */

/* Samples of column `column`: of a row, and of an image. */
uint64_t cat_row_samples(const struct cat_report *report, const struct sampled_offset *row, size_t column);
uint64_t cat_image_samples(const struct cat_report *report, const struct cat_image *image, size_t column);

/* The procedure of a row, with request->names. NULL: nothing is known; else *base: where it begins. Not escaped. */
const char *cat_row_procedure(const struct cat_report *report, const struct sampled_offset *row, uint64_t *base);

const struct image *cat_image_of(const struct cat_report *report, const struct cat_image *image);
const char *cat_kind(const struct image *image); /* "user", "kernel", ... */

/* 0, -ENOMEM, -EIO. */
int cat_report_print_text(const struct cat_report *report, const struct output *output);
int cat_report_print_csv(const struct cat_report *report, FILE *stream);
int cat_report_print_json(const struct cat_report *report, FILE *stream);

#endif
