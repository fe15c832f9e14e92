#include "analysis/survey_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/guard.h"

#define THREADS_MAX 16
#define AHEAD       4 /* procedures for each thread */

struct job {
	const struct symbol *symbol;
	struct procedure_analysis *analysis;
	int err;
	bool is_done;
};

struct worker {
	struct survey_pool *pool;
	struct procedures *procedures; /* decoders are one thread's */
	pthread_t thread;
};

struct survey_pool {
	const struct procedure_input *input;
	struct guard *guard;
	struct worker workers[THREADS_MAX];
	size_t worker_count;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t put, done;
	struct job jobs[THREADS_MAX * AHEAD]; /* a ring */
	size_t capacity;
	size_t put_count, begun_count, taken_count; /* since the beginning */
	bool ends;
};

/* The next job that nobody has begun; NULL when the pool ends. Waits. */
static struct job *
begin_job(struct survey_pool *pool)
{
	struct job *job = NULL;

	pthread_mutex_lock(&pool->lock);
	while (pool->begun_count == pool->put_count && !pool->ends)
		pthread_cond_wait(&pool->put, &pool->lock);
	if (!pool->ends)
		job = &pool->jobs[pool->begun_count++ % pool->capacity];
	pthread_mutex_unlock(&pool->lock);
	return job;
}

static void
end_job(struct survey_pool *pool, struct job *job, struct procedure_analysis *analysis, int err)
{
	pthread_mutex_lock(&pool->lock);
	job->analysis = analysis;
	job->err = err;
	job->is_done = true;
	pthread_cond_signal(&pool->done);
	pthread_mutex_unlock(&pool->lock);
}

static void *
work(void *argument)
{
	const struct worker *worker = argument;
	struct survey_pool *pool = worker->pool;
	struct procedure_input input = *pool->input;
	struct code_image code = *input.code;
	struct job *job;

	guard_share(pool->guard);
	code.procedures = worker->procedures;
	input.code = &code;
	while ((job = begin_job(pool))) {
		struct procedure_analysis *analysis;
		int err;

		input.symbol = job->symbol;
		err = procedure_analyze(&input, &analysis);
		end_job(pool, job, analysis, err);
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
start_worker(struct survey_pool *pool)
{
	const struct code_image *code = pool->input->code;
	struct worker *worker = &pool->workers[pool->worker_count];

	worker->pool = pool;
	worker->procedures = procedures_new(code->file, code->symbols, code->contents);
	if (!worker->procedures)
		return false;
	if (pthread_create(&worker->thread, NULL, work, worker)) {
		procedures_free(worker->procedures);
		return false;
	}
	pool->worker_count++;
	return true;
}

struct survey_pool *
survey_pool_new(const struct procedure_input *input)
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
	while (pool->worker_count < count && start_worker(pool))
		;
	if (pool->worker_count)
		return pool;
	survey_pool_free(pool);
	return NULL;
}

void
survey_pool_free(struct survey_pool *pool)
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

/* Only its maker changes these two counts. */
bool
survey_pool_is_full(const struct survey_pool *pool)
{
	return pool->put_count - pool->taken_count == pool->capacity;
}

void
survey_pool_put(struct survey_pool *pool, const struct symbol *symbol)
{
	pthread_mutex_lock(&pool->lock);
	pool->jobs[pool->put_count++ % pool->capacity] = (struct job){.symbol = symbol};
	pthread_cond_signal(&pool->put);
	pthread_mutex_unlock(&pool->lock);
}

int
survey_pool_take(struct survey_pool *pool, struct procedure_analysis **analysis)
{
	struct job *job = &pool->jobs[pool->taken_count % pool->capacity];
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
