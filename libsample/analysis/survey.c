#include "analysis/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure_parts.h"
#include "analysis/survey_pool.h"

#define POOL_LEAST 16 /* procedures: threads for fewer are not worth it */

/* A procedure that has samples. */
struct candidate {
	const struct symbol *symbol;
	uint64_t samples; /* also of procedures that lie within it */
	bool is_put;      /* a thread analyses it */
	bool is_cold;     /* comes last: what it was split off from has it, too */
};

struct survey {
	const struct procedure_input *input;
	const struct survey_visitor *visitor;
	const struct selection_count *counts; /* of the image */
	size_t count;
	bool *claimed; /* by count: it is in what was visited or skipped */
	struct candidate *candidates;
	size_t candidate_count;
	struct survey_pool *pool; /* NULL: there is none */
	size_t put_count;         /* candidates that were put into it, or need not be */
	int answer;               /* of a visitor, if not 0 */
};

static const char no_procedure[] = "no procedure is known there";
static const char no_text[] = CODE_IMAGE_NO_TEXT;
static const char overlapping[] = "it overlaps another procedure";
static const char too_large[] = "it is larger than any real procedure";

static int
find_counts(struct survey *survey)
{
	const struct selection *selection = survey->input->selection;
	const uint32_t image = survey->input->code->index;
	const size_t first = code_image_first_count(selection, image, 0);

	survey->counts = selection->counts + first;
	while (first + survey->count < selection->count_count && survey->counts[survey->count].image == image)
		survey->count++;
	survey->claimed = calloc(survey->count + 1, sizeof(*survey->claimed));
	survey->candidates = calloc(survey->count + 1, sizeof(*survey->candidates));
	return survey->claimed && survey->candidates ? 0 : -ENOMEM;
}

/* The first count at `offset` or behind it. */
static size_t
count_at(const struct survey *survey, uint64_t offset)
{
	size_t low = 0, high = survey->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (survey->counts[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Samples in [start, end); those that are claimed, or those that are not. */
static uint64_t
samples_within(const struct survey *survey, uint64_t start, uint64_t end, bool claimed)
{
	uint64_t sum = 0;

	for (size_t i = count_at(survey, start); i < survey->count && survey->counts[i].offset < end; i++)
		if (survey->counts[i].event == survey->input->event && survey->claimed[i] == claimed)
			sum += survey->counts[i].count;
	return sum;
}

static void
claim(struct survey *survey, uint64_t start, uint64_t end)
{
	for (size_t i = count_at(survey, start); i < survey->count && survey->counts[i].offset < end; i++)
		survey->claimed[i] = true;
}

static int
skip(struct survey *survey, const char *why, uint64_t samples)
{
	const struct survey_visitor *visitor = survey->visitor;

	return samples ? visitor->skipped(visitor->context, survey->input->code->index, why, samples) : 0;
}

static int
compare_symbols(const void *a, const void *b)
{
	const struct candidate *one = a, *other = b;

	return (one->symbol > other->symbol) - (one->symbol < other->symbol);
}

/* One that lies around others comes before them, and so does who has a cold part before that part. */
static int
compare_candidates(const void *a, const void *b)
{
	const struct candidate *one = a, *other = b;

	if (one->is_cold != other->is_cold)
		return one->is_cold ? 1 : -1;
	if (one->samples != other->samples)
		return one->samples < other->samples ? 1 : -1;
	if (one->symbol->size != other->symbol->size)
		return one->symbol->size < other->symbol->size ? 1 : -1;
	return (one->symbol->offset > other->symbol->offset) - (one->symbol->offset < other->symbol->offset);
}

static void
keep_each_once(struct survey *survey)
{
	size_t kept = 0;

	if (!survey->candidate_count)
		return;
	qsort(survey->candidates, survey->candidate_count, sizeof(*survey->candidates), compare_symbols);
	for (size_t i = 1; i < survey->candidate_count; i++)
		if (survey->candidates[i].symbol != survey->candidates[kept].symbol)
			survey->candidates[++kept] = survey->candidates[i];
	survey->candidate_count = kept + 1;
}

static int
find_candidates(struct survey *survey)
{
	const struct code_image *code = survey->input->code;
	const struct symbol *last = NULL;
	uint64_t nowhere = 0;

	for (size_t i = 0; i < survey->count; i++) {
		const struct selection_count *count = &survey->counts[i];
		const struct symbol *symbol;

		if (count->event != survey->input->event)
			continue;
		symbol = symbol_table_find(code->symbols, count->offset);
		if (!symbol) {
			nowhere += count->count;
			survey->claimed[i] = true;
		} else if (symbol != last) {
			survey->candidates[survey->candidate_count++].symbol = symbol;
		}
		last = symbol;
	}
	keep_each_once(survey);
	for (size_t i = 0; i < survey->candidate_count; i++) {
		struct candidate *candidate = &survey->candidates[i];
		const struct symbol *symbol = candidate->symbol;

		candidate->is_cold = procedures_is_split_off(symbol);
		candidate->samples = samples_within(survey, symbol->offset, symbol->offset + symbol->size, false);
	}
	if (survey->candidate_count)
		qsort(survey->candidates, survey->candidate_count, sizeof(*survey->candidates), compare_candidates);
	return skip(survey, no_procedure, nowhere);
}

static const char *
trouble(int err)
{
	switch (err) {
	case -ENOENT:
		return no_text;
	case -E2BIG:
		return too_large;
	case -EINVAL:
		return overlapping;
	default:
		return NULL;
	}
}

/* The offsets of a part; false when the file has none for it. */
static bool
place_of(const struct survey *survey, const struct code_part *part, uint64_t *start, uint64_t *end)
{
	if (image_file_offset(survey->input->code->file, part->address, start))
		return false;
	*end = *start + part->size;
	return true;
}

/* Leave out the further parts that belong to another one already. How many there are then. */
static size_t
leave_out_claimed(const struct survey *survey, struct code_part *parts, size_t count)
{
	size_t kept = 1;

	for (size_t i = 1; i < count; i++) {
		uint64_t start, end;

		if (place_of(survey, &parts[i], &start, &end) && !samples_within(survey, start, end, true))
			parts[kept++] = parts[i];
	}
	return kept;
}

/* Whether another has samples of the analysis already. */
static bool
shares_samples(const struct survey *survey, const struct procedure_analysis *analysis)
{
	struct stretch stretch = {0};

	while (stretch_next(survey->input, analysis->graph, &stretch))
		if (samples_within(survey, stretch.start, stretch.end, true))
			return true;
	return false;
}

static void
claim_all(struct survey *survey, const struct procedure_analysis *analysis)
{
	struct stretch stretch = {0};

	while (stretch_next(survey->input, analysis->graph, &stretch))
		claim(survey, stretch.start, stretch.end);
}

/* Without the parts that another has. */
static int
analyze_rest(const struct survey *survey, const struct symbol *symbol, struct procedure_analysis **analysis)
{
	struct procedure_input input = *survey->input;
	struct code_part parts[FLOW_PARTS_MAX];
	int count;

	count = procedures_parts(input.code->procedures, symbol, parts);
	if (count < 0)
		return count;
	input.symbol = symbol;
	input.parts = parts;
	input.part_count = leave_out_claimed(survey, parts, (size_t)count);
	return procedure_analyze(&input, analysis);
}

static int
analyze(const struct survey *survey, const struct candidate *candidate, struct procedure_analysis **analysis)
{
	struct procedure_input input = *survey->input;

	if (candidate->is_put)
		return survey_pool_take(survey->pool, analysis);
	input.symbol = candidate->symbol;
	return procedure_analyze(&input, analysis);
}

static uint64_t
unclaimed_samples(const struct survey *survey, const struct symbol *symbol)
{
	return samples_within(survey, symbol->offset, symbol->offset + symbol->size, false);
}

/* Let threads work ahead on what has samples that nobody has yet, as far as that can be known now. */
static void
put_ahead(struct survey *survey)
{
	while (survey->pool && survey->put_count < survey->candidate_count && !survey_pool_is_full(survey->pool)) {
		struct candidate *candidate = &survey->candidates[survey->put_count++];

		candidate->is_put = unclaimed_samples(survey, candidate->symbol) > 0;
		if (candidate->is_put)
			survey_pool_put(survey->pool, candidate->symbol);
	}
}

static void
show(struct survey *survey, const struct symbol *symbol, const struct procedure_analysis *analysis)
{
	const struct survey_visitor *visitor = survey->visitor;
	struct procedure_input input = *survey->input;

	input.symbol = symbol;
	survey->answer = visitor->procedure(visitor->context, &input, analysis);
}

static int
visit(struct survey *survey, const struct candidate *candidate)
{
	const struct symbol *symbol = candidate->symbol;
	const uint64_t start = symbol->offset, end = symbol->offset + symbol->size;
	const uint64_t samples = unclaimed_samples(survey, symbol);
	struct procedure_analysis *analysis = NULL;
	int err = 0;

	if (candidate->is_put || samples)
		err = analyze(survey, candidate, &analysis);
	if (samples && samples_within(survey, start, end, true))
		err = -EINVAL;
	if (!err && samples && shares_samples(survey, analysis)) {
		procedure_analysis_free(analysis);
		err = analyze_rest(survey, symbol, &analysis);
	}
	if (!err && samples) {
		show(survey, symbol, analysis);
		claim_all(survey, analysis);
	}
	procedure_analysis_free(analysis);
	if (!samples && err != -ENOMEM)
		return 0;
	if (!trouble(err))
		return err;
	claim(survey, start, end);
	return skip(survey, trouble(err), samples);
}

int
survey_image(const struct procedure_input *input, const struct survey_visitor *visitor)
{
	struct survey survey = {.input = input, .visitor = visitor};
	int err;

	err = find_counts(&survey);
	if (!err)
		err = find_candidates(&survey);
	if (!err && survey.candidate_count >= POOL_LEAST)
		survey.pool = survey_pool_new(input);
	for (size_t i = 0; i < survey.candidate_count && !err && !survey.answer; i++) {
		put_ahead(&survey);
		err = visit(&survey, &survey.candidates[i]);
	}
	survey_pool_free(survey.pool);
	free(survey.claimed);
	free(survey.candidates);
	return err ? err : survey.answer;
}
