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
#include "profile/captured.h"

#define WAIT_NS      (10 * SECOND_NS) /* between two reads of the file of an image */
#define COST_FACTOR  1000             /* the wait is at least so much longer than the last read took */
#define COST_MAX_NS  (600 * SECOND_NS)
#define KEEP_NS      (60 * SECOND_NS) /* without samples, when the process has ended */
#define FAILURES_MAX 3
#define RESULTS_MAX  ((size_t)16 << 20) /* bytes that wait for the flusher */
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

/* What is being captured, or was captured and is not stored yet. */
struct namer_result {
	struct image image; /* its path is a copy */
	struct capture_outcome outcome;
	struct namer_result *next;
};

/* A run of dcpi-capture. */
struct namer_run {
	struct namer_image *named;
	struct jit_open_file file;
	struct byte_writer request;
	struct namer_result *result;
};

struct code_namer {
	struct code_namer_options options;
	int said_error;       /* the flusher's: of the last try to store, which the log has */
	struct namer_run run; /* the thread's */

	/* the lock of options.thread: everything below */
	bool drains;  /* code_namer_drain() waits until no image is due */
	bool has_new; /* results that options.ready() was not called for */
	struct namer_image *images;
	size_t image_count, block_count;
	struct namer_result *results; /* the newest first */
	size_t result_bytes;
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
	capture_thread_notify(namer->options.thread); /* images that it has are due at a time that it knows */
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
	capture_thread_lock(namer->options.thread);
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
	capture_thread_unlock(namer->options.thread);
	free(blocks);
}

/* ---- one run of dcpi-capture; with the lock held ---- */

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
		          "functions that it reported last have no names; a new process of the program begins a new "
		          "file",
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

/* The request for all sampled blocks, and the position up to which the file was read. 0 or -errno. */
static int
encode_request(const struct namer_image *named, const struct jit_open_file *file, struct byte_writer *writer)
{
	const size_t count = named->blocks.count < REQUEST_PLACES_MAX ? named->blocks.count : REQUEST_PLACES_MAX;
	struct request_place *places = calloc(count + 1, sizeof(*places));
	struct capture_request request = {
		.image = named->image,
		.start = file->base,
		.end = named->seen,
		.names = true,
		.places = places,
		.place_count = count,
	};
	int err;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		places[i] = (struct request_place){named->blocks.blocks[i], UINT64_MAX};
	writer_reset(writer);
	err = capture_request_encode(&request, writer);
	free(places);
	return err;
}

/*
 * Start a process that reads the file of the image, if there is anything new. The lock is given up meanwhile. False:
 * there was nothing to capture.
 */
static bool
begin_image(struct code_namer *namer, struct namer_image *named, struct capture_child *child)
{
	struct capture_thread *thread = namer->options.thread;
	struct namer_run *run = &namer->run;
	struct namer_result *result = NULL;
	struct image image; /* its path is a copy */
	bool runs;
	int err;

	named->due_ns = now_ns() + WAIT_NS;
	if (copy_image(&image, &named->image))
		return false;
	run->file.fd = -1;
	capture_thread_unlock(thread);
	err = jit_files_open(namer->options.files, &image, &run->file);
	capture_thread_lock(thread);
	runs = !err && (run->file.is_changed || named->is_fresh) && named->failures < FAILURES_MAX &&
	       encode_request(named, &run->file, &run->request) == 0;
	if (runs) {
		result = calloc(1, sizeof(*result));
		runs = result != NULL;
	}
	named->is_fresh &= !runs;
	if (!runs) {
		if (run->file.fd >= 0)
			jit_files_close(namer->options.files, run->file.fd);
		free((char *)image.path);
		return false;
	}
	result->image = image;
	run->named = named;
	run->result = result;
	capture_thread_unlock(thread);
	capture_child_start(child, capture_thread_program(thread), &run->request, run->file.fd, &result->outcome);
	capture_thread_lock(thread);
	return true;
}

/* A capture_user's. */
static void
end_image(void *context, const struct capture_child *child)
{
	struct code_namer *namer = context;
	struct namer_result *result = namer->run.result;
	struct namer_image *named = namer->run.named;
	const struct capture_outcome *outcome = &result->outcome;
	uint64_t wait_ns = outcome->cpu_ns * COST_FACTOR;

	(void)child;
	jit_files_close(namer->options.files, namer->run.file.fd);
	if (wait_ns > COST_MAX_NS)
		wait_ns = COST_MAX_NS;
	if (named->due_ns > 0) /* otherwise it is to be read again at once */
		named->due_ns = now_ns() + (wait_ns > WAIT_NS ? wait_ns : WAIT_NS);
	if (outcome->error && outcome->error != CAPTURE_REUSED) {
		note_failure(namer, named, outcome->error);
		free_result(result);
		return;
	}
	named->failures = 0;
	say_lack(namer, named, &outcome->reply.lack);
	if (!named->is_retired)
		named->seen = namer->run.file.size;
	/* After reuse these names are the last of this image; without a new image, the file is read again from its
	 * start. */
	if (outcome->error == CAPTURE_REUSED && !named->is_retired) {
		named->is_retired = jit_files_renew(namer->options.files, &named->image);
		if (!named->is_retired) {
			named->seen = 0;
			named->is_fresh = true;
		}
	}
	result->next = namer->results;
	namer->results = result;
	namer->result_bytes += outcome->size;
	namer->has_new = true;
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

/* The image that is to be read first; NULL: there are none. */
static struct namer_image *
find_first(struct code_namer *namer)
{
	struct namer_image *first = namer->images;

	for (struct namer_image *named = first; named; named = named->next)
		if (named->due_ns < first->due_ns)
			first = named;
	return first;
}

/* A capture_user's: an image that is due gets a process, if its file has anything new. */
static bool
begin_due(void *context, uint64_t time_ns, struct capture_child *child, uint64_t *due_ns)
{
	struct code_namer *namer = context;
	struct namer_image *named = find_first(namer);

	if (named && named->due_ns <= time_ns && namer->result_bytes < RESULTS_MAX) {
		*due_ns = 0; /* other images may be due, too */
		return begin_image(namer, named, child);
	}
	drop_ended(namer);
	if (namer->has_new && namer->options.ready) {
		namer->has_new = false;
		capture_thread_unlock(namer->options.thread);
		namer->options.ready(namer->options.context);
		capture_thread_lock(namer->options.thread);
	}
	named = find_first(namer);
	*due_ns = named && namer->result_bytes < RESULTS_MAX ? named->due_ns : UINT64_MAX;
	if (namer->drains && !(named && named->due_ns <= time_ns)) {
		namer->drains = false;
		capture_thread_notify(namer->options.thread);
	}
	return false;
}

void
code_namer_drain(struct code_namer *namer, uint64_t timeout_ns)
{
	const uint64_t until_ns = now_ns() + timeout_ns;
	int err = 0;

	capture_thread_lock(namer->options.thread);
	namer->drains = true;
	for (struct namer_image *named = namer->images; named; named = named->next)
		named->due_ns = 0;
	capture_thread_notify(namer->options.thread);
	while (namer->drains && !err)
		err = capture_thread_wait_until(namer->options.thread, until_ns);
	capture_thread_unlock(namer->options.thread);
}

/* ---- its life ---- */

struct code_namer *
code_namer_new(const struct code_namer_options *options)
{
	struct code_namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return NULL;
	namer->options = *options;
	namer->run.request = (struct byte_writer)BYTE_WRITER_INIT;
	capture_thread_add(options->thread, &(struct capture_user){namer, begin_due, end_image});
	return namer;
}

void
code_namer_free(struct code_namer *namer)
{
	if (!namer)
		return;
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
	writer_fini(&namer->run.request);
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

	capture_thread_lock(namer->options.thread);
	newest = namer->results;
	namer->results = NULL;
	if (namer->result_bytes >= RESULTS_MAX)
		capture_thread_notify(namer->options.thread);
	namer->result_bytes = 0;
	capture_thread_unlock(namer->options.thread);
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

	capture_thread_lock(namer->options.thread);
	has_results = namer->results != NULL;
	capture_thread_unlock(namer->options.thread);
	return has_results;
}

bool
code_namer_expects_flush(struct code_namer *namer)
{
	bool expects;

	capture_thread_lock(namer->options.thread);
	expects = namer->images || namer->results;
	capture_thread_unlock(namer->options.thread);
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

	capture_thread_lock(namer->options.thread);
	for (struct namer_image *named = namer->images; named; named = named->next) {
		named->is_fresh = true;
		named->due_ns = 0;
	}
	capture_thread_notify(namer->options.thread);
	capture_thread_unlock(namer->options.thread);
}

struct flush_hook
code_namer_hook(struct code_namer *namer)
{
	return (struct flush_hook){
		.context = namer, .after = add_samples, .store = store, .begin_database = begin_database};
}
