/*
 * survey.h - analyse every procedure of an image that has samples, one after the other
 *
 * Parts that compilers split off are analysed together with their procedure. So each sample is in exactly one
 * procedure, or is skipped with a reason. Nothing is kept: an analysis lives only while it is visited.
 * Thread rule: one thread per survey, which calls the visitors. Other threads of the survey analyse ahead; meanwhile
 * symbols, contents and file of the image are only read.
 */
#ifndef DCPI_ANALYSIS_SURVEY_H
#define DCPI_ANALYSIS_SURVEY_H

#include "analysis/procedure.h"

/* An error of any of these ends the survey, which returns it. */
struct survey_visitor {
	void *context;
	/* `analysis` is freed afterwards: copy what is kept. The procedure's samples are analysis->time_samples. */
	int (*procedure)(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis);
	/* Samples of the event in no procedure that could be analysed; `why` is a literal, the end of a sentence. */
	int (*skipped)(void *context, uint32_t image, const char *why, uint64_t samples);
};

/*
 * Visit the procedures of image `code->index` that have samples of `input->event`, those with most samples first.
 * `input` is that of procedure_analyze(); its symbol and parts are ignored. 0, -ENOMEM, or an error of a visitor.
 */
int survey_image(const struct procedure_input *input, const struct survey_visitor *visitor);

#endif
