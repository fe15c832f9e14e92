/* What the flusher does with the database. */
#include "collectord/flusher_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectord/healing.h"

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
	code_notes_look(flusher->notes);
	for (uint32_t i = flusher->images_written; i < work->image_count; i++)
		if (code_maker_is_image(flusher->images[i]) &&
		    (!flusher->namer || !code_notes_tells(flusher->notes, flusher->images[i])))
			flusher->images[i] = &nameless;
}

static int
write_batch(struct flusher *flusher, struct work *work, const struct retention_options *retention)
{
	const uint32_t first_image = flusher->images_written, first_context = flusher->contexts_written;
	const struct profile_batch batch = {
		.entries = work->entries,
		.entry_count = work->entry_count,
		.first_image = first_image,
		.image_count = work->image_count - first_image,
		.images = flusher->images + first_image,
		.first_context = first_context,
		.context_count = work->context_count - first_context,
		.contexts = flusher->contexts + first_context,
		.slice = &work->job.slice,
	};
	int err;

	join_nameless_code(flusher, work);
	if (retention)
		err = retainer_flush(flusher->profile, &batch, retention, flusher->log);
	else
		err = profile_flush(flusher->profile, &batch);
	if (!err)
		unnamed_store(&flusher->unnamed, flusher->profile, batch.images, first_image, batch.image_count,
		              flusher->log);
	if (!err && flusher->namer) {
		code_namer_note(flusher->namer, flusher->images, work->entries, work->entry_count);
		code_namer_store(flusher->namer, flusher->profile);
	}
	if (!err && flusher->capturer)
		capturer_settle(flusher->capturer, flusher->profile, work->images, work->entries, work->entry_count);
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
