/*
 * flusher.h - the thread that writes to the database
 *
 * An fsync may take a second, and the event loop must not wait for it. So the loop hands a job over and continues. The
 * flusher tries to write it until it succeeds, and writes to an eventfd, the bell, when a try has succeeded or failed.
 * Thread rule: the functions are the event loop's; the profile belongs to the flusher between _new and _free, but for
 * flusher_call().
 */
#ifndef DCPI_COLLECTORD_FLUSHER_H
#define DCPI_COLLECTORD_FLUSHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guard.h"
#include "base/log.h"
#include "process/context_table.h"
#include "process/image_table.h"
#include "process/kallsyms.h"
#include "process/stack_table.h"
#include "profile/label_times.h"
#include "profile/profile.h"
#include "profile/retention.h"
#include "tally/tally.h"

#define FLUSHER_HOOKS_MAX  4
#define FLUSHER_CALL_S     10
#define FLUSHER_PATIENCE_S 5

struct file_ids;
struct flusher;

struct flush_job {
	struct tally *tally; /* filled; comes back cleared with the result */
	struct slice slice;  /* what to add; comes back with its id, without cpus */
	/*
	 * The tables that the tally's numbers are of, when the session ends with this job: the flusher frees them when
	 * the job is written, and later jobs are of other tables. Otherwise NULL.
	 */
	struct image_table *images;
	struct context_table *contexts;
	struct stack_table *stacks; /* likewise; also NULL when call stacks are not sampled */
	uint64_t start_cpu_ns;      /* processor time that the start took, to be added to the epoch's */
	struct label_times times;   /* for how long runs under labels lasted meanwhile; comes back empty */
};

struct flush_result {
	int error;  /* 0, or why the last try failed; the job is kept and tried again */
	bool done;  /* the job was written and `job` is back */
	bool moved; /* done, in an epoch that the owner does not know: job.slice.epoch, of another database or begun
	               late */
	struct flush_job job;
	uint64_t duration_ns;       /* of the last try */
	uint64_t entries;           /* distinct keys written */
	size_t unidentified;        /* images in the database that may get a build-id with the next job */
	uint64_t failures;          /* tries in a row that failed */
	struct profile_stats stats; /* of the database after it; all zero when it failed */
};

struct flush {
	const struct image **images;       /* of the session, by number */
	uint32_t first_image, image_end;   /* numbers of the images that are new with this flush */
	const struct image_table *table;   /* the session's */
	const struct tally_entry *entries; /* sorted */
	size_t entry_count;
	size_t first_sum; /* events from this index on are sums of those before it: their counts are no samples */
};

/*
 * What takes part in each flush, besides the database. The flusher calls its hooks in the order in which it got them.
 * Functions that a hook does not need are NULL. Thread rule: all are called on the flusher's thread. They may use the
 * profile, except for end_session(), but not call the flusher.
 */
struct flush_hook {
	void *context; /* of its functions; borrowed until the flusher is freed */

	/* Before each try to write: new images may be replaced in `flush->images`. */
	void (*before)(void *context, const struct flush *flush);

	/* After the flush was written; before store(). */
	void (*after)(void *context, struct profile *profile, const struct flush *flush);

	/* After each flush, and between flushes when flusher_call_store() was called. */
	void (*store)(void *context, struct profile *profile);

	/* The database is another, and has nothing of what the one before had. */
	void (*begin_database)(void *context);

	/* The images of a session are about to be freed. With the flusher's lock held and outside of the guard: not for
	 * the profile. */
	void (*end_session)(void *context, const struct image_table *images);
};

/* All is borrowed but for the symbols. */
struct flusher_options {
	struct profile *profile;
	struct guard *guard; /* ends or re-executes dcpid when reading a damaged database faults. NULL: none */

	/*
	 * Images are written with the build-ids that are known, and get those that become known later
	 * (profile_identify_image()). NULL: a file is written without build-id.
	 */
	struct file_ids *files;

	/*
	 * The kernel's symbols as they were read a moment ago: the kernel's functions are named by them after the first
	 * job, so that they need not be read again. NULL: they are read. The flusher's, also when flusher_new() fails.
	 */
	struct kallsyms_copy *symbols;

	const struct flush_hook *hooks; /* at most FLUSHER_HOOKS_MAX; copied */
	size_t hook_count;
	const struct log *log; /* NULL is allowed */
};

/* Start the thread. NULL and errno. */
struct flusher *flusher_new(const struct flusher_options *options);

/* End the thread. A job that is being written is finished; one that keeps failing is given up. NULL is allowed. */
void flusher_free(struct flusher *flusher);

/*
 * Begin an epoch, that of the jobs to come: as profile_begin_epoch(), or -ETIMEDOUT. -EINPROGRESS when the disk has not
 * answered for FLUSHER_PATIENCE_S: the epoch begins when it does, at the latest with the next job, whose result has its
 * number (`moved`). Should the database be deleted or replaced (profile_recover()), the flusher begins the epoch again
 * in the one that is at its place then.
 */
int flusher_begin_epoch(struct flusher *flusher, struct epoch *epoch);

/* Have the store() of hooks called soon, between jobs. Any thread. */
void flusher_call_store(struct flusher *flusher);

/* From the next flush on, drop what is too old or too much: steps after flushes, more when the database is full. */
void flusher_set_retention(struct flusher *flusher, const struct retention_options *options);

/* Processor time that naming the kernel's functions by the symbols of the options took. */
uint64_t flusher_start_cpu_ns(struct flusher *flusher);

int flusher_descriptor(const struct flusher *flusher); /* readable when flusher_result() has something */
void flush_job_fini(struct flush_job *job);            /* frees what it holds */

/*
 * Does the thread run, and begin with what it gets? True also when it has waited for a disk for hours; false when it
 * has ended, or has not begun with a job for a minute.
 */
bool flusher_is_alive(struct flusher *flusher);

/*
 * Hand a job over; the flusher owns it until it comes back. Images, contexts and stacks (NULL: none) that are new in
 * the tables go with it; the job's own tables come before `images`, `contexts` and `stacks`. 0; -EBUSY when one is
 * under way; -ENOMEM. On failure the caller keeps the job.
 */
int flusher_submit(struct flusher *flusher, const struct flush_job *job, const struct image_table *images,
                   const struct context_table *contexts, const struct stack_table *stacks);

/* Try a job that failed again now, without the delay after failures: somebody waits. */
void flusher_retry_now(struct flusher *flusher);

/* The last try since the last call: true with *result filled, false when there was none. Does not wait. */
bool flusher_result(struct flusher *flusher, struct flush_result *result);

/* Wait until a result is there, at most `timeout_ns`. 0, or -ETIMEDOUT. */
int flusher_wait(struct flusher *flusher, uint64_t timeout_ns);

/*
 * Run `call` on the profile in the flusher's thread, between jobs, and wait for it: for epochs and statistics.
 * -ETIMEDOUT when a job keeps the thread from beginning with it for FLUSHER_CALL_S seconds.
 */
int flusher_call(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context);

/*
 * Have `call` run on the profile in the flusher's thread between jobs, and do not wait: for calls that take seconds.
 * The bell rings when it is done. -EBUSY while another is under way. Calls and jobs wait meanwhile.
 */
int flusher_post(struct flusher *flusher, int (*call)(struct profile *profile, void *context), void *context);

/* True, once, when the posted call is done, with its result. */
bool flusher_posted(struct flusher *flusher, int *result);

#endif
