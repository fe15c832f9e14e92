/*
 * profile.h - the profile database: opening, writing, checking
 *
 * Caveats first. One process writes (a lock file in the directory ensures this), many read. Every flush is one synced
 * transaction: a kill loses what was not flushed, a reader never sees half a flush. LMDB maps the file: a damaged file
 * may fault the process that reads it, so programs that open a foreign database install a guard first (base/guard.h).
 * Readers copy out and end their transaction; they never hold one while they print.
 * A process opens a database only once at a time: a second LMDB environment on these files would release the locks of
 * the first. A writer's profile reads as well.
 * Thread rule: a struct profile belongs to one thread at a time.
 */
#ifndef DCPI_PROFILE_PROFILE_H
#define DCPI_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "process/context_table.h"
#include "process/image_table.h"
#include "process/stack_table.h"
#include "profile/epoch.h"
#include "tally/tally.h"

#define PROFILE_SCHEMA       10
#define PROFILE_DIRECTORY    "/var/lib/dcpi"
#define PROFILE_SIZE_DEFAULT (UINT64_C(2) << 30) /* bytes */

struct profile;

struct profile_options {
	bool write; /* else read only; a writer makes the database where none is, and the directory */
	/*
	 * Write also while a dcpid has the database: the writer's lock is not taken, and the size limit is the other
	 * writer's. For programs that add an epoch. Such a profile never retains, compacts or recovers; after the other
	 * writer has replaced the file, opening or writing gives -ESTALE: open it again.
	 */
	bool beside;
	uint64_t size_limit;   /* bytes the file may grow to; 0: PROFILE_SIZE_DEFAULT. Writers only */
	const struct log *log; /* NULL is allowed; must outlive the profile */
};

/*
 * Open the database in `directory`. 0 with *profile set; -errno; -DCPI_ENODATABASE (readers, nothing there);
 * -DCPI_ERUNNING (writers, another has it; see profile_owner()); -DCPI_ENETWORKFS (writers); -DCPI_EREADERS;
 * -DCPI_ENEWER; -DCPI_EFOREIGN for an LMDB database that is not ours, or what is no file; -DCPI_EDAMAGED. What readers
 * open (data.mdb, readers.lock) is made 0640, the other lock files 0600, a missing directory 0750; symbolic links in
 * the directory's place or a file's are refused (-DCPI_ESYMLINK).
 */
int profile_open(const char *directory, const struct profile_options *options, struct profile **profile);
void profile_close(struct profile *profile); /* NULL is allowed */

const char *profile_path(const struct profile *profile); /* as it was given; valid as long as the profile */

/* The id of the process that has `directory` open for writing; 0: there is none; or -errno; -EAGAIN: ask again. */
int profile_owner(const char *directory);

/* ---- writing ---- */

/* Begin an epoch: epoch->id is assigned and set, the rest is stored as given. One synced transaction. 0 or an error. */
int profile_begin_epoch(struct profile *profile, struct epoch *epoch);

/*
 * Keep epoch `id`, or no longer: nothing of it is dropped for age or size (retention.h). One synced transaction; also
 * beside a dcpid. 0, -ENOENT when it is not there, or an error.
 */
int profile_keep_epoch(struct profile *profile, uint32_t id, bool is_kept);

/* How often control was transferred from one instruction of an image to another (edges.h). */
struct profile_edge {
	uint64_t from, to; /* offsets */
	uint64_t count;
	uint32_t image;
	uint16_t event;
};

/*
 * The time within one slice in which at least one process with a label lived: the sum of such times, and the begin of
 * the first and the end of the last, ns since 1970.
 */
struct profile_label_time {
	const char *label;
	uint64_t begin_ns, end_ns;
	uint64_t elapsed_ns;
};

#define PROFILE_MEMORY_KEY_SIZE 5

/* A row of a memory profile: memory_rows.h makes it. */
struct profile_memory_row {
	uint8_t key[PROFILE_MEMORY_KEY_SIZE]; /* behind the slice's number */
	void *value;
	size_t size;
};

/*
 * What one flush writes. Numbers in `entries` are the session's; images and contexts new since the last flush that
 * succeeded are given with their session numbers, counting from first_image and first_context.
 */
struct profile_batch {
	const struct tally_entry *entries; /* as tally_sort() gives them */
	size_t entry_count;
	const struct profile_edge *edges; /* by event, image and from; their images have entries, too */
	size_t edge_count;
	uint32_t first_image, image_count;
	const struct image *const *images;
	uint32_t first_context, context_count;
	const struct context *const *contexts;
	uint32_t node_count;
	const struct stack_node *nodes; /* likewise, from first_node on, which begins with 1 */
	uint32_t first_node;
	/*
	 * Added to the slice of this id; a slice that is not there yet (id 0 asks for a new one, set on success) begins
	 * with it. slice->epoch must exist; the epoch's end becomes slice->end_ns.
	 */
	struct slice *slice;
	uint64_t start_cpu_ns;                  /* added to the epoch's */
	const struct profile_label_time *times; /* added to what the slice has of each label (label_times.h) */
	size_t time_count;
	const struct profile_memory_row *rows; /* of a memory profile, for a slice that has none (memory_rows.h) */
	size_t row_count;
};

/*
 * Write a batch as one transaction. 0; -DCPI_EFULL (size limit), -ENOSPC (disk), -EIO, ...: then nothing of it
 * was written, and this batch may be given again. -EINVAL for a batch that contradicts itself, -ENOENT for an epoch
 * that is not there. Entries whose offset is past COUNTS_OFFSET_MAX are counted as UNKNOWN_ADDRESS. An image that is
 * in the database already takes over its new path, unless it is deleted.
 */
int profile_flush(struct profile *profile, const struct profile_batch *batch);

/* Forget the session's numbers: the next batch counts images and contexts from 0 again. */
void profile_reset_session(struct profile *profile);

/*
 * Before a flush: make sure that a writer's profile is the database at its path. When its files were deleted, moved
 * away or replaced, they are closed, the writer's lock is taken again, and the database at the path is opened, or made.
 * `anew`, after a flush that failed: open it again in any case, because LMDB cannot be used after an error of the disk.
 * 0: it is the database that was open; the batch that failed may be given again, unchanged. 1: it is another database:
 * it has neither the session's numbers - the next flush gives all images and contexts - nor the session's epochs.
 * -DCPI_EGONE: the directory is gone and cannot be made. An error (also as profile_open()): nothing can be read or
 * written (-ENODEV) until a call succeeds.
 */
int profile_recover(struct profile *profile, bool anew);

/*
 * Change the size limit, from the next flush on: a batch that got -DCPI_EFULL may be given again. A file that is larger
 * does not shrink. 0; or -errno, and the old limit stays.
 */
int profile_set_size_limit(struct profile *profile, uint64_t size_limit);

/*
 * Names for the offsets of an image (kernel and modules: captured kallsyms), by the session's number; the image must
 * have been flushed. `symbols` ascending by offset. -EEXIST when the image has names already.
 */
struct profile_symbol {
	uint64_t offset;  /* first, for array_compare_u64() */
	const char *name; /* owned by the list's maker; NULL: code whose bounds are known but not its name */
	uint64_t size;    /* bytes; 0: up to the next */
};
int profile_put_symbols(struct profile *profile, uint32_t session_image, const struct profile_symbol *symbols,
                        size_t count);
bool profile_has_symbols(struct profile *profile, uint32_t session_image);

/* ---- reading: single things by the database's numbers (selection.h reads counts) ---- */

/*
 * Copies of the captured names of an image (the database's number); free with profile_free_symbols(). -ENOENT when
 * there are none. For captured text and layout see captured.h.
 */
int profile_get_symbols(struct profile *profile, uint32_t image, struct profile_symbol **symbols, size_t *count);
void profile_free_symbols(struct profile_symbol *symbols);

/*
 * Unmap the resident pages of the file, while no transaction is open: they stay in the page cache, and using one again
 * costs a minor fault. 0 or -errno.
 */
int profile_drop_pages(struct profile *profile);

/* How big it is and what is in it: for status and tests. */
struct profile_stats {
	uint64_t file_bytes; /* of data.mdb */
	uint64_t used_bytes; /* pages in use */
	uint64_t size_limit;
	uint64_t epochs, slices, images, contexts, blocks;
	uint64_t kept;            /* epochs of which nothing is dropped (retention.h) */
	uint64_t incoming;        /* epochs of an import that runs or was killed; not in `epochs` (merge_database.h) */
	int reader;               /* process that holds an old version; 0: none; -1: unknown. Writers only */
	uint64_t reader_since_ns; /* when it was first seen there, ns since 1970 */
	uint64_t reader_bytes;    /* that cannot be reused because of it */
};
int profile_stats(struct profile *profile, struct profile_stats *stats);

/*
 * Write a compacted copy of the database to `fd`, as a data.mdb without free pages. It is one version: beside a running
 * dcpid, the state after one of its flushes; equal databases give equal bytes. No page of that version is reused while
 * the copy is written. 0 or an error.
 */
int profile_snapshot(struct profile *profile, int fd);

/* ---- checking ---- */

/* Gets one line on a fault, e.g. "counts: slice 7 is not in slices". */
typedef void profile_complaint(void *context, const char *text);

/*
 * Read everything: each value decodes, each reference meets its target, both directions of identity tables agree,
 * totals of slices equal the sums of their counts plus unknown. Returns the number of complaints, or a negative error.
 */
int64_t profile_check(struct profile *profile, profile_complaint *complain, void *context);

/* ---- a damaged database is moved away, so that a new one can be made in its place ----
 *
 * Its files are renamed into a directory of their own inside the database's, damaged-2026-11-21T09:43:00Z (UTC), where
 * `dcpictl salvage` reads them. At most two are kept, the first and the latest: a third replaces the second.
 * The caller must know that the files are damaged, and not those of another program or of a newer dcpi.
 * Functions that take a directory are stateless: any thread.
 */

#define QUARANTINE_NAME_SIZE 32
#define QUARANTINE_PAUSE_S   60

struct quarantined {
	char name[QUARANTINE_NAME_SIZE]; /* of its directory */
	uint64_t bytes;                  /* of data.mdb */
};

/*
 * Quarantine the database that a writer has open; profile_recover() then makes another. 0 with `name` set; -EAGAIN when
 * the last quarantine was less than QUARANTINE_PAUSE_S ago: damage that returns so soon has its cause in the machine;
 * -ENOENT when the files are gone; or -errno, and nothing was moved.
 */
int profile_quarantine(const struct profile *profile, char name[QUARANTINE_NAME_SIZE]);

/* Quarantine a database that is not open: also -DCPI_ERUNNING. */
int profile_quarantine_at(const char *directory, char name[QUARANTINE_NAME_SIZE]);

/* The latest that is kept in `directory`: 1 with *quarantined filled, 0 when there is none, or -errno. */
int profile_find_quarantined(const char *directory, struct quarantined *quarantined);

#endif
