#include "collectord/code_namer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "collectord/machine.h"
#include "collectord/worker_thread.h"

#define SECOND_NS   UINT64_C(1000000000)
#define KEEP_NS     (60 * SECOND_NS) /* without samples, when the process has ended */
#define BLOCK_SHIFT 12

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

static void
free_named(struct code_namer *namer, struct named *named)
{
	namer->block_count -= named->blocks.count;
	namer->image_count--;
	block_set_fini(&named->blocks);
	code_namer_free_image(&named->image);
	free(named);
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

/* What was said of the image that its process had before is said: once is enough for both. */
static void
inherit_said(const struct code_namer *namer, struct named *heir)
{
	for (const struct named *named = namer->images; named; named = named->next)
		if (named->is_retired && named->image.inode == heir->image.inode) {
			heir->is_cut_said |= named->is_cut_said;
			heir->is_misunderstood_said |= named->is_misunderstood_said;
		}
}

static struct named *
ensure(struct code_namer *namer, const struct image *image)
{
	struct named *named = find(namer, image);

	if (named || namer->image_count == CODE_NAMER_IMAGES_MAX)
		return named;
	named = calloc(1, sizeof(*named));
	if (!named || code_namer_copy_image(&named->image, image)) {
		free(named);
		return NULL;
	}
	inherit_said(namer, named);
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

		if (!jit_is_image(image))
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

/* ---- the thread ---- */

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
		any |= code_namer_ask_about(namer, named);
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

/* ---- its life ---- */

static int
start_thread(struct code_namer *namer)
{
	pthread_mutex_init(&namer->lock, NULL);
	worker_condition_init(&namer->changed);
	return worker_thread_start(&namer->thread, run, namer);
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
		code_namer_free_result(result);
	}
	destroy(namer);
}
