/*
 * salvage.h - copy what is sound of a damaged database into a new one
 *
 * The file is read page by page (profile/lmdb_pages.h), never through LMDB, and nothing in it is trusted. The trees of
 * the newest transaction come first. Where a table of it is broken, what is missing is looked for in the transaction
 * before, and then on every page that looks like a part of the table, however old: an old page never makes a slice
 * larger than the newest one says it is. Epochs and slices keep their numbers, images and contexts get new ones. A
 * count whose image or context is lost goes to one named "[lost 17]"; a slice whose epoch is lost gets an epoch
 * labelled "salvaged", whose events have no names any more; counts whose slice is lost are lost.
 * The new database is sound: profile_check() says so of its numbers, which is not to say that they are those that were
 * counted. LMDB's pages have no checksums, and a bit that flipped inside of a value may make another value.
 */
#ifndef DCPI_SALVAGE_SALVAGE_H
#define DCPI_SALVAGE_SALVAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

struct salvage_count {
	uint64_t kept;
	uint64_t expected; /* as the newest transaction says; 0 when that cannot be read */
};

struct salvage_result {
	bool is_open;           /* the damaged file could be opened: an error is the target's */
	uint64_t pages;         /* of the damaged file */
	uint64_t damaged_pages; /* that the newest transaction needs; those behind them cannot be counted */
	bool scanned;           /* older transactions and single pages were looked at */
	bool is_known;          /* the `expected` below are */
	struct salvage_count epochs, slices, images, contexts, blocks, symbols, edges, text,
		label_times;   /* blocks of edges, values of text */
	uint64_t samples;      /* in the new database */
	uint64_t samples_lost; /* of slices that are kept, or whose blocks were found without them */
};

/*
 * Read `directory`, make a database in `target`, which must not be there or be an empty directory. 0 with *result, also
 * when nothing at all was found; -DCPI_ERUNNING when a dcpid has `directory`; -DCPI_ENODATABASE when it holds no file;
 * -EEXIST when `target` has a database or anything else in it; -EFBIG; and what profile_open() and writing say of
 * `target`, which is then not complete. The new database belongs to whom the damaged one does, where we may give it
 * away.
 */
int profile_salvage(const char *directory, const char *target, const struct log *log, struct salvage_result *result);

#endif
