/*
 * merge_database.h - the content of another database is merged into this one
 *
 * Epochs and slices get numbers of this database; images and contexts of both databases are joined: images by their
 * build-id, or else by device, inode, generation and path. Captured names and text are copied. An epoch that was merged
 * before - equal in host, kernel, label, start and events - is not merged again. If it has grown since, its new state
 * replaces the old one, under a new number.
 *
 * The merge writes pieces of bounded length, a transaction each. In the pause after each piece other writers can take
 * LMDB's mutex, which is not fair. Until the last piece, its epochs have the flag is_incoming, which that piece clears
 * in all of them at once: readers, merging of slices and dropping ignore such epochs. While there is one, no image and
 * no context is removed: its import has their numbers.
 * The import holds a lock (fcntl(2), of the open file description) on `imports.lock` from before the first flag is set
 * until after the last is cleared, and the kernel releases the lock when the process ends. So incoming epochs without a
 * held lock were left by a killed import. Any writer - the next import, or retention (retention.h) - removes them, some
 * blocks in each transaction. An import flags the epochs that it replaces when it clears its own flags, and then
 * removes them in this way.
 * One import into a database runs at a time; others wait. Images and contexts without counts, and names of images that
 * had no names here, may stay until garbage collection.
 * Thread rule: both profiles belong to the thread.
 */
#ifndef DCPI_PROFILE_MERGE_DATABASE_H
#define DCPI_PROFILE_MERGE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

#define DATABASE_MERGE_PIECE 4096 /* blocks or other records; 3 ms of processor time, and a sync */

struct database_merge_options {
	const char *host; /* of the epochs that are merged; NULL or "": their own */
	/* Called with the progress; a result that is not 0 ends the merge with that result. NULL is allowed. */
	int (*proceed)(void *context, uint64_t done, uint64_t all);
	void *context;
	size_t piece; /* records that one transaction puts; 0: DATABASE_MERGE_PIECE. Fewer when they are large or the
	                 disk slow */
};

struct database_merge {
	uint64_t epochs;      /* new here */
	uint64_t updated;     /* known here, and grown since */
	uint64_t known;       /* known here, and unchanged */
	uint32_t first, last; /* numbers of new and updated ones here; 0: none */
	uint32_t known_epoch; /* number here of the last known epoch; 0: none */
	uint64_t slices, blocks;
	uint64_t pieces; /* transactions */
	uint64_t images, new_images;
	uint64_t contexts;
};

/*
 * `to` is a writer's, `from` another database, open for reading. 0 with *result; -ENOMEM; -DCPI_EDAMAGED when `from`
 * cannot be read; -DCPI_EFULL, -ENOSPC, ... as profile_flush(), the first also before anything is written, when it
 * cannot fit; -ESTALE beside another writer.
 */
int profile_merge_database(struct profile *to, struct profile *from, const struct database_merge_options *options,
                           struct database_merge *result);

#endif
