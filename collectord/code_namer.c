#include "collectord/code_namer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "capture/protocol.h"
#include "collectord/capture_child.h"
#include "collectord/machine.h"
#include "collectord/sampled_blocks.h"
#include "collectord/worker.h"
#include "profile/captured.h"

#define WAIT_NS      (10 * SECOND_NS) /* between two reads of the file of an image */
#define COST_FACTOR  1000             /* the wait is at least so much longer than the last read took */
#define COST_MAX_NS  (600 * SECOND_NS)
#define KEEP_NS      (60 * SECOND_NS) /* without samples, when the process has ended */
#define FAILURES_MAX 3
#define BLOCK_SHIFT  12
#define SHOWN_SIZE   96 /* of an image's path in the log, where processes chose it */

/* An image whose process names its functions. */
struct namer_image {
	struct image image; /* its path is a copy */
	struct sampled_block_set blocks;
	bool is_fresh;                           /* there are blocks that were not requested yet */
	bool is_retired;                         /* the process has another image */
	bool is_cut_said, is_misunderstood_said; /* of its file, in the log */
	unsigned failures;
	uint64_t seen; /* how much of the file was read */
	uint64_t sampled_ns, due_ns;
	struct namer_image *next;
};

/* What was captured and is not stored yet. */
struct namer_result {
	struct image image; /* its path is a copy */
	struct capture_outcome outcome;
	struct namer_result *next;
};

struct code_namer {
	struct code_namer_options options;
	int said_error; /* the flusher's: of the last try to store, which the log has */

	struct worker_thread worker; /* its lock: everything below */
	bool drains;                 /* code_namer_drain() waits */
	struct namer_image *images;
	size_t image_count, block_count;
	struct namer_result *results; /* the newest first */
};

static uint64_t
now_ns(void)
{
	return machine_clock_ns(CLOCK_MONOTONIC);
}

/* 0 or -ENOMEM. */
static int
copy_image(struct image *to, const struct image *from)
{
	char *path = strdup(from->path);

	*to = *from;
	to->path = path;
	return path ? 0 : -ENOMEM;
}

static void
free_image(struct namer_image *named)
{
	sampled_block_set_fini(&named->blocks);
	free((char *)named->image.path);
	free(named);
}

static void
free_result(struct namer_result *result)
{
	capture_outcome_fini(&result->outcome);
	free((char *)result->image.path);
	free(result);
}

/* ---- samples ---- */

/* The image as it is known, or a new one. NULL: there are too many, or no memory. */
static struct namer_image *
ensure(struct code_namer *namer, const struct image *image)
{
	struct namer_image *made;

	for (struct namer_image *named = namer->images; named; named = named->next)
		if (named->image.inode == image->inode && named->image.inode_generation == image->inode_generation)
			return named;
	if (namer->image_count == CODE_NAMER_IMAGES_MAX)
		return NULL;
	made = calloc(1, sizeof(*made));
	if (!made || copy_image(&made->image, image)) {
		free(made);
		return NULL;
	}
	/* a complaint about the previous image of the process is not repeated */
	for (const struct namer_image *named = namer->images; named; named = named->next)
		if (named->is_retired && named->image.inode == image->inode) {
			made->is_cut_said |= named->is_cut_said;
			made->is_misunderstood_said |= named->is_misunderstood_said;
		}
	made->next = namer->images;
	namer->images = made;
	namer->image_count++;
	return made;
}

static void
add_blocks(struct code_namer *namer, const struct image *image, uint32_t *blocks, size_t count)
{
	struct namer_image *named = ensure(namer, image);
	long added;

	if (!named)
		return;
	named->sampled_ns = now_ns();
	added = sampled_block_set_add(&named->blocks, blocks, count, CODE_NAMER_BLOCKS_MAX - namer->block_count);
	if (added <= 0)
		return;
	namer->block_count += (size_t)added;
	named->is_fresh = true;
}

static void
add_samples(void *context, struct profile *profile, const struct flush *flush)
{
	struct code_namer *namer = context;
	const struct tally_entry *entries = flush->entries;
	const size_t count = flush->entry_count;
	uint32_t *blocks = NULL;
	size_t capacity = 0, block_count = 0;

	(void)profile;
	worker_lock(&namer->worker);
	for (size_t i = 0; i < count; i++) {
		const struct image *image = flush->images[entries[i].image];
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
		add_blocks(namer, image, blocks, block_count);
		block_count = 0;
	}
	worker_notify(&namer->worker);
	worker_unlock(&namer->worker);
	free(blocks);
}

/* ---- one run of dcpi-capture ---- */

/* What a run needs, copied, because the image may change while the lock is given up. */
struct namer_request {
	struct image image;
	struct jit_open_file file;
	struct request_place *places;
	size_t place_count;
	uint64_t seen;
};

/* The places and the position in the file. 0 or -ENOMEM. */
static int
fill_request(const struct namer_image *named, struct namer_request *request)
{
	const size_t count = named->blocks.count < REQUEST_PLACES_MAX ? named->blocks.count : REQUEST_PLACES_MAX;

	request->places = calloc(count + 1, sizeof(*request->places));
	if (!request->places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		request->places[i] = (struct request_place){named->blocks.blocks[i], UINT64_MAX};
	request->place_count = count;
	request->seen = named->seen;
	return 0;
}

/* Without the lock. */
static void
run_capture(const struct code_namer *namer, const struct namer_request *wanted, struct capture_outcome *outcome)
{
	const struct capture_request request = {
		.image = wanted->image,
		.start = wanted->file.base,
		.end = wanted->seen,
		.names = true,
		.places = wanted->places,
		.place_count = wanted->place_count,
	};
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err = capture_request_encode(&request, &writer);

	memset(outcome, 0, sizeof(*outcome));
	if (err)
		outcome->error = err;
	else
		capture_child_run_with_file(namer->options.program, &writer, wanted->file.fd, namer->worker.stop_bell,
		                            outcome);
	writer_fini(&writer);
}

static void
note_failure(struct code_namer *namer, struct namer_image *named, int err)
{
	char shown[SHOWN_SIZE];

	named->failures = err == -ETIMEDOUT ? FAILURES_MAX : named->failures + 1;
	if (err != -ECANCELED && named->failures == FAILURES_MAX)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: what it tells of its code cannot be read: %s",
		          escape_text(named->image.path, shown, sizeof(shown)), (unsigned long long)named->image.inode,
		          error_text(err));
}

/* Each complaint once, and not whenever the file is read again. */
static void
say_lack(struct code_namer *namer, struct namer_image *named, const struct capture_lack *lack)
{
	char shown[SHOWN_SIZE];

	escape_text(named->image.path, shown, sizeof(shown));
	if (lack->is_cut && !named->is_cut_said)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: it tells more of its code than is read (dcpid(8) has the limits): "
		          "functions that it told last have no names; a new process of the program begins a new file",
		          shown, (unsigned long long)named->image.inode);
	if (lack->misunderstood && !named->is_misunderstood_said)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: what it tells of its code has lines or records that make no sense "
		          "(%llu), which are left out (a jitdump ends there): functions may lack names; look into its "
		          "perf-PID.map or jit-PID.dump",
		          shown, (unsigned long long)named->image.inode, (unsigned long long)lack->misunderstood);
	named->is_cut_said |= lack->is_cut;
	named->is_misunderstood_said |= lack->misunderstood > 0;
}

/* With the lock held. Takes the outcome over. */
static void
take_outcome(struct code_namer *namer, struct namer_image *named, const struct namer_request *request,
             struct capture_outcome *outcome)
{
	const bool is_reused = outcome->error == CAPTURE_REUSED;
	uint64_t wait_ns = outcome->cpu_ns * COST_FACTOR;
	struct namer_result *result;

	if (wait_ns > COST_MAX_NS)
		wait_ns = COST_MAX_NS;
	named->due_ns = now_ns() + (wait_ns > WAIT_NS ? wait_ns : WAIT_NS);
	result = outcome->error && !is_reused ? NULL : calloc(1, sizeof(*result));
	if (!result || copy_image(&result->image, &named->image)) {
		note_failure(namer, named, outcome->error ? outcome->error : -ENOMEM);
		capture_outcome_fini(outcome);
		free(result);
		return;
	}
	named->failures = 0;
	say_lack(namer, named, &outcome->reply.lack);
	if (!named->is_retired)
		named->seen = request->file.size;
	/* After reuse these names are the last of this image; without a new image, the file is read again from its
	 * start. */
	if (is_reused && !named->is_retired) {
		named->is_retired = jit_files_renew(namer->options.files, &named->image);
		if (!named->is_retired) {
			named->seen = 0;
			named->is_fresh = true;
		}
	}
	result->outcome = *outcome;
	result->outcome.reply.captured.parcels = result->outcome.reply.parcels; /* it points into itself */
	result->next = namer->results;
	namer->results = result;
}

/* With the lock held, which is given up meanwhile. False: there was nothing to capture. */
static bool
capture_image(struct code_namer *namer, struct namer_image *named)
{
	struct namer_request request = {.file = {.fd = -1}};
	struct capture_outcome outcome;
	bool runs;
	int err;

	named->due_ns = now_ns() + WAIT_NS;
	if (copy_image(&request.image, &named->image))
		return false;
	worker_unlock(&namer->worker);
	err = jit_files_open(namer->options.files, &request.image, &request.file);
	worker_lock(&namer->worker);
	runs = !err && (request.file.is_changed || named->is_fresh) && named->failures < FAILURES_MAX;
	if (runs)
		runs = fill_request(named, &request) == 0;
	named->is_fresh &= !runs;
	if (runs) {
		worker_unlock(&namer->worker);
		run_capture(namer, &request, &outcome);
		worker_lock(&namer->worker);
		take_outcome(namer, named, &request, &outcome);
	}
	if (request.file.fd >= 0)
		jit_files_close(namer->options.files, request.file.fd);
	free(request.places);
	free((char *)request.image.path);
	return runs;
}

/* ---- the thread; with the lock held ---- */

static void
drop_ended(struct code_namer *namer)
{
	const uint64_t time_ns = now_ns();

	for (struct namer_image **at = &namer->images; *at;) {
		struct namer_image *named = *at;

		if (time_ns - named->sampled_ns < KEEP_NS || jit_files_is_alive(namer->options.files, &named->image)) {
			at = &named->next;
			continue;
		}
		*at = named->next;
		namer->block_count -= named->blocks.count;
		namer->image_count--;
		free_image(named);
	}
}

static struct namer_image *
find_due(struct code_namer *namer, uint64_t time_ns)
{
	for (struct namer_image *named = namer->images; named; named = named->next)
		if (named->due_ns <= time_ns)
			return named;
	return NULL;
}

/* Capture all images that are due, or all there are for code_namer_drain(). */
static void
capture_due(struct code_namer *namer)
{
	const uint64_t time_ns = now_ns();
	struct namer_image *named;
	bool any = false;

	for (named = namer->images; namer->drains && named; named = named->next)
		named->due_ns = 0;
	/* a captured image is due later, so that each is captured once */
	for (size_t count = 0; count < CODE_NAMER_IMAGES_MAX && !namer->worker.stop; count++) {
		named = find_due(namer, namer->drains ? 0 : time_ns);
		if (!named)
			break;
		any |= capture_image(namer, named);
	}
	drop_ended(namer);
	if (!any || !namer->options.ready)
		return;
	worker_unlock(&namer->worker);
	namer->options.ready(namer->options.context);
	worker_lock(&namer->worker);
}

/* Wait for a change, or until the next image is due. */
static void
wait_for_due(struct code_namer *namer)
{
	uint64_t until_ns = UINT64_MAX;

	for (const struct namer_image *named = namer->images; named; named = named->next)
		if (named->due_ns < until_ns)
			until_ns = named->due_ns;
	if (namer->images)
		(void)worker_wait_until(&namer->worker, until_ns);
	else
		worker_wait(&namer->worker);
}

static void *
run(void *context)
{
	struct code_namer *namer = context;

	worker_lock(&namer->worker);
	while (!namer->worker.stop) {
		const bool drains = namer->drains;

		capture_due(namer);
		if (drains) {
			namer->drains = false;
			worker_notify(&namer->worker);
		}
		if (!namer->worker.stop && !namer->drains)
			wait_for_due(namer);
	}
	worker_unlock(&namer->worker);
	return NULL;
}

void
code_namer_drain(struct code_namer *namer, uint64_t timeout_ns)
{
	const uint64_t until_ns = now_ns() + timeout_ns;
	int err = 0;

	worker_lock(&namer->worker);
	namer->drains = true;
	worker_notify(&namer->worker);
	while (namer->drains && !err)
		err = worker_wait_until(&namer->worker, until_ns);
	worker_unlock(&namer->worker);
}

/* ---- its life ---- */

struct code_namer *
code_namer_new(const struct code_namer_options *options)
{
	struct code_namer *namer = calloc(1, sizeof(*namer));
	int err;

	if (!namer)
		return NULL;
	namer->options = *options;
	err = worker_start(&namer->worker, run, namer);
	if (!err)
		return namer;
	free(namer);
	errno = -err;
	return NULL;
}

void
code_namer_stop(struct code_namer *namer)
{
	worker_stop(&namer->worker);
}

void
code_namer_free(struct code_namer *namer)
{
	if (!namer)
		return;
	code_namer_stop(namer);
	while (namer->images) {
		struct namer_image *named = namer->images;

		namer->images = named->next;
		free_image(named);
	}
	while (namer->results) {
		struct namer_result *result = namer->results;

		namer->results = result->next;
		free_result(result);
	}
	worker_fini(&namer->worker);
	free(namer);
}

/* ---- the database ---- */

static void
store_result(struct code_namer *namer, struct profile *profile, const struct namer_result *result)
{
	char shown[SHOWN_SIZE];
	uint32_t number;
	int err = profile_find_image(profile, &result->image, &number);

	if (!err)
		err = profile_put_captured(profile, number, &result->outcome.reply.captured, namer->options.limit);
	if (err && err != -ENOENT && err != namer->said_error)
		log_write(namer->options.log, LOG_LEVEL_WARNING,
		          "%s of process %llu: its functions stay without names: %s",
		          escape_text(result->image.path, shown, sizeof(shown)),
		          (unsigned long long)result->image.inode, error_text(err));
	namer->said_error = err;
}

void
code_namer_store(struct code_namer *namer, struct profile *profile)
{
	struct namer_result *newest, *oldest = NULL, *next;

	worker_lock(&namer->worker);
	newest = namer->results;
	namer->results = NULL;
	worker_unlock(&namer->worker);
	/* the oldest first: a later result replaces an earlier one */
	for (; newest; newest = next) {
		next = newest->next;
		newest->next = oldest;
		oldest = newest;
	}
	for (; oldest; oldest = next) {
		next = oldest->next;
		store_result(namer, profile, oldest);
		free_result(oldest);
	}
}

bool
code_namer_has_results(struct code_namer *namer)
{
	bool has_results;

	worker_lock(&namer->worker);
	has_results = namer->results != NULL;
	worker_unlock(&namer->worker);
	return has_results;
}

bool
code_namer_expects_flush(struct code_namer *namer)
{
	bool expects;

	worker_lock(&namer->worker);
	expects = namer->images || namer->results;
	worker_unlock(&namer->worker);
	return expects;
}

/* ---- the flusher's hook ---- */

static void
store(void *context, struct profile *profile)
{
	code_namer_store(context, profile);
}

/* Everything must be captured again. */
static void
begin_database(void *context)
{
	struct code_namer *namer = context;

	worker_lock(&namer->worker);
	for (struct namer_image *named = namer->images; named; named = named->next) {
		named->is_fresh = true;
		named->due_ns = 0;
	}
	worker_unlock(&namer->worker);
}

struct flush_hook
code_namer_hook(struct code_namer *namer)
{
	return (struct flush_hook){
		.context = namer, .after = add_samples, .store = store, .begin_database = begin_database};
}
