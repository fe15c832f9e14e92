#include "collectord/code_namer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/grow.h"
#include "capture/protocol.h"
#include "collectord/block_set.h"
#include "collectord/capture_child.h"
#include "collectord/machine.h"

#define SECOND_NS    UINT64_C(1000000000)
#define WAIT_NS      (10 * SECOND_NS)
#define COST_FACTOR  1000 /* so much longer than it took is waited */
#define COST_MAX_NS  (600 * SECOND_NS)
#define KEEP_NS      (60 * SECOND_NS) /* without samples, when the process has ended */
#define BLOCK_SHIFT  12
#define FAILURES_MAX 3

struct named {
	struct image image; /* its path is a copy */
	struct block_set blocks;
	bool is_fresh;   /* blocks that nobody asked about */
	bool is_retired; /* the process has another image */
	unsigned failures;
	uint64_t seen; /* how much of the file was read */
	uint64_t noted_ns, due_ns;
	struct named *next;
};

struct result {
	struct image image; /* its path is a copy */
	struct capture_outcome outcome;
	struct result *next;
};

struct code_namer {
	struct code_namer_options options;
	pthread_t thread;
	int stop_bell;
	bool is_stopped; /* the owner's */
	int said_error;  /* the flusher's: of the last try to store, which the log has */

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t changed;
	bool stop, hurry;
	struct named *images;
	size_t image_count, block_count;
	struct result *results; /* the newest first */
};

/* A question, with copies of all that may change meanwhile. */
struct question {
	struct image image;
	struct code_note note;
	struct request_place *places;
	size_t place_count;
	uint64_t seen;
};

static uint64_t
now_ns(void)
{
	return machine_clock_ns(CLOCK_MONOTONIC);
}

static bool
is_same(const struct image *a, const struct image *b)
{
	return a->inode == b->inode && a->inode_generation == b->inode_generation;
}

static int
copy_image(struct image *to, const struct image *from)
{
	char *path = strdup(from->path);

	*to = *from;
	to->path = path;
	return path ? 0 : -ENOMEM;
}

static void
free_image(struct image *image)
{
	free((char *)image->path);
}

static void
free_named(struct code_namer *namer, struct named *named)
{
	namer->block_count -= named->blocks.count;
	namer->image_count--;
	block_set_fini(&named->blocks);
	free_image(&named->image);
	free(named);
}

static void
free_result(struct result *result)
{
	capture_outcome_fini(&result->outcome);
	free_image(&result->image);
	free(result);
}

/* ---- what was sampled ---- */

static struct named *
find(struct code_namer *namer, const struct image *image)
{
	for (struct named *named = namer->images; named; named = named->next)
		if (is_same(&named->image, image))
			return named;
	return NULL;
}

static struct named *
ensure(struct code_namer *namer, const struct image *image)
{
	struct named *named = find(namer, image);

	if (named || namer->image_count == CODE_NAMER_IMAGES_MAX)
		return named;
	named = calloc(1, sizeof(*named));
	if (!named || copy_image(&named->image, image)) {
		free(named);
		return NULL;
	}
	named->next = namer->images;
	namer->images = named;
	namer->image_count++;
	return named;
}

static void
note_blocks(struct code_namer *namer, const struct image *image, uint32_t *blocks, size_t count)
{
	struct named *named = ensure(namer, image);
	long added;

	if (!named)
		return;
	named->noted_ns = now_ns();
	added = block_set_add(&named->blocks, blocks, count, CODE_NAMER_BLOCKS_MAX - namer->block_count);
	if (added <= 0)
		return;
	namer->block_count += (size_t)added;
	named->is_fresh = true;
}

void
code_namer_note(struct code_namer *namer, const struct image *const *images, const struct tally_entry *entries,
                size_t count)
{
	uint32_t *blocks = NULL;
	size_t capacity = 0, block_count = 0;

	pthread_mutex_lock(&namer->lock);
	for (size_t i = 0; i < count; i++) {
		const struct image *image = images[entries[i].image];
		const uint32_t block = (uint32_t)(entries[i].offset >> BLOCK_SHIFT);
		uint32_t *grown;

		if (!code_maker_is_image(image))
			continue;
		if (block_count == 0 || blocks[block_count - 1] != block) {
			grown = array_grow(blocks, &capacity, block_count + 1, sizeof(*grown));
			if (!grown)
				break;
			blocks = grown;
			blocks[block_count++] = block;
		}
		if (i + 1 < count && entries[i + 1].image == entries[i].image)
			continue;
		note_blocks(namer, image, blocks, block_count);
		block_count = 0;
	}
	pthread_cond_broadcast(&namer->changed);
	pthread_mutex_unlock(&namer->lock);
	free(blocks);
}

/* ---- asking ---- */

static int
make_question(const struct named *named, struct question *question)
{
	const size_t count = named->blocks.count < REQUEST_PLACES_MAX ? named->blocks.count : REQUEST_PLACES_MAX;

	if (copy_image(&question->image, &named->image))
		return -ENOMEM;
	question->places = calloc(count + 1, sizeof(*question->places));
	if (!question->places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		question->places[i] = (struct request_place){named->blocks.blocks[i], UINT64_MAX};
	question->place_count = count;
	question->seen = named->seen;
	return 0;
}

static void
question_fini(struct question *question)
{
	if (question->note.fd >= 0)
		close(question->note.fd);
	free(question->places);
	free_image(&question->image);
}

/* Without the lock. */
static void
ask(const struct code_namer *namer, const struct question *question, struct capture_outcome *outcome)
{
	const struct capture_request request = {
		.image = question->image,
		.start = question->note.base,
		.end = question->seen,
		.names = true,
		.places = question->places,
		.place_count = question->place_count,
	};
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err = capture_request_encode(&request, &writer);

	memset(outcome, 0, sizeof(*outcome));
	if (err)
		outcome->error = err;
	else
		capture_child_run_with(namer->options.program, &writer, question->note.fd, namer->stop_bell, outcome);
	writer_fini(&writer);
}

/* Memory was used again: the names are the last that this image gets, or those of what is there now from now on. */
static void
settle_reuse(struct code_namer *namer, struct named *named)
{
	if (named->is_retired)
		return;
	named->is_retired = code_notes_renew(namer->options.notes, &named->image);
	if (named->is_retired)
		return;
	named->seen = 0;
	named->is_fresh = true; /* to be asked about again */
}

static void
fail(struct code_namer *namer, struct named *named, int err)
{
	named->failures++;
	if (err != -ECANCELED && named->failures == FAILURES_MAX)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: what it tells of its code cannot be read: %s", named->image.path,
		          (unsigned long long)named->image.inode, error_text(err));
}

/* With the lock held. */
static void
take_answer(struct code_namer *namer, struct named *named, const struct question *question,
            struct capture_outcome *outcome)
{
	const bool is_reused = outcome->error == CAPTURE_REUSED;
	uint64_t wait_ns = outcome->cpu_ns * COST_FACTOR;
	struct result *result;

	if (wait_ns > COST_MAX_NS)
		wait_ns = COST_MAX_NS;
	named->due_ns = now_ns() + (wait_ns > WAIT_NS ? wait_ns : WAIT_NS);
	result = outcome->error && !is_reused ? NULL : calloc(1, sizeof(*result));
	if (!result || copy_image(&result->image, &named->image)) {
		fail(namer, named, outcome->error ? outcome->error : -ENOMEM);
		capture_outcome_fini(outcome);
		free(result);
		return;
	}
	named->failures = 0;
	if (!named->is_retired)
		named->seen = question->note.size;
	if (is_reused)
		settle_reuse(namer, named);
	result->outcome = *outcome;
	result->outcome.reply.captured.parcels = result->outcome.reply.parcels; /* it points into itself */
	result->next = namer->results;
	namer->results = result;
}

/* With the lock held, which is given up meanwhile. False: there was nothing to ask. */
static bool
ask_about(struct code_namer *namer, struct named *named)
{
	struct question question = {.note = {.fd = -1}, .seen = named->seen};
	struct capture_outcome outcome;
	bool asks = false;

	named->due_ns = now_ns() + WAIT_NS;
	if (code_notes_open(namer->options.notes, &named->image, &question.note) == 0)
		asks = (question.note.is_changed || named->is_fresh) && named->failures < FAILURES_MAX;
	if (asks)
		asks = make_question(named, &question) == 0;
	named->is_fresh &= !asks;
	if (asks) {
		pthread_mutex_unlock(&namer->lock);
		ask(namer, &question, &outcome);
		pthread_mutex_lock(&namer->lock);
		take_answer(namer, named, &question, &outcome);
	}
	question_fini(&question);
	return asks;
}

/* Of processes that have ended, or have another image, and will have no samples any more. */
static void
forget_ended(struct code_namer *namer)
{
	const uint64_t time_ns = now_ns();

	for (struct named **at = &namer->images; *at;) {
		struct named *named = *at;

		if (time_ns - named->noted_ns < KEEP_NS || code_notes_lives(namer->options.notes, &named->image)) {
			at = &named->next;
			continue;
		}
		*at = named->next;
		free_named(namer, named);
	}
}

static struct named *
find_due(struct code_namer *namer, uint64_t time_ns)
{
	for (struct named *named = namer->images; named; named = named->next)
		if (named->due_ns <= time_ns)
			return named;
	return NULL;
}

static void
ask_all(struct code_namer *namer)
{
	const uint64_t time_ns = namer->hurry ? UINT64_MAX : now_ns();
	bool any = false;
	size_t count = 0;

	/* each once: asked about, its time is later */
	for (struct named *named = namer->images; namer->hurry && named; named = named->next)
		named->due_ns = 0;
	for (struct named *named;
	     !namer->stop && count < CODE_NAMER_IMAGES_MAX && (named = find_due(namer, namer->hurry ? 0 : time_ns));
	     count++)
		any |= ask_about(namer, named);
	forget_ended(namer);
	if (!any || !namer->options.ready)
		return;
	pthread_mutex_unlock(&namer->lock);
	namer->options.ready(namer->options.context);
	pthread_mutex_lock(&namer->lock);
}

/* Until somebody says something, or the next image is due. */
static void
sleep_a_while(struct code_namer *namer)
{
	uint64_t until_ns = UINT64_MAX;
	struct timespec until;

	for (const struct named *named = namer->images; named; named = named->next)
		if (named->due_ns < until_ns)
			until_ns = named->due_ns;
	until = (struct timespec){(time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS)};
	if (namer->images)
		pthread_cond_timedwait(&namer->changed, &namer->lock, &until);
	else
		pthread_cond_wait(&namer->changed, &namer->lock);
}

static void *
run(void *context)
{
	struct code_namer *namer = context;

	pthread_mutex_lock(&namer->lock);
	while (!namer->stop) {
		const bool hurries = namer->hurry;

		ask_all(namer);
		if (hurries) {
			namer->hurry = false;
			pthread_cond_broadcast(&namer->changed);
		}
		if (!namer->stop && !namer->hurry)
			sleep_a_while(namer);
	}
	pthread_mutex_unlock(&namer->lock);
	return NULL;
}

void
code_namer_hurry(struct code_namer *namer, uint64_t timeout_ns)
{
	const uint64_t until_ns = now_ns() + timeout_ns;
	const struct timespec until = {(time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS)};
	int err = 0;

	pthread_mutex_lock(&namer->lock);
	namer->hurry = true;
	pthread_cond_broadcast(&namer->changed);
	while (namer->hurry && !err)
		err = pthread_cond_timedwait(&namer->changed, &namer->lock, &until);
	pthread_mutex_unlock(&namer->lock);
}

/* ---- storing ---- */

static void
store_one(struct code_namer *namer, struct profile *profile, const struct result *result)
{
	uint32_t number;
	int err = profile_find_image(profile, &result->image, &number);

	if (!err)
		err = profile_put_captured(profile, number, &result->outcome.reply.captured, namer->options.limit);
	if (err && err != -ENOENT && err != namer->said_error)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: its functions stay without names: %s", result->image.path,
		          (unsigned long long)result->image.inode, error_text(err));
	namer->said_error = err;
}

/* The oldest first: what was taken later takes its place. */
static struct result *
reverse(struct result *results)
{
	struct result *oldest = NULL, *next;

	for (; results; results = next) {
		next = results->next;
		results->next = oldest;
		oldest = results;
	}
	return oldest;
}

void
code_namer_store(struct code_namer *namer, struct profile *profile)
{
	struct result *results, *next;

	pthread_mutex_lock(&namer->lock);
	results = reverse(namer->results);
	namer->results = NULL;
	pthread_mutex_unlock(&namer->lock);
	for (; results; results = next) {
		next = results->next;
		store_one(namer, profile, results);
		free_result(results);
	}
}

bool
code_namer_wants_store(struct code_namer *namer)
{
	bool wants;

	pthread_mutex_lock(&namer->lock);
	wants = namer->results != NULL;
	pthread_mutex_unlock(&namer->lock);
	return wants;
}

void
code_namer_begin_database(struct code_namer *namer)
{
	pthread_mutex_lock(&namer->lock);
	for (struct named *named = namer->images; named; named = named->next) {
		named->is_fresh = true;
		named->due_ns = 0;
	}
	pthread_mutex_unlock(&namer->lock);
}

/* ---- its life ---- */

static int
start_thread(struct code_namer *namer)
{
	pthread_condattr_t monotonic;
	sigset_t all, before;
	int err;

	pthread_mutex_init(&namer->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&namer->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the event loop's */
	err = pthread_create(&namer->thread, NULL, run, namer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

static void
destroy(struct code_namer *namer)
{
	pthread_mutex_destroy(&namer->lock);
	pthread_cond_destroy(&namer->changed);
	close(namer->stop_bell);
	free(namer);
}

struct code_namer *
code_namer_new(const struct code_namer_options *options)
{
	struct code_namer *namer = calloc(1, sizeof(*namer));
	int err;

	if (!namer)
		return NULL;
	namer->options = *options;
	namer->stop_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (namer->stop_bell < 0) {
		free(namer);
		return NULL;
	}
	err = start_thread(namer);
	if (!err)
		return namer;
	destroy(namer);
	errno = err;
	return NULL;
}

/* A process that nobody waits for any more ends at once; should the bell fail, it has its minute. */
static void
ring_stop_bell(const struct code_namer *namer)
{
	const uint64_t one = 1;

	if (write(namer->stop_bell, &one, sizeof(one)) < 0)
		return;
}

void
code_namer_stop(struct code_namer *namer)
{
	if (namer->is_stopped)
		return;
	pthread_mutex_lock(&namer->lock);
	namer->stop = true;
	pthread_cond_broadcast(&namer->changed);
	pthread_mutex_unlock(&namer->lock);
	ring_stop_bell(namer);
	pthread_join(namer->thread, NULL);
	namer->is_stopped = true;
}

void
code_namer_free(struct code_namer *namer)
{
	struct result *next;

	if (!namer)
		return;
	code_namer_stop(namer);
	while (namer->images) {
		struct named *named = namer->images;

		namer->images = named->next;
		free_named(namer, named);
	}
	for (struct result *result = namer->results; result; result = next) {
		next = result->next;
		free_result(result);
	}
	destroy(namer);
}
