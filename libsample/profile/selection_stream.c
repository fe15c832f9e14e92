#include "profile/selection_stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

#define STEPS 4 /* blocks: to look for a key takes as long as so many steps, or more */

int
stream_step(struct stream *stream)
{
	const uint32_t slice = stream->key.slice;
	const uint16_t event = stream->key.event;
	int result = store_walk_next(&stream->walk);

	if (result <= 0)
		return result;
	result = counts_key_decode(stream->walk.key.mv_data, stream->walk.key.mv_size, &stream->key);
	return result ? result : stream->key.slice == slice && stream->key.event == event;
}

void
stream_free(struct stream *stream)
{
	store_walk_end(&stream->walk);
	free(stream);
}

int
stream_open(const struct store *store, MDB_txn *txn, const struct counts_key *key, struct stream **stream)
{
	struct stream *new = calloc(1, sizeof(*new));
	uint8_t first[COUNTS_KEY_SIZE];
	int result;

	*stream = NULL;
	if (!new)
		return -ENOMEM;
	result = store_walk_begin(store, txn, TABLE_COUNTS, &new->walk);
	if (result) {
		free(new);
		return result;
	}
	counts_key_encode(key, first);
	result = store_walk_seek(&new->walk, first, sizeof(first));
	if (!result)
		result = store_walk_next(&new->walk);
	if (result > 0) {
		result = counts_key_decode(new->walk.key.mv_data, new->walk.key.mv_size, &new->key);
		if (!result)
			result = new->key.slice == key->slice;
	}
	if (result <= 0) {
		stream_free(new);
		return result;
	}
	*stream = new;
	return 0;
}

static bool
is_before(const struct counts_key *key, uint32_t image, uint32_t context)
{
	return key->image < image || (key->image == image && key->context < context);
}

int
stream_skip(struct stream *stream, uint32_t image, uint32_t context)
{
	struct counts_key key = {
		.slice = stream->key.slice, .event = stream->key.event, .image = image, .context = context};
	uint8_t first[COUNTS_KEY_SIZE];
	int result = 1;

	for (int i = 0; i < STEPS && result > 0; i++) {
		result = stream_step(stream);
		if (result > 0 && !is_before(&stream->key, image, context))
			return result;
	}
	if (result <= 0)
		return result;
	counts_key_encode(&key, first);
	result = store_walk_seek(&stream->walk, first, sizeof(first));
	return result ? result : stream_step(stream);
}
