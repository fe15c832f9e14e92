/*
 * survey_all.h - analyse all procedures that the user selected
 *
 * Each selected sample is in a procedure that is visited, or in a gap: samples that were not analysed, with a reason.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_SURVEY_ALL_H
#define DCPI_TOOLS_SURVEY_ALL_H

#include <jansson.h>

#include "analysis/survey.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"

/* What a user asks for. */
struct survey_request {
	struct options options;
	const char *event; /* NULL: the one that counts time */
	const char *cpu;   /* NULL: the model of the epoch's CPU */
};

/* Rows of options.h for [IMAGE...] --image --event --cpu; `survey` is a struct survey_request. */
#define OPTIONS_SURVEY(request, survey)                                                                                \
	OPTION_IMAGE(request, survey.options), OPTION_TIME_EVENT(request, survey.event),                               \
		OPTION_CPU(request, survey.cpu), OPTION_IMAGE_ARGUMENTS(request, survey.options)

/* Samples of one image that are in no procedure that was analysed. */
struct survey_gap {
	const char *why; /* literal */
	uint32_t image;  /* SURVEY_NO_IMAGE: of none */
	uint64_t samples;
};

#define SURVEY_NO_IMAGE UINT32_MAX

struct survey_all {
	struct selection *selection;
	char **titles; /* of images */
	bool *wanted;  /* by image; NULL: all */
	uint16_t event;
	bool ignore_exact; /* set by the caller after survey_all_open(): exact counts are read, and not used */
	struct model_choice model;
	struct other_cores left_out;
	uint64_t samples;  /* selected samples of the event: the whole of shares */
	uint64_t taken;    /* their number without weights */
	uint64_t analyzed; /* samples in analysed procedures */
	size_t procedure_count, image_count;
	bool is_relative; /* frequencies of some are right relative to one another only */
	struct survey_gap *gaps;
	size_t gap_count, gap_capacity;
};

struct survey_all_visitor {
	void *context;
	/* As of analysis/survey.h. */
	int (*procedure)(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis);
	/* Before the image's code is closed; or NULL. */
	int (*image_end)(void *context, const struct code_image *code);
};

/* Read the selection that is asked for. An exit status: 0, or another after a message. */
int survey_all_open(struct survey_all *survey, const struct survey_request *request, struct database *database);

/* Fill in `left_out`, for the selection, event and images that were chosen. */
void survey_all_leave_out(struct survey_all *survey);

/* Analyse and visit all of it, with progress on a terminal. An exit status: 0, or another after a message. */
int survey_all_run(struct survey_all *survey, struct database *database, const struct survey_all_visitor *visitor);
void survey_all_fini(struct survey_all *survey); /* a zeroed one is allowed */

/* The head of a report: the event, its samples, the model, warnings. */
void survey_all_print_head(const struct survey_all *survey, const struct output *output);

/* The foot of a report: how much was analysed, how much was not, and why. */
void survey_all_print_gaps(const struct survey_all *survey, const struct output *output);

/* An object: schema, start, end, event, left_out, model, samples, taken, analyzed, not_analyzed. NULL: no memory. */
json_t *survey_all_json(const struct survey_all *survey, const char *schema);

#endif
