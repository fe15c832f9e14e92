#include "analysis/survey.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

#define POOL_LEAST  16 /* procedures: threads for fewer are not worth it */
#define THREADS_MAX 16
#define AHEAD       4 /* procedures for each thread */

/*
 * Threads that analyse procedures of one image before they are visited. Analyses are taken in the order in which they
 * were put, so that it does not matter how many threads there are. Only a few are made ahead. The thread that made the
 * pool puts and takes; a fault while an image is read is its guard's (base/guard.h).
 */

struct survey_job {
	const struct symbol *symbol;
	struct procedure_analysis *analysis;
	int err;
	bool is_done;
};

struct survey_worker {
	struct survey_pool *pool;
	struct procedures *procedures; /* decoders are one thread's */
	pthread_t thread;
};

struct survey_pool {
	const struct procedure_input *input;
	struct guard *guard;
	struct survey_worker workers[THREADS_MAX];
	size_t worker_count;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t put, done;
	struct survey_job jobs[THREADS_MAX * AHEAD]; /* a ring */
	size_t capacity;
	size_t put_count, begun_count, taken_count; /* since the beginning */
	bool ends;
};

/* The next job that no thread has begun; NULL when the pool ends. Waits. */
static struct survey_job *
pool_begin_job(struct survey_pool *pool)
{
	struct survey_job *job = NULL;

	pthread_mutex_lock(&pool->lock);
	while (pool->begun_count == pool->put_count && !pool->ends)
		pthread_cond_wait(&pool->put, &pool->lock);
	if (!pool->ends)
		job = &pool->jobs[pool->begun_count++ % pool->capacity];
	pthread_mutex_unlock(&pool->lock);
	return job;
}

static void
pool_end_job(struct survey_pool *pool, struct survey_job *job, struct procedure_analysis *analysis, int err)
{
	pthread_mutex_lock(&pool->lock);
	job->analysis = analysis;
	job->err = err;
	job->is_done = true;
	pthread_cond_signal(&pool->done);
	pthread_mutex_unlock(&pool->lock);
}

static void *
worker_main(void *argument)
{
	const struct survey_worker *worker = argument;
	struct survey_pool *pool = worker->pool;
	struct procedure_input input = *pool->input;
	struct code_image code = *input.code;
	struct survey_job *job;

	guard_share(pool->guard);
	code.procedures = worker->procedures;
	input.code = &code;
	while ((job = pool_begin_job(pool))) {
		struct procedure_analysis *analysis;
		int err;

		input.symbol = job->symbol;
		err = procedure_analyze(&input, &analysis);
		pool_end_job(pool, job, analysis, err);
	}
	guard_unshare();
	return NULL;
}

static size_t
cpu_count(void)
{
	cpu_set_t cpus;
	int count;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return THREADS_MAX; /* more than the set has room for */
	count = CPU_COUNT(&cpus);
	return count < THREADS_MAX ? (size_t)count : THREADS_MAX;
}

static bool
pool_start_worker(struct survey_pool *pool)
{
	const struct code_image *code = pool->input->code;
	struct survey_worker *worker = &pool->workers[pool->worker_count];

	worker->pool = pool;
	worker->procedures = procedures_new(code->file, code->symbols, code->contents);
	if (!worker->procedures)
		return false;
	if (pthread_create(&worker->thread, NULL, worker_main, worker)) {
		procedures_free(worker->procedures);
		return false;
	}
	pool->worker_count++;
	return true;
}

/* Jobs may be left that pool_take() was not called for; NULL is allowed. */
static void
pool_free(struct survey_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->ends = true;
	pthread_cond_broadcast(&pool->put);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->worker_count; i++) {
		pthread_join(pool->workers[i].thread, NULL);
		procedures_free(pool->workers[i].procedures);
	}
	for (size_t i = pool->taken_count; i < pool->begun_count; i++)
		procedure_analysis_free(pool->jobs[i % pool->capacity].analysis);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->put);
	pthread_cond_destroy(&pool->done);
	free(pool);
}

/* A thread for each CPU that this process may run on. NULL where there is one only, or none can be had. */
static struct survey_pool *
pool_new(const struct procedure_input *input)
{
	const size_t count = cpu_count();
	struct survey_pool *pool = count > 1 ? calloc(1, sizeof(*pool)) : NULL;

	if (!pool)
		return NULL;
	pool->input = input;
	pool->guard = guard_innermost();
	pool->capacity = count * AHEAD;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->put, NULL);
	pthread_cond_init(&pool->done, NULL);
	while (pool->worker_count < count && pool_start_worker(pool))
		;
	if (pool->worker_count)
		return pool;
	pool_free(pool);
	return NULL;
}

/* Only the thread that made the pool changes these two counts. */
static bool
pool_is_full(const struct survey_pool *pool)
{
	return pool->put_count - pool->taken_count == pool->capacity;
}

/* The pool must not be full. */
static void
pool_put(struct survey_pool *pool, const struct symbol *symbol)
{
	pthread_mutex_lock(&pool->lock);
	pool->jobs[pool->put_count++ % pool->capacity] = (struct survey_job){.symbol = symbol};
	pthread_cond_signal(&pool->put);
	pthread_mutex_unlock(&pool->lock);
}

/* What procedure_analyze() returned for the first that was put and not taken yet; there must be one. */
static int
pool_take(struct survey_pool *pool, struct procedure_analysis **analysis)
{
	struct survey_job *job = &pool->jobs[pool->taken_count % pool->capacity];
	int err;

	pthread_mutex_lock(&pool->lock);
	while (!job->is_done)
		pthread_cond_wait(&pool->done, &pool->lock);
	*analysis = job->analysis;
	err = job->err;
	job->analysis = NULL;
	pool->taken_count++;
	pthread_mutex_unlock(&pool->lock);
	return err;
}

/* The survey. */

/* A procedure that has samples. */
struct survey_candidate {
	const struct symbol *symbol;
	uint64_t samples; /* also of procedures that lie within it */
	bool is_put;      /* into the pool */
	bool is_cold;     /* comes last: the procedure that it was split off from includes it */
};

struct survey {
	const struct procedure_input *input;
	const struct survey_visitor *visitor;
	const struct selection_count *counts; /* of the image */
	size_t first, count;                  /* of the selection */
	bool *claimed;                        /* by count: it is in what was visited or skipped */
	struct survey_candidate *candidates;
	size_t candidate_count;
	struct survey_pool *pool; /* NULL: there is none */
	size_t put_count;         /* candidates that were put into it, or need not be */
	int answer;               /* of a visitor, if not 0 */
};

static int
find_counts(struct survey *survey)
{
	const struct selection *selection = survey->input->selection;
	const uint32_t image = survey->input->code->index;

	survey->first = code_image_first_count(selection, image, 0);
	survey->counts = selection->counts + survey->first;
	while (survey->first + survey->count < selection->count_count && survey->counts[survey->count].image == image)
		survey->count++;
	survey->claimed = calloc(survey->count + 1, sizeof(*survey->claimed));
	survey->candidates = calloc(survey->count + 1, sizeof(*survey->candidates));
	return survey->claimed && survey->candidates ? 0 : -ENOMEM;
}

/* The first count at `offset` or behind it. */
static size_t
first_count(const struct survey *survey, uint64_t offset)
{
	const struct procedure_input *input = survey->input;

	return code_image_first_count(input->selection, input->code->index, offset) - survey->first;
}

/* Samples in [start, end); those that are claimed, or those that are not. */
static uint64_t
samples_within(const struct survey *survey, uint64_t start, uint64_t end, bool claimed)
{
	uint64_t sum = 0;

	for (size_t i = first_count(survey, start); i < survey->count && survey->counts[i].offset < end; i++)
		if (survey->counts[i].event == survey->input->event && survey->claimed[i] == claimed)
			sum += survey->counts[i].count;
	return sum;
}

static void
claim(struct survey *survey, uint64_t start, uint64_t end)
{
	for (size_t i = first_count(survey, start); i < survey->count && survey->counts[i].offset < end; i++)
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
	const struct survey_candidate *one = a, *other = b;

	return (one->symbol > other->symbol) - (one->symbol < other->symbol);
}

/* A procedure comes before those that lie within it, and before its own cold part. */
static int
compare_candidates(const void *a, const void *b)
{
	const struct survey_candidate *one = a, *other = b;

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
		struct survey_candidate *candidate = &survey->candidates[i];
		const struct symbol *symbol = candidate->symbol;

		candidate->is_cold = procedures_is_split_off(symbol);
		candidate->samples = samples_within(survey, symbol->offset, symbol->offset + symbol->size, false);
	}
	if (survey->candidate_count)
		qsort(survey->candidates, survey->candidate_count, sizeof(*survey->candidates), compare_candidates);
	return skip(survey, "no procedure is known there", nowhere);
}

static const char *
skip_reason(int err)
{
	switch (err) {
	case -ENOENT:
		return CODE_IMAGE_NO_TEXT;
	case -E2BIG:
		return "it is larger than any real procedure";
	case -EINVAL:
		return "it overlaps another procedure";
	default:
		return NULL;
	}
}

/* The offsets of a part; false when the file has none for it. */
static bool
part_offsets(const struct survey *survey, const struct code_part *part, uint64_t *start, uint64_t *end)
{
	if (image_file_offset(survey->input->code->file, part->address, start))
		return false;
	*end = *start + part->size;
	return true;
}

/* Leave out the further parts that another procedure has claimed. How many are left. */
static size_t
drop_claimed_parts(const struct survey *survey, struct code_part *parts, size_t count)
{
	size_t kept = 1;

	for (size_t i = 1; i < count; i++) {
		uint64_t start, end;

		if (part_offsets(survey, &parts[i], &start, &end) && !samples_within(survey, start, end, true))
			parts[kept++] = parts[i];
	}
	return kept;
}

/* Whether another procedure has claimed samples of the analysis. */
static bool
has_claimed_samples(const struct survey *survey, const struct procedure_analysis *analysis)
{
	struct procedure_stretch stretch = {0};

	while (procedure_stretch_next(survey->input, analysis->graph, &stretch))
		if (samples_within(survey, stretch.start, stretch.end, true))
			return true;
	return false;
}

static void
claim_all(struct survey *survey, const struct procedure_analysis *analysis)
{
	struct procedure_stretch stretch = {0};

	while (procedure_stretch_next(survey->input, analysis->graph, &stretch))
		claim(survey, stretch.start, stretch.end);
}

/* Without the parts that another procedure has claimed. */
static int
analyze_without_claimed(const struct survey *survey, const struct symbol *symbol, struct procedure_analysis **analysis)
{
	struct procedure_input input = *survey->input;
	struct code_part parts[FLOW_PARTS_MAX];
	int count;

	count = procedures_parts(input.code->procedures, symbol, parts);
	if (count < 0)
		return count;
	input.symbol = symbol;
	input.parts = parts;
	input.part_count = drop_claimed_parts(survey, parts, (size_t)count);
	return procedure_analyze(&input, analysis);
}

/* Let threads work ahead on what has unclaimed samples, as far as that can be known now. */
static void
put_ahead(struct survey *survey)
{
	while (survey->pool && survey->put_count < survey->candidate_count && !pool_is_full(survey->pool)) {
		struct survey_candidate *candidate = &survey->candidates[survey->put_count++];
		const struct symbol *symbol = candidate->symbol;

		candidate->is_put = samples_within(survey, symbol->offset, symbol->offset + symbol->size, false) > 0;
		if (candidate->is_put)
			pool_put(survey->pool, symbol);
	}
}

static int
visit_candidate(struct survey *survey, const struct survey_candidate *candidate)
{
	const struct symbol *symbol = candidate->symbol;
	const uint64_t start = symbol->offset, end = symbol->offset + symbol->size;
	const uint64_t samples = samples_within(survey, start, end, false);
	const struct survey_visitor *visitor = survey->visitor;
	struct procedure_input input = *survey->input;
	struct procedure_analysis *analysis = NULL;
	int err = 0;

	input.symbol = symbol;
	if (candidate->is_put)
		err = pool_take(survey->pool, &analysis);
	else if (samples)
		err = procedure_analyze(&input, &analysis);
	if (samples && samples_within(survey, start, end, true))
		err = -EINVAL;
	if (!err && samples && has_claimed_samples(survey, analysis)) {
		procedure_analysis_free(analysis);
		err = analyze_without_claimed(survey, symbol, &analysis);
	}
	if (!err && samples) {
		survey->answer = visitor->procedure(visitor->context, &input, analysis);
		claim_all(survey, analysis);
	}
	procedure_analysis_free(analysis);
	if (!samples && err != -ENOMEM)
		return 0;
	if (!skip_reason(err))
		return err;
	claim(survey, start, end);
	return skip(survey, skip_reason(err), samples);
}

int
survey_image(const struct procedure_input *input, const struct survey_visitor *visitor)
{
	struct survey survey = {.input = input, .visitor = visitor};
	int err;

	err = find_counts(&survey);
	if (err)
		goto out;
	err = find_candidates(&survey);
	if (err)
		goto out;
	if (survey.candidate_count >= POOL_LEAST)
		survey.pool = pool_new(input);
	for (size_t i = 0; i < survey.candidate_count && !err && !survey.answer; i++) {
		put_ahead(&survey);
		err = visit_candidate(&survey, &survey.candidates[i]);
	}
out:
	pool_free(survey.pool);
	free(survey.claimed);
	free(survey.candidates);
	return err ? err : survey.answer;
}
