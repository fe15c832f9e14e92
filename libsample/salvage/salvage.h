/*
 * salvage.h - copy the sound parts of a damaged database into a new one
 *
 * The file is read page by page (profile/lmdb_pages.h), never through LMDB, and nothing in it is trusted. The trees of
 * the newest transaction come first. Where a table of it is broken, the missing part is looked for in the transaction
 * before, and then on every page that looks like a part of the table, however old. But an old page never makes a slice
 * larger than it is in the newest transaction. Epochs and slices keep their numbers; images and contexts get new ones.
 * A count whose image or context is lost goes to one named "[lost 17]"; a slice whose epoch is lost gets an epoch
 * labelled "salvaged", whose events have no names any more; counts whose slice is lost are lost.
 * The new database is sound: its numbers pass profile_check(). This does not prove that they are the numbers that were
 * counted: LMDB's pages have no checksums, and a flipped bit inside a value may make another valid value.
 */
#ifndef DCPI_SALVAGE_SALVAGE_H
#define DCPI_SALVAGE_SALVAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

struct salvage_count {
	uint64_t kept;
	uint64_t expected; /* by the newest transaction; 0 when that cannot be read */
};

struct salvage_result {
	bool is_open;           /* the damaged file could be opened: an error is of the target */
	uint64_t pages;         /* of the damaged file */
	uint64_t damaged_pages; /* that the newest transaction needs; pages reached only through them are not counted */
	bool scanned;           /* older transactions and single pages were read */
	bool is_known;          /* the `expected` below are known */
	struct salvage_count epochs, slices, images, contexts, symbols, label_times;
	struct salvage_count blocks;
	struct salvage_count edges;  /* blocks */
	struct salvage_count text;   /* values */
	struct salvage_count memory; /* rows */
	struct salvage_count stacks; /* nodes; expected are those that something refers to */
	uint64_t samples;            /* in the new database */
	uint64_t samples_lost; /* of slices that are kept, and of slices that are lost but whose blocks were found */
};

/*
 * Read `directory`, and make a database in `target`, which must not exist or be an empty directory. 0 with *result,
 * also when nothing at all was found; -DCPI_ERUNNING when a dcpid uses `directory`; -DCPI_ENODATABASE when it has no
 * database file; -EEXIST when `target` is not empty; -EFBIG; and errors of profile_open() and of writing for `target`,
 * which is then not complete. The new database gets the owner of the damaged one, if this process may change owners.
 */
int profile_salvage(const char *directory, const char *target, const struct log *log, struct salvage_result *result);

#endif
