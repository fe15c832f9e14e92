/*
 * survey.h - every procedure of an image that has samples, analysed one after the other
 *
 * Parts that compilers split off are analysed along with what they were split from, so that each sample is in one
 * procedure only, or in what is skipped, with a reason. Nothing is kept: an analysis lives while it is visited.
 * Thread rule: one thread per survey; visitors are called on it. Threads of its own analyse ahead; symbols, contents
 * and file of the image are only read meanwhile.
 */
#ifndef DCPI_ANALYSIS_SURVEY_H
#define DCPI_ANALYSIS_SURVEY_H

#include "analysis/procedure.h"

/* An error of any of these ends the survey, which returns it. */
struct survey_visitor {
	void *context;
	/* `analysis` is freed afterwards: copy what is kept. The procedure's samples are analysis->time_samples. */
	int (*procedure)(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis);
	/* Samples of the event that are in no procedure that could be analysed; `why` is an end of a sentence, literal.
	 */
	int (*skipped)(void *context, uint32_t image, const char *why, uint64_t samples);
};

/*
 * Visit what has samples of `input->event` in image `code->index`, the procedures with most samples first. `input` is
 * as for procedure_analyze(), but for its symbol and parts. 0, -ENOMEM, or an error of a visitor.
 */
int survey_image(const struct procedure_input *input, const struct survey_visitor *visitor);

#endif
