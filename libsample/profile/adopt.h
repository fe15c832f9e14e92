/*
 * adopt.h - what another database holds becomes part of this one
 *
 * Epochs and slices get numbers of this database; images and contexts that both know are one here: images by their
 * build-id, or else by device, inode, generation and path. Names and text that were captured come along. An epoch that
 * was adopted before - its host, kernel, label, start and events are the same - is not adopted again; when it went on
 * since, it takes the place of what is here, with a number of its own.
 *
 * It is written in pieces of bounded length, a transaction each, between which whoever waits to write gets his turn;
 * LMDB's mutex is not fair, so that takes a pause. Nobody sees any of it before the last piece, which shows all
 * (incoming.h). After an error nothing is there; what a kill leaves nobody sees either, and who writes next removes it:
 * the next adoption, or retention (retention.h). What may stay are images and contexts without counts, until they are
 * swept, and names of images that were here without names. Adoptions into one database wait for each other.
 * Thread rule: both profiles belong to the thread.
 */
#ifndef DCPI_PROFILE_ADOPT_H
#define DCPI_PROFILE_ADOPT_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

#define ADOPTION_PIECE 4096 /* blocks or other records; 3 ms of processor time, and a sync */

struct adoption_options {
	const char *host; /* of the epochs that are adopted; NULL or "": their own */
	/* How far it has come; not 0 breaks it off with that as the result. NULL is allowed. */
	int (*proceed)(void *context, uint64_t done, uint64_t all);
	void *context;
	size_t piece; /* records that one transaction puts; 0: ADOPTION_PIECE. Fewer when they are large or the disk
	                 slow */
};

struct adoption {
	uint64_t epochs;      /* that are new here */
	uint64_t updated;     /* that were here and went on since */
	uint64_t known;       /* that were here, as they are */
	uint32_t first, last; /* numbers of new and updated ones here; 0: none */
	uint32_t known_epoch; /* number here of the last that was known; 0: none */
	uint64_t slices, blocks;
	uint64_t pieces; /* transactions */
	uint64_t images, new_images;
	uint64_t contexts, new_contexts;
};

/*
 * `to` is a writer's, `from` another database, open for reading. 0 with *adoption; -ENOMEM; -DCPI_EDAMAGED when `from`
 * cannot be read; -DCPI_EFULL, -ENOSPC, ... as profile_flush(), the first also before anything is written, when it
 * cannot fit; -ESTALE beside another writer.
 */
int profile_adopt(struct profile *to, struct profile *from, const struct adoption_options *options,
                  struct adoption *adoption);

#endif
