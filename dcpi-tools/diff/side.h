/*
 * side.h - one of the two sets of samples that are compared, and the procedures in it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_DIFF_SIDE_H
#define DCPI_TOOLS_DIFF_SIDE_H

#include "dcpi-tools/common/profile_set.h"
#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/common/symbolizer.h"
#include "dcpi-tools/diff/compare.h"
#include "dcpi-tools/diff/figures.h"

/* An image that was asked for, of one set or of both. */
struct side_pattern {
	const char *text;
	size_t group; /* 0: of both, else of the set of this number, from 1 on */
};

/* Whether it is asked of the set that is numbered `set`, from 0 on. */
bool side_pattern_is_of(const struct side_pattern *pattern, size_t set);

struct side_request {
	const struct side_pattern *patterns; /* none: all images */
	size_t pattern_count;
	const char *event; /* NULL: the first */
	const char *cpu;   /* for what is worked out: NULL: the model of the epoch's CPU */
	bool by_image;
	bool demangle;
	bool analyze; /* more than samples is wanted: code is read */
};

struct side_row {
	uint32_t image; /* index into the selection's */
	enum procedure_kind kind;
	uint64_t offset;
	char *title;               /* of the procedure, not escaped; NULL: the image */
	struct side_count samples; /* of the side's event */
	struct side_count *runs;   /* of those, by run; NULL: not known, or none */
	struct figures figures;    /* with side_request.analyze */
};

struct diff_side {
	const struct profile_set *set;
	struct survey_all all;   /* selection, titles, wanted images, event; with side_request.analyze also what was not
	                            analysed */
	struct side_count total; /* samples that shares are of: all that were selected, whatever the image */
	struct side_row *rows;
	size_t row_count, row_capacity;
	size_t run_count; /* labels that the set's pattern matches, with samples; 0: it is no set of runs */
	struct side_count *run_totals; /* as `total`, of each */
	double *run_units;             /* of each: events that one of its samples stands for; 0: not known */
};

/* Begin it: selection, event, images and what shares are of; no rows. As side_read(). */
int side_open(struct diff_side *side, const struct side_request *request, const struct profile_set_visit *visit,
              unsigned *hits);

/*
 * Read one side while its database is open; `hits` has room for a number per pattern, and those that meant an image are
 * increased. An exit status: 0, or another after a message.
 */
int side_read(struct diff_side *side, const struct side_request *request, const struct profile_set_visit *visit,
              unsigned *hits);
void side_fini(struct diff_side *side); /* a zeroed one is allowed */

/* One of the runs that a set is of. */
struct side_run {
	size_t index, most; /* of at most so many */
	const struct selection *selection;
	uint16_t event; /* of the selection: the side's */
};

typedef int side_run_visitor(void *context, const struct side_run *run);

/* For each run of the set that has samples of the side's event: none when it is no set of runs. An exit status. */
int side_each_run(struct diff_side *side, const struct profile_set_visit *visit, side_run_visitor *visit_run,
                  void *context);

const struct selection_event *side_event(const struct diff_side *side);
const struct image *side_image(const struct diff_side *side, uint32_t index);

#endif
