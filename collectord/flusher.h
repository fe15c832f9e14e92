/*
 * flusher.h - the thread that writes to the database
 *
 * An fsync may take a second; the event loop must not wait for it. So the loop hands a job over and goes on; the
 * flusher writes it, again and again until it succeeds, and rings a bell (an eventfd) when it is done or has failed.
 * Thread rule: the functions are the event loop's; the profile belongs to the flusher between _new and _free, but for
 * flusher_call().
 */
#ifndef DCPI_COLLECTORD_FLUSHER_H
#define DCPI_COLLECTORD_FLUSHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guard.h"
#include "base/log.h"
#include "collectord/code_namer.h"
#include "collectord/code_notes.h"
#include "process/context_table.h"
#include "process/image_table.h"
#include "process/kallsyms.h"
#include "profile/label_times.h"
#include "profile/profile.h"
#include "profile/retention.h"
#include "tally/tally.h"

#define FLUSHER_CALL_S     10
#define FLUSHER_PATIENCE_S 5

struct capturer;
struct file_ids;
struct flusher;

struct flush_job {
	struct tally *tally; /* filled; comes back cleared with the result */
	struct slice slice;  /* what to add; comes back with its id, without cpus */
	/*
	 * The tables that the tally's numbers are of, when the session ends with this job: the flusher frees them when
	 * it is written, and numbers of the next one are of other tables. Else both NULL.
	 */
	struct image_table *images;
	struct context_table *contexts;
	uint64_t start_cpu_ns;    /* processor time that the start took, to be added to the epoch's */
	struct label_times times; /* for how long runs under labels lasted meanwhile; comes back empty */
};

struct flush_result {
	int error;  /* 0, or why the last try failed; the job is kept and tried again */
	bool done;  /* the job was written and `job` is back */
	bool moved; /* done, and in an epoch that nobody knew of: job.slice.epoch, in another database or begun late */
	struct flush_job job;
	uint64_t duration_ns;       /* of the last try */
	uint64_t entries;           /* distinct keys written */
	uint64_t failures;          /* tries in a row that failed */
	struct profile_stats stats; /* of the database after it; all zero when it failed */
};

/*
 * Start the thread. `profile`, the tables (read up to the counts given with a job), `guard` and `log` are borrowed; the
 * guard (NULL: none) has the last word when the database turns out to be damaged. NULL and errno.
 */
struct flusher *flusher_new(struct profile *profile, struct guard *guard, const struct log *log);

/* End the thread. A job that is being written is finished; one that keeps failing is given up. NULL is allowed. */
void flusher_free(struct flusher *flusher);

/*
 * Begin an epoch, that of the jobs to come: as profile_begin_epoch(), or -ETIMEDOUT. -EINPROGRESS when the disk has not
 * answered for FLUSHER_PATIENCE_S: the epoch begins when it does, at the latest with the next job, whose result tells
 * (`moved`) its number. Should the database be deleted or
 * replaced (profile_recover()), the flusher begins the epoch again in the one that is at its place then.
 */
int flusher_begin_epoch(struct flusher *flusher, struct epoch *epoch);

/*
 * The kernel's symbols as they were read a moment ago, the flusher's from now on (NULL is allowed): they are good for
 * the first job, and save reading them again to name the kernel's functions. Before that job is handed over.
 */
void flusher_give_symbols(struct flusher *flusher, struct kallsyms_copy *symbols);

/*
 * What processes tell of the code that they make, borrowed: the images of those that tell nothing become one,
 * "[anon]". Before the first job; without it, each stays an image.
 */
void flusher_give_notes(struct flusher *flusher, struct code_notes *notes);

/*
 * Who names that code, borrowed: is told where samples were, and has what it took stored after each flush, or when
 * flusher_store_names() says so (any thread). Before the first job; NULL: nobody. The flusher is
 * ended first.
 */
void flusher_give_namer(struct flusher *flusher, struct code_namer *namer);
void flusher_store_names(struct flusher *flusher);

/*
 * Who knows build-ids of files, borrowed: what it knows when images are written is written with them, and what it gets
 * to know later is added then (profile_identify_image()). Before the first job; without it, a file stays one.
 */
void flusher_give_files(struct flusher *flusher, struct file_ids *files);

/* Who is told of each flush, and has what was captured stored after it (capturer.h); borrowed. Before the first job. */
void flusher_serve(struct flusher *flusher, struct capturer *capturer);

/* From the next flush on, drop what is too old or too much: steps after flushes, more when the database is full. */
void flusher_retain(struct flusher *flusher, const struct retention_options *options);

/* Processor time that naming the kernel's functions took after the first job, from the symbols that were given. */
uint64_t flusher_start_cpu_ns(struct flusher *flusher);

int flusher_descriptor(const struct flusher *flusher); /* readable when flusher_result() has something */
void flush_job_fini(struct flush_job *job);            /* frees what it holds */

/*
 * Is the thread there, and does it take up what it has to do? Yes also when it has waited for a disk for hours; no when
 * it has ended, or has left a job or call lying for a minute.
 */
bool flusher_is_alive(struct flusher *flusher);

/*
 * Hand a job over; the flusher owns it until it comes back. Images and contexts that are new in the tables go with it;
 * the job's own tables come before `images` and `contexts`.
 * 0; -EBUSY when one is under way; -ENOMEM. On failure the caller keeps the job.
 */
int flusher_submit(struct flusher *flusher, const struct flush_job *job, const struct image_table *images,
                   const struct context_table *contexts);

/* Try a job that failed again now, and not when its time has come: somebody waits. */
void flusher_hurry(struct flusher *flusher);

/* What has happened since the last call: true with *result filled, false when nothing. Does not wait. */
bool flusher_result(struct flusher *flusher, struct flush_result *result);

/* Wait until a result is there, at most `timeout_ns`. 0, or -ETIMEDOUT. */
int flusher_wait(struct flusher *flusher, uint64_t timeout_ns);

/*
 * Run `call` on the profile in the flusher's thread, between jobs, and wait for it: for epochs and statistics.
 * -ETIMEDOUT when a job keeps the thread from beginning with it for FLUSHER_CALL_S seconds.
 */
int flusher_call(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context);

/*
 * Have `call` run on the profile in the flusher's thread between jobs, and do not wait: for what takes seconds. The
 * bell rings when it is done. -EBUSY while another is under way. Calls and jobs wait meanwhile.
 */
int flusher_post(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context);

/* True, once, when what was posted is done, with what it returned. */
bool flusher_posted(struct flusher *flusher, int *result);

#endif
