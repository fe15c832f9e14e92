/* What the flusher does for the capturer: see capturer.h. */
#include "collectord/capturer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "collectord/kernel_names.h"
#include "collectord/kernel_text.h"
#include "collectord/machine.h"

#define STORED_MAX   16 /* answers after one flush: each is a transaction */
#define LEARNED_MAX  64 /* images whose extent is looked up after one flush */
#define TRIES_MAX    4
#define FULL_WAIT_NS UINT64_C(600000000000)

static void
set_free(struct capture_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->entries[i].known);
	free(set->entries);
	place_table_fini(&set->places);
	free(set);
}

void
capturer_forget(struct capturer *capturer, const struct image_table *images)
{
	pthread_mutex_lock(&capturer->lock);
	for (struct capture_set **at = &capturer->sets; *at; at = &(*at)->next) {
		struct capture_set *set = *at;

		if (set->images != images)
			continue;
		*at = set->next;
		set_free(set);
		break;
	}
	pthread_mutex_unlock(&capturer->lock);
}

void
capturer_begin_database(struct capturer *capturer)
{
	pthread_mutex_lock(&capturer->lock);
	for (struct capture_set *set = capturer->sets; set; set = set->next)
		for (size_t i = 0; i < set->count; i++) {
			struct capture_entry *entry = &set->entries[i];

			free(entry->known);
			entry->known = NULL;
			entry->known_count = 0;
			entry->has_extent = entry->has_names = entry->is_outranked = false;
			entry->rounds = 0;
			entry->due_ns = 0;
			place_table_unask(&set->places, (uint32_t)i);
		}
	pthread_cond_broadcast(&capturer->changed);
	pthread_mutex_unlock(&capturer->lock);
}

static bool
is_empty(const struct captured_extent *extent)
{
	return extent->count == 0 && !extent->has_symbols && !extent->has_layout;
}

/*
 * The entry takes over what the database has of its image. Of files with one build-id, root's counts: if this is it,
 * what others gave is nothing, and taken anew.
 */
static void
take_extent(struct capture_entry *entry, struct captured_extent *extent)
{
	const enum image_kind kind = entry->image->kind;

	if (entry->is_roots && !extent->is_roots) {
		free(extent->blocks);
		memset(extent, 0, sizeof(*extent));
	}
	entry->is_outranked = kind == IMAGE_USER && extent->is_roots && !entry->is_roots;
	free(entry->known);
	entry->known = extent->blocks;
	entry->known_count = extent->count < REQUEST_KNOWN_MAX ? extent->count : REQUEST_KNOWN_MAX;
	entry->has_extent = true;
	entry->has_names = extent->has_layout && (extent->has_symbols || image_is_of_kernel(entry->image));
	memset(extent, 0, sizeof(*extent));
}

/* Look up what the database has of images that it has by now. */
static void
learn_extents(struct capturer *capturer, struct profile *profile, const struct image_table *images)
{
	/* the table itself grows meanwhile, on the event loop's thread; its images stay */
	const struct image *wanted[LEARNED_MAX];
	uint32_t numbers[LEARNED_MAX], in_database;
	size_t count = 0;
	struct capture_set *set;

	pthread_mutex_lock(&capturer->lock);
	set = capturer_find_set(capturer, images);
	for (size_t i = 0; set && i < set->count && count < LEARNED_MAX; i++)
		if (set->entries[i].is_wanted && !set->entries[i].has_extent && !set->entries[i].is_busy) {
			wanted[count] = set->entries[i].image;
			numbers[count++] = (uint32_t)i;
		}
	pthread_mutex_unlock(&capturer->lock);
	for (size_t i = 0; i < count; i++) {
		const struct image image = capturer_complete(capturer, wanted[i]);
		struct captured_extent extent;
		struct capture_entry *entry;
		uint64_t text_size = 0;

		if (profile_find_image(profile, &image, &in_database) ||
		    profile_get_extent(profile, in_database, &extent))
			continue;
		if (image.kind == IMAGE_MODULE)
			text_size = kernel_names_text_size(profile, &image);
		pthread_mutex_lock(&capturer->lock);
		entry = &set->entries[numbers[i]];
		if (!entry->is_busy) {
			entry->is_roots = image.is_roots;
			entry->text_size = text_size;
			take_extent(entry, &extent);
		}
		pthread_mutex_unlock(&capturer->lock);
		free(extent.blocks);
	}
}

static void
note_places(struct capturer *capturer, const struct image_table *images, size_t first_sum,
            const struct tally_entry *entries, size_t count)
{
	struct capture_set *set;
	uint64_t samples = 0;

	for (size_t i = 0; i < count; i++)
		samples += entries[i].event < first_sum ? entries[i].count : 0;
	pthread_mutex_lock(&capturer->lock);
	capturer_pay(capturer, samples);
	set = capturer_find_set(capturer, images);
	for (size_t i = 0; set && i < count; i++) {
		struct capture_entry *entry = entries[i].image < set->count ? &set->entries[entries[i].image] : NULL;

		if (!entry || !entry->is_wanted || entry->is_given_up || entries[i].event >= first_sum)
			continue;
		entry->samples += entries[i].count;
		if (!place_table_note(&set->places, entries[i].image, entries[i].offset))
			continue;
		if (!image_is_of_kernel(entry->image) ||
		    !kernel_text_is_known((uint32_t)(entries[i].offset / CAPTURED_BLOCK_SIZE), entry->known,
		                          entry->known_count))
			entry->fresh += entries[i].count;
	}
	pthread_cond_broadcast(&capturer->changed);
	pthread_mutex_unlock(&capturer->lock);
}

/*
 * What was asked without knowing of text that there is: names are taken again, blocks are not, lest they be there
 * twice. What is from root's file, and takes the place of what others gave, has to be whole: it is asked for again when
 * it was asked as an addition. 0, -ENOENT when the image itself is not there yet, -EDQUOT, ...
 */
static int
store(struct capturer *capturer, struct profile *profile, struct capture_result *result, struct captured_extent *extent,
      bool *is_refused)
{
	const struct image image = capturer_complete(capturer, &result->image);
	struct captured *captured = &result->outcome.reply.captured;
	uint32_t number;
	int err;

	*is_refused = false;
	err = profile_find_image(profile, &image, &number);
	if (!err && (!result->had_known || captured->owner == CAPTURED_ROOTS)) {
		bool replaces;

		err = profile_get_extent(profile, number, extent);
		replaces = !err && captured->owner == CAPTURED_ROOTS && !extent->is_roots && !is_empty(extent);
		if (replaces && !result->is_whole) {
			*is_refused = true;
			return 0;
		}
		*is_refused =
			!err && !replaces && !result->had_known && extent->count > 0 && captured->parcel_count > 0;
		free(extent->blocks);
		memset(extent, 0, sizeof(*extent));
		if (*is_refused)
			captured->parcel_count = 0;
	}
	captured->parcels = result->outcome.reply.parcels; /* it may have been copied */
	if (!err && (captured->symbols.data || captured->layout.data || captured->parcel_count > 0))
		err = profile_put_captured(profile, number, captured, capturer->options.limit);
	return err && err != -EEXIST ? err : profile_get_extent(profile, number, extent);
}

static void
note_full(struct capturer *capturer)
{
	capturer->full_until_ns = machine_clock_ns(CLOCK_MONOTONIC) + FULL_WAIT_NS;
	if (!capturer->is_full_said)
		log_write(capturer->options.log, LOG_LEVEL_WARNING,
		          "captured names and text have reached their limit: no more is taken until images without "
		          "samples have gone; capture_limit_mib in dcpid.conf raises it");
	capturer->is_full_said = true;
}

/* With the lock held. */
static void
note_stored(struct capturer *capturer, const struct capture_result *result, int err, struct captured_extent *extent,
            bool is_refused)
{
	struct capture_set *set;
	struct capture_entry *entry = capturer_find_entry(capturer, &result->image, &set);

	if (err == -EDQUOT)
		note_full(capturer);
	if (!entry)
		return;
	entry->is_busy = entry->is_answered = false;
	capturer_postpone(entry, machine_clock_ns(CLOCK_MONOTONIC));
	if (!err) {
		if (result->outcome.reply.captured.owner != CAPTURED_ANYBODYS)
			entry->is_roots = result->outcome.reply.captured.owner == CAPTURED_ROOTS;
		take_extent(entry, extent);
		/* At first sight nobody knows where samples will be: what is wanted of its text is known now. */
		if (!result->had_places && !entry->known_count)
			entry->due_ns = 0;
	}
	if (err || is_refused)
		capturer_want_again(set, entry);
	if (is_refused)
		entry->due_ns = 0;
}

/* Images are in the database before what was taken of them, but for those of the very last moments. */
static bool
is_early(const struct capture_result *result, int err)
{
	return err == -ENOENT && !result->had_extent && result->tries < TRIES_MAX;
}

static void
store_results(struct capturer *capturer, struct profile *profile)
{
	struct capture_result *list, *next, *early = NULL;
	size_t count = 0;

	pthread_mutex_lock(&capturer->lock);
	list = capturer->results;
	capturer->results = NULL;
	pthread_mutex_unlock(&capturer->lock);
	for (; list && count < STORED_MAX; list = next, count++) {
		struct captured_extent extent = {0};
		bool is_refused;
		const int err = store(capturer, profile, list, &extent, &is_refused);

		next = list->next;
		list->tries++;
		if (is_early(list, err)) {
			list->next = early;
			early = list;
			continue;
		}
		pthread_mutex_lock(&capturer->lock);
		note_stored(capturer, list, err, &extent, is_refused);
		capturer->result_bytes -= list->outcome.size;
		pthread_mutex_unlock(&capturer->lock);
		free(extent.blocks);
		capture_result_free(list);
	}
	pthread_mutex_lock(&capturer->lock);
	for (; list; list = next) { /* those that were too many, before what came meanwhile */
		next = list->next;
		list->next = early;
		early = list;
	}
	for (; early; early = next) {
		next = early->next;
		early->next = capturer->results;
		capturer->results = early;
	}
	pthread_mutex_unlock(&capturer->lock);
}

void
capturer_settle(struct capturer *capturer, struct profile *profile, const struct image_table *images, size_t first_sum,
                const struct tally_entry *entries, size_t count)
{
	uint64_t bytes = 0;

	store_results(capturer, profile);
	learn_extents(capturer, profile, images);
	note_places(capturer, images, first_sum, entries, count);
	if (profile_captured_bytes(profile, &bytes) == 0) {
		pthread_mutex_lock(&capturer->lock);
		capturer->bytes = bytes;
		pthread_mutex_unlock(&capturer->lock);
	}
}
