#include "profile/check.h"

#include <inttypes.h>

#include "profile/codec.h"
#include "profile/counts.h"

static void
check_references(struct check *check, const struct counts_key *key, const struct check_slice *slice)
{
	if (!slice)
		check_complain(check, "counts: slice %u is not in slices", key->slice);
	else if (key->event >= slice->event_count)
		check_complain(check, "counts: slice %u has no event %u", key->slice, key->event);
	if (!check_numbers_have(&check->images, key->image))
		check_complain(check, "counts: image %u is not in images", key->image);
	if (!check_numbers_have(&check->contexts, key->context))
		check_complain(check, "counts: context %u is not in contexts", key->context);
}

static int
visit_block(struct check *check, const MDB_val *key_value, const MDB_val *value)
{
	struct counts_pair pairs[COUNTS_BLOCK_SIZE];
	struct check_slice *slice;
	struct counts_key key;
	int count;

	if (counts_key_decode(key_value->mv_data, key_value->mv_size, &key)) {
		check_complain(check, "counts: a key of %zu bytes", key_value->mv_size);
		return 0;
	}
	slice = check_find_slice(check, key.slice);
	check_references(check, &key, slice);
	count = counts_decode(value->mv_data, value->mv_size, pairs);
	if (count < 0)
		check_complain(check, "counts: slice %u, event %u, image %u, context %u, block %u cannot be read",
		               key.slice, key.event, key.image, key.context, key.block);
	if (!slice || key.event >= slice->event_count)
		return 0;
	for (int i = 0; i < count; i++)
		slice->counted[key.event] = add_saturating(slice->counted[key.event], pairs[i].count);
	return 0;
}

static void
check_totals(struct check *check, const struct check_slice *slice)
{
	for (size_t i = 0; i < slice->event_count; i++) {
		if (slice->samples[i] == add_saturating(slice->counted[i], slice->unknown[i]))
			continue;
		check_complain(check,
		               "slices: slice %u, event %zu has %" PRIu64 " samples, but %" PRIu64
		               " are counted and %" PRIu64 " unknown",
		               slice->id, i, slice->samples[i], slice->counted[i], slice->unknown[i]);
	}
}

int
check_counts(struct check *check)
{
	int err = check_table(check, TABLE_COUNTS, visit_block);

	for (size_t i = 0; !err && i < check->slice_count; i++)
		if (!check->slices[i].is_incoming)
			check_totals(check, &check->slices[i]);
	return err;
}
