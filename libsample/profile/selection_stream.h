/*
 * selection_stream.h - the blocks of one event in one slice, in the order of their keys (private to profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_SELECTION_STREAM_H
#define DCPI_PROFILE_SELECTION_STREAM_H

#include "profile/counts.h"
#include "profile/store.h"

struct stream {
	struct store_walk walk;
	struct counts_key key; /* of the block that it stands at */
	uint16_t event;        /* of the selection; this and what follows is whose it is who opened it */
	uint16_t samples;      /* of the epoch: the event whose samples it weighs, or key.event */
	uint32_t epoch;        /* of the selection */
	size_t slice;          /* of the scope */
};

/* The one that begins with the first block of slice key->slice from key->event on; *stream is NULL when there is none.
 */
int stream_open(const struct store *store, MDB_txn *txn, const struct counts_key *key, struct stream **stream);
void stream_free(struct stream *stream);

/* To the next block: 1, 0 when the stream ends, or an error. */
int stream_step(struct stream *stream);

/* To the first block that is not before that of `context` in `image`, which lies ahead. As stream_step(). */
int stream_skip(struct stream *stream, uint32_t image, uint32_t context);

#endif
