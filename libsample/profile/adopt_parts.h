/*
 * adopt_parts.h - what the files of adopt.h share (private to profile/)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_ADOPT_PARTS_H
#define DCPI_PROFILE_ADOPT_PARTS_H

#include "profile/adopt.h"
#include "profile/handle.h"
#include "profile/identity.h"

/* From the numbers of one database to those of the other. */
struct number_pair {
	uint32_t from, to;
};

struct number_map {
	struct number_pair *pairs; /* ascending by `from` */
	size_t count, capacity;
	size_t last; /* that was found: most follow it */
};

struct adopting {
	const struct adoption_options *options;
	struct adoption *adoption;
	struct profile *to;
	const struct store *from_store, *to_store;
	MDB_txn *from_txn, *to_txn;
	struct number_map epochs, slices, images, contexts;
	struct number_map replaced; /* of new epochs here: what was here of them */
	uint64_t done, all;         /* blocks of counts and edges */
	int lock;                   /* incoming.h */
	size_t records, bytes;      /* of this piece; to_txn is NULL between two */
	uint64_t begun_ns;          /* CLOCK_MONOTONIC, when it did */
};

/*
 * Between two records: when the piece has enough, end it, let others write, and begin another. 0, or an error with no
 * transaction open.
 */
int adopt_step(struct adopting *adopting);

/* A record of `size` bytes was put. */
void adopt_note(struct adopting *adopting, size_t size);

/* `from` must be above all that are there. 0 or -ENOMEM. */
int number_map_add(struct number_map *map, uint32_t from, uint32_t to);
uint32_t number_map_find(struct number_map *map, uint32_t from); /* 0: there is none */
void number_map_fini(struct number_map *map);

/* The number here of an image or a context there, stored when it is new here. 0 or an error. */
int adopt_image(struct adopting *adopting, uint32_t from, uint32_t *to);
int adopt_context(struct adopting *adopting, uint32_t from, uint32_t *to);

/* Names and text of all images that were adopted. */
int adopt_captured(struct adopting *adopting);

/* All blocks of counts and of edges that are of slices that were adopted. */
int adopt_counts(struct adopting *adopting);
int adopt_edges(struct adopting *adopting);

/* For how long the labels of these slices lasted. */
int adopt_label_times(struct adopting *adopting);

#endif
