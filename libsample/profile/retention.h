/*
 * retention.h - old slices are merged into longer ones, the oldest dropped
 *
 * Every function does one bounded step in at most one synced transaction and says whether there is more to do, so that
 * a flush never waits for long. A kill between two steps neither loses nor doubles a count, profile_check() is clean
 * after each step, and all state from one step to the next is in the database. While a merge is under way, the first
 * slice has the time of both, and the second has the samples that are still to be moved.
 * Slices of an epoch that is kept (profile_keep_epoch()) are merged, and never dropped; those of an import under way
 * are neither merged nor dropped. The newest slice, its epoch and all newer epochs, and images and contexts that the
 * session has numbers for, are never touched.
 * Thread rule: the profile's.
 */
#ifndef DCPI_PROFILE_RETENTION_H
#define DCPI_PROFILE_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/counts.h"
#include "profile/profile.h"
#include "profile/stacks.h"

struct ids_map;

#define RETENTION_BLOCKS 2048 /* of a step: 1.5 ms of processor time, and a sync */

struct retention_options {
	uint64_t max_age_ns;    /* slices that ended before are dropped; 0: none */
	uint64_t size_limit;    /* bytes in use above which the oldest slice is dropped; 0: no bound */
	uint64_t hour_after_ns; /* slices of one hour (UTC) that ended so long ago are merged; 0: never */
	uint64_t day_after_ns;  /* those of one day (UTC); 0: never */
	size_t blocks_max;      /* of counts, moved or dropped in one step; 0: RETENTION_BLOCKS */
};

/* 30 days, 2 GiB, an hour after a day, a day after a week. */
void retention_default(struct retention_options *options);

/*
 * Is a clock that says `now_ns` good enough to compute ages? 1 when the week before holds at least an hour of slices, 0
 * when not, or an error. A clock that was set wrongly, for a minute or since boot, must not make everything old; a
 * right clock after months without dcpid is accepted an hour later.
 */
int profile_clock_is_plausible(struct profile *profile, uint64_t now_ns);

/*
 * Each: 1 when a step was done and there may be more, 0 when there was nothing to do, or an error with nothing changed:
 * -EINVAL for a profile that is not open for writing, -DCPI_EFULL, -ENOSPC, -DCPI_EDAMAGED, ...
 * `now_ns` is since 1970.
 */

/* Merge neighbours of one epoch that lie in one hour, or day, without a gap between them. */
int profile_merge_slices(struct profile *profile, const struct retention_options *options, uint64_t now_ns);

/*
 * Drop the epochs that a killed import left (merge_database.h); then blocks of the slice that ended first, if it is too
 * old or the database too large; after the last slice of an epoch, the epoch. When the file has no free page, it may
 * grow past its limit by a 16th and 256 KiB: LMDB writes before it removes.
 */
int profile_drop_old(struct profile *profile, const struct retention_options *options, uint64_t now_ns);

/*
 * Remove stacks, images with their symbols and text, and contexts that no count refers to. Goes through all counts once
 * after the profile was opened, and once after slices were dropped; not while an import is under way. The file may grow
 * past its limit as by profile_drop_old().
 */
int profile_collect_garbage(struct profile *profile, const struct retention_options *options);

/*
 * Pages of a version that a reader has locked are not reused: a reader that was stopped half-way makes the file grow,
 * for READERS_KEEP_S at most (readers.h). Release the versions of readers that have stayed for some writes; `at_once`,
 * when nothing can be written any more, of all but the newest version. Their reads give -DCPI_EVERSION. 1 when a reader
 * lost its version, 0, or an error.
 */
int profile_cut_reader_off(struct profile *profile, bool at_once);

/* A step of dropping or, when there is nothing to drop, one of garbage collection and one of merging. */
int profile_retain(struct profile *profile, const struct retention_options *options, uint64_t now_ns);

/* ---- for profile/: the state of a garbage collection ---- */

/* A mark phase walks the keys of all counts, removal phases the tables of stacks, images and contexts. */
struct gc_marks {
	uint8_t *bits; /* by the database's number */
	/*
	 * Numbers from here on are kept: those above the highest when marking began, and of images and contexts that,
	 * too, because the next number is found by it.
	 */
	uint32_t end;
};

enum gc_phase {
	GC_MARK,
	GC_STACKS,
	GC_IMAGES,
	GC_CONTEXTS,
};

struct gc {
	bool active;
	uint32_t epochs; /* the next epoch's id when marking began: another id means that another writer began an epoch
	                  */
	bool done;       /* nothing was dropped since the last collection began */
	enum gc_phase phase;
	struct counts_key at; /* where marking continues */
	uint32_t next;        /* where removing continues */
	struct stacks_key next_stacks;
	struct gc_marks images;
	struct gc_marks contexts;
	struct gc_marks nodes; /* of stacks */
	uint32_t stacks_image; /* the image of kind IMAGE_STACKS; 0: there is none */
};

void gc_fini(struct gc *gc); /* it can be used again, from the beginning */

/* Mark everything that the session has numbers for: a count of it may have come after marking had passed its key. */
void gc_end_session(struct profile *profile);
void gc_mark(struct gc_marks *marks, uint32_t number);
bool gc_is_marked(const struct gc_marks *marks, uint32_t number);

#endif
