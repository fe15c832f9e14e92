/* What the flusher does with the database. */
#include "collectord/flusher_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "collectord/healing.h"
#include "collectord/machine.h"
#include "process/image_table.h"
#include "profile/captured.h"

#define FILES_WAIT_NS UINT64_C(100000000) /* for build-ids, and for maps of code, that were asked for a moment ago */

/* Errors that another try on the same open files can do away with; after the others, they are opened anew. */
static bool
is_want_of_room(int err)
{
	return err == -DCPI_EFULL || err == -ENOSPC || err == -EDQUOT || err == -EFBIG || err == -ENOMEM;
}

/* Have the database that lies at its place open. When it is another, it has nothing of what the old one had. */
static int
find_database(struct flusher *flusher)
{
	int result = profile_recover(flusher->profile, flusher->error && !is_want_of_room(flusher->error));

	if (result <= 0)
		return result;
	if (!flusher->is_set_aside)
		log_write(flusher->log, LOG_LEVEL_ERROR,
		          "the database was deleted, moved away or replaced: what is sampled from now on, and what was "
		          "since the last flush, goes to the one that is in its place now");
	flusher->is_set_aside = false;
	flusher->images_written = flusher->contexts_written = 0;
	unnamed_fini(&flusher->unnamed);
	flusher_forget_files(flusher);
	if (flusher->namer)
		code_namer_begin_database(flusher->namer);
	if (flusher->capturer)
		capturer_begin_database(flusher->capturer);
	flusher->is_homeless = true;
	return 0;
}

static void
move_job(struct flusher *flusher, struct slice *slice)
{
	slice->epoch = flusher->epoch->id;
	slice->id = 0;
	flusher->is_homeless = false;
	flusher->is_late = false;
	flusher->has_moved = true;
}

/* Begin the epoch of the job in a database that has not got it, at the time of the job. */
static int
begin_again(struct flusher *flusher, struct slice *slice)
{
	int err;

	if (flusher->is_late && !flusher->is_homeless)
		move_job(flusher, slice);
	if (!flusher->is_homeless)
		return 0;
	if (!flusher->epoch || flusher->epoch->event_count == 0)
		return -ENOENT;
	flusher->epoch->start_ns = slice->start_ns;
	flusher->epoch->end_ns = slice->start_ns;
	err = profile_begin_epoch(flusher->profile, flusher->epoch);
	if (err)
		return err;
	move_job(flusher, slice);
	return 0;
}

/*
 * Code of processes that tell nothing about it has no names and will have none: it is one image for all of them. Those
 * that were written under an image of their own keep it.
 */
static void
join_nameless_code(struct flusher *flusher, const struct work *work)
{
	static const struct image nameless = {.kind = IMAGE_ANON, .path = "[anon]"};

	if (!flusher->notes)
		return;
	for (uint32_t i = flusher->images_written; flusher->namer && i < work->image_count; i++)
		if (jit_is_image(flusher->images[i]))
			code_notes_ask(flusher->notes, flusher->images[i]);
	code_notes_settle(flusher->notes, FILES_WAIT_NS);
	for (uint32_t i = flusher->images_written; i < work->image_count; i++)
		if (jit_is_image(flusher->images[i]) &&
		    (!flusher->namer || !code_notes_tells(flusher->notes, flusher->images[i])))
			flusher->images[i] = &nameless;
}

/* ---- files ---- */

void
flusher_forget_files(struct flusher *flusher)
{
	flusher->unidentified_count = 0;
}

/* Images as they are to be written: files with their build-id, if it is known. */
struct identified {
	const struct image **images; /* all that the batch has */
	struct image *copies;
	enum file_state *states;
};

static void
identified_fini(struct identified *identified)
{
	free(identified->images);
	free(identified->copies);
	free(identified->states);
}

/* Memory that has a name and holds no program is memory. */
static void
identify_one(struct flusher *flusher, const struct image *image, struct image *copy, enum file_state *state)
{
	*copy = *image;
	*state = file_ids_complete(flusher->files, copy);
	if (*state != FILE_KNOWN && image_is_memory_file(copy)) {
		image_make_memory(copy);
		*state = FILE_HAS_NONE;
	}
}

/* 0 or -ENOMEM. */
static int
identify(struct flusher *flusher, const struct image *const *images, uint32_t count, struct identified *identified)
{
	identified->images = calloc(count + 1, sizeof(*identified->images));
	identified->copies = calloc(count + 1, sizeof(*identified->copies));
	identified->states = calloc(count + 1, sizeof(*identified->states));
	if (!identified->images || !identified->copies || !identified->states) {
		identified_fini(identified);
		return -ENOMEM;
	}
	if (flusher->files && count > 0)
		file_ids_settle(flusher->files, FILES_WAIT_NS);
	for (uint32_t i = 0; i < count; i++) {
		identified->states[i] = FILE_HAS_NONE;
		identified->images[i] = images[i];
		if (!flusher->files)
			continue;
		identify_one(flusher, images[i], &identified->copies[i], &identified->states[i]);
		identified->images[i] = &identified->copies[i];
	}
	return 0;
}

/* Without memory they keep the identity of their file. */
static void
note_unidentified(struct flusher *flusher, const struct identified *identified, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *grown;

		if (identified->states[i] == FILE_KNOWN || identified->states[i] == FILE_HAS_NONE)
			continue;
		grown = array_grow(flusher->unidentified, &flusher->unidentified_capacity,
		                   flusher->unidentified_count + 1, sizeof(*grown));
		if (!grown)
			return;
		flusher->unidentified = grown;
		grown[flusher->unidentified_count++] = first + i;
	}
}

/* Images that were written under the identity of their file, and whose build-id is known by now. */
static void
identify_late(struct flusher *flusher)
{
	size_t kept = 0;

	for (size_t i = 0; i < flusher->unidentified_count; i++) {
		const uint32_t number = flusher->unidentified[i];
		struct image image = *flusher->images[number];
		const enum file_state state = file_ids_complete(flusher->files, &image);

		if (state == FILE_HAS_NONE ||
		    (state == FILE_KNOWN && profile_identify_image(flusher->profile, number, &image) == 0))
			continue;
		flusher->unidentified[kept++] = number;
	}
	flusher->unidentified_count = kept;
}

/* The names of a kernel are taken once: of those that come with the start, what it costs is the start's. */
static void
store_kernel_names(struct flusher *flusher, uint32_t first_image, uint32_t count)
{
	const bool at_start = flusher->unnamed.symbols;
	const uint64_t began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	unnamed_store(&flusher->unnamed, flusher->profile, flusher->images + first_image, first_image, count,
	              flusher->log);
	if (!at_start)
		return;
	pthread_mutex_lock(&flusher->lock);
	flusher->start_cpu_ns += machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	pthread_mutex_unlock(&flusher->lock);
}

/* Events from here on are sums of those before: their counts are no samples. */
static size_t
first_sum(const struct epoch *epoch)
{
	size_t index = 0;

	while (epoch && index < epoch->event_count && epoch_weighed_event(epoch, index) == epoch->event_count)
		index++;
	return epoch ? index : EVENTS_MAX;
}

static int
write_batch(struct flusher *flusher, struct work *work, const struct retention_options *retention)
{
	const uint32_t first_image = flusher->images_written, first_context = flusher->contexts_written;
	struct identified identified = {0};
	struct profile_batch batch = {
		.entries = work->entries,
		.entry_count = work->entry_count,
		.first_image = first_image,
		.image_count = work->image_count - first_image,
		.first_context = first_context,
		.context_count = work->context_count - first_context,
		.contexts = flusher->contexts + first_context,
		.slice = &work->job.slice,
		.start_cpu_ns = work->job.start_cpu_ns,
		.times = work->job.times.list,
		.time_count = work->job.times.count,
	};
	int err;

	join_nameless_code(flusher, work);
	err = identify(flusher, flusher->images + first_image, batch.image_count, &identified);
	if (err)
		return err;
	batch.images = identified.images;
	if (retention)
		err = retainer_flush(flusher->profile, &batch, retention, flusher->log);
	else
		err = profile_flush(flusher->profile, &batch);
	if (!err && flusher->files) {
		identify_late(flusher);
		note_unidentified(flusher, &identified, first_image, batch.image_count);
	}
	identified_fini(&identified);
	if (!err)
		store_kernel_names(flusher, first_image, batch.image_count);
	if (!err && flusher->namer) {
		code_namer_note(flusher->namer, flusher->images, work->entries, work->entry_count);
		code_namer_store(flusher->namer, flusher->profile);
	}
	if (!err && flusher->capturer)
		capturer_settle(flusher->capturer, flusher->profile, work->images, first_sum(flusher->epoch),
		                work->entries, work->entry_count);
	return err;
}

bool
flusher_heal(struct flusher *flusher, int err)
{
	if (err != -DCPI_EDAMAGED || healing_set_aside(profile_path(flusher->profile), flusher->profile, flusher->log))
		return false;
	flusher->is_set_aside = true;
	return true;
}

static int
write_where_it_belongs(struct flusher *flusher, struct work *work, const struct retention_options *retention)
{
	int err = find_database(flusher);

	if (!err)
		err = begin_again(flusher, &work->job.slice);
	return err ? err : write_batch(flusher, work, retention);
}

int
flusher_write(struct flusher *flusher, struct work *work, const struct retention_options *retention)
{
	int err;

	if (!work->entries)
		work->entries = tally_sort(work->job.tally, &work->entry_count);
	err = write_where_it_belongs(flusher, work, retention);
	return flusher_heal(flusher, err) ? write_where_it_belongs(flusher, work, retention) : err;
}

struct beginning {
	struct flusher *flusher;
	struct epoch epoch;
};

static int
begin_where_it_belongs(struct flusher *flusher, struct epoch *epoch)
{
	int err = find_database(flusher);

	return err ? err : profile_begin_epoch(flusher->profile, epoch);
}

static int
begin_epoch(struct profile *profile, void *context)
{
	struct beginning *beginning = context;
	struct flusher *flusher = beginning->flusher;
	int err;

	(void)profile;
	err = begin_where_it_belongs(flusher, &beginning->epoch);
	if (flusher_heal(flusher, err))
		err = begin_where_it_belongs(flusher, &beginning->epoch);
	if (err)
		return err;
	*flusher->epoch = beginning->epoch;
	flusher->is_homeless = false;
	flusher->is_late = false;
	return 0;
}

/* Jobs come that belong to it, whether it could be begun or not. */
static void
begin_late(struct flusher *flusher, void *context, int result)
{
	struct beginning *beginning = context;

	*flusher->epoch = beginning->epoch;
	flusher->is_homeless = result != 0;
	flusher->is_late = result == 0;
	free(beginning);
}

int
flusher_begin_epoch(struct flusher *flusher, struct epoch *epoch)
{
	struct beginning *beginning = malloc(sizeof(*beginning));
	int err;

	if (!flusher->epoch) /* for its whole life, so that nothing can fail later */
		flusher->epoch = calloc(1, sizeof(*flusher->epoch));
	if (!beginning || !flusher->epoch) {
		free(beginning);
		return -ENOMEM;
	}
	*beginning = (struct beginning){.flusher = flusher, .epoch = *epoch};
	err = flusher_call_impatiently(flusher, begin_epoch, begin_late, beginning);
	if (err == -EINPROGRESS)
		return err;
	*epoch = beginning->epoch;
	free(beginning);
	return err;
}
