/* Epochs, slices, images and contexts into the new database, and names for those that were lost: see salvage_parts.h.
 */
#include "profile/salvage_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/identity.h"
#include "profile/records.h"

#define LOST_MAX 4096 /* things of a kind that get a name each */

/* A lost one gets a place among the others, by which it is found again. */
static int
remember_lost(struct salvage_things *things, uint32_t id, uint32_t number)
{
	things->lost_count++;
	struct salvage_thing *grown = array_grow(things->things, &things->capacity, things->count + 1, sizeof(*grown));
	size_t at = things->count;

	if (!grown)
		return -ENOMEM;
	things->things = grown;
	while (at > 0 && grown[at - 1].id > id)
		at--;
	memmove(&grown[at + 1], &grown[at], (things->count - at) * sizeof(*grown));
	grown[at] = (struct salvage_thing){.id = id, .number = number};
	things->count++;
	return 0;
}

/* So many that they are rather a hostile file's: they share one name from here on. */
static bool
is_crowded(const struct salvage_things *things)
{
	return things->lost_count >= LOST_MAX;
}

static void
name_lost(const struct salvage_things *things, uint32_t id, char *name, size_t size)
{
	if (is_crowded(things))
		snprintf(name, size, "[lost]");
	else
		snprintf(name, size, "[lost %" PRIu32 "]", id);
}

int
salvage_image(struct salvage *salvage, uint32_t id, uint32_t *number)
{
	const struct salvage_thing *thing = salvage_things_find(&salvage->things[TABLE_IMAGES], id);
	char name[32];
	const struct image lost = {.kind = IMAGE_UNKNOWN, .path = name};
	int err;

	if (thing) {
		*number = thing->number;
		return 0;
	}
	name_lost(&salvage->things[TABLE_IMAGES], id, name, sizeof(name));
	err = identity_intern_image(&salvage->profile->store, salvage->txn, &lost, number);
	if (err || is_crowded(&salvage->things[TABLE_IMAGES]))
		return err;
	return remember_lost(&salvage->things[TABLE_IMAGES], id, *number);
}

int
salvage_context(struct salvage *salvage, uint32_t id, uint32_t *number)
{
	const struct salvage_thing *thing = salvage_things_find(&salvage->things[TABLE_CONTEXTS], id);
	char name[COMM_SIZE];
	const struct context lost = {.comm = name, .cgroup = "", .label = ""};
	int err;

	if (thing) {
		*number = thing->number;
		return 0;
	}
	name_lost(&salvage->things[TABLE_CONTEXTS], id, name, sizeof(name));
	err = identity_intern_context(&salvage->profile->store, salvage->txn, &lost, number);
	if (err || is_crowded(&salvage->things[TABLE_CONTEXTS]))
		return err;
	return remember_lost(&salvage->things[TABLE_CONTEXTS], id, *number);
}

static int
put_images(struct salvage *salvage)
{
	struct salvage_things *things = &salvage->things[TABLE_IMAGES];
	struct image_record record;
	int err = 0;

	for (size_t i = 0; i < things->count && !err; i++) {
		struct salvage_thing *thing = &things->things[i];

		err = salvage_step(salvage);
		if (!err)
			err = image_decode(thing->value, thing->size, &record);
		if (!err)
			err = identity_intern_image(&salvage->profile->store, salvage->txn, &record.image,
			                            &thing->number);
		if (!err && record.has_roots_names)
			err = identity_set_roots_names(&salvage->profile->store, salvage->txn, thing->number);
	}
	salvage->result->images.kept = things->count;
	return err;
}

static int
put_contexts(struct salvage *salvage)
{
	struct salvage_things *things = &salvage->things[TABLE_CONTEXTS];
	struct context_record record;
	int err = 0;

	for (size_t i = 0; i < things->count && !err; i++) {
		struct salvage_thing *thing = &things->things[i];

		err = salvage_step(salvage);
		if (!err)
			err = context_decode(thing->value, thing->size, &record);
		if (!err)
			err = identity_intern_context(&salvage->profile->store, salvage->txn, &record.context,
			                              &thing->number);
	}
	salvage->result->contexts.kept = things->count;
	return err;
}

static int
put_epoch(struct salvage *salvage, const struct epoch *epoch)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err = salvage_step(salvage);

	epoch_encode(epoch, &writer);
	if (!err)
		err = store_put(&salvage->profile->store, salvage->txn, TABLE_EPOCHS, epoch->id, &writer);
	writer_fini(&writer);
	return err;
}

static int
put_epochs(struct salvage *salvage)
{
	const struct salvage_things *things = &salvage->things[TABLE_EPOCHS];
	struct epoch epoch;
	int err = 0;

	for (size_t i = 0; i < things->count && !err; i++) {
		err = epoch_decode(things->things[i].id, things->things[i].value, things->things[i].size, &epoch);
		if (!err)
			err = put_epoch(salvage, &epoch);
	}
	salvage->result->epochs.kept = things->count;
	return err;
}

/* What its slices say of a lost epoch. */
static int
put_lost_epoch(struct salvage *salvage, const struct slice *slice)
{
	struct epoch epoch = {
		.id = slice->epoch,
		.start_ns = slice->start_ns,
		.label = "salvaged",
		.event_count = slice->event_count,
	};
	int err;

	for (size_t i = 0; i < salvage->slice_count; i++)
		if (salvage->slices[i].slice.epoch == epoch.id && salvage->slices[i].slice.end_ns > epoch.end_ns)
			epoch.end_ns = salvage->slices[i].slice.end_ns;
	for (size_t i = 0; i < epoch.event_count; i++) {
		snprintf(epoch.events[i].name, sizeof(epoch.events[i].name), "lost-%zu", i + 1);
		snprintf(epoch.events[i].requested, sizeof(epoch.events[i].requested), "lost-%zu", i + 1);
		snprintf(epoch.events[i].note, sizeof(epoch.events[i].note), "its name was lost in a damaged database");
		snprintf(epoch.events[i].encoding.unit, sizeof(epoch.events[i].encoding.unit), "events");
		epoch.events[i].period = 1;
		epoch.events[i].available = true;
	}
	err = put_epoch(salvage, &epoch);
	return err ? err : remember_lost(&salvage->things[TABLE_EPOCHS], epoch.id, (uint32_t)epoch.event_count);
}

/* Is there an epoch for this slice, with as many events? */
static int
has_epoch(const struct salvage *salvage, const struct slice *slice, bool *lost)
{
	const struct salvage_thing *thing = salvage_things_find(&salvage->things[TABLE_EPOCHS], slice->epoch);
	struct epoch epoch;
	int err;

	*lost = !thing;
	if (!thing)
		return slice->epoch ? 0 : -DCPI_EDAMAGED;
	if (!thing->value)
		return thing->number == slice->event_count ? 0 : -DCPI_EDAMAGED;
	err = epoch_decode(thing->id, thing->value, thing->size, &epoch);
	return err ? err : epoch.event_count == slice->event_count ? 0 : -DCPI_EDAMAGED;
}

static int
decode_slices(struct salvage *salvage)
{
	const struct salvage_things *things = &salvage->things[TABLE_SLICES];

	salvage->slices = calloc(things->count + 1, sizeof(*salvage->slices));
	if (!salvage->slices)
		return -ENOMEM;
	for (size_t i = 0; i < things->count; i++) {
		struct salvage_slice *slice = &salvage->slices[salvage->slice_count];
		const struct salvage_thing *thing = &things->things[i];
		int err = slice_decode(thing->id, thing->value, thing->size, &slice->slice);

		if (err)
			return err;
		slice->is_newest = thing->source == SOURCE_NEWEST;
		salvage->slice_count++;
	}
	return 0;
}

/* Make epochs for slices that have none; slices that contradict theirs go. */
static int
settle_slices(struct salvage *salvage)
{
	size_t kept = 0;

	for (size_t i = 0; i < salvage->slice_count; i++) {
		struct salvage_slice *slice = &salvage->slices[i];
		bool lost;
		int err = has_epoch(salvage, &slice->slice, &lost);

		if (!err && lost)
			err = put_lost_epoch(salvage, &slice->slice);
		if (err && err != -DCPI_EDAMAGED)
			return err;
		if (err) {
			slice_fini(&slice->slice);
			memset(slice, 0, sizeof(*slice)); /* salvage_fini() sees those that follow, too */
			continue;
		}
		if (kept != i) {
			salvage->slices[kept] = *slice;
			memset(slice, 0, sizeof(*slice));
		}
		kept++;
	}
	salvage->slice_count = kept;
	return 0;
}

int
salvage_put_things(struct salvage *salvage)
{
	int err;

	salvage_things_settle(&salvage->things[TABLE_EPOCHS]);
	salvage_things_settle(&salvage->things[TABLE_SLICES]);
	salvage_things_settle(&salvage->things[TABLE_IMAGES]);
	salvage_things_settle(&salvage->things[TABLE_CONTEXTS]);
	err = put_epochs(salvage);
	if (!err)
		err = decode_slices(salvage);
	if (!err)
		err = settle_slices(salvage);
	if (!err)
		err = put_images(salvage);
	return err ? err : put_contexts(salvage);
}
