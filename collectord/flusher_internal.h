/*
 * flusher_internal.h - what the flusher's files share
 */
#ifndef DCPI_COLLECTORD_FLUSHER_INTERNAL_H
#define DCPI_COLLECTORD_FLUSHER_INTERNAL_H

#include <pthread.h>

#include "collectord/capturer.h"
#include "collectord/file_ids.h"
#include "collectord/flusher.h"
#include "collectord/retainer.h"
#include "collectord/unnamed.h"

/* What the flusher's thread works on; filled by flusher_submit(), emptied when the job has been written. */
struct work {
	struct flush_job job;
	const struct tally_entry *entries; /* the tally's, sorted; NULL before the first try */
	size_t entry_count;
	uint32_t image_count, context_count; /* of the session, when the job was handed over */
	const struct image_table *images;    /* its table */
};

/* A call that nobody waits for. */
struct post {
	int (*call)(struct profile *profile, void *context); /* NULL: none */
	void *context;
	int result;
	bool done; /* and not yet taken notice of */
};

struct flusher {
	struct profile *profile;
	struct guard *guard;
	const struct log *log;
	struct capturer *capturer; /* NULL: nothing is captured */
	pthread_t thread;
	int bell;

	/* the thread's, the first before the first job the loop's */
	struct unnamed unnamed;
	struct code_notes *notes; /* NULL: none */
	struct code_namer *namer; /* likewise */
	struct file_ids *files;   /* likewise */
	uint32_t *unidentified;   /* images of files that were written before their build-id was known */
	size_t unidentified_count, unidentified_capacity;
	struct epoch *epoch; /* that jobs belong to, to begin it again in another database; NULL: none yet */
	bool is_homeless;    /* the database has not got that epoch yet */
	bool has_moved;      /* and when it has got it, it is to be told */
	bool is_late;        /* that epoch was begun when nobody waited any more, and its number is to be told */
	bool is_set_aside;   /* what was damaged; the log has said where to */
	int error;           /* of the last try */
	struct retainer retainer;

	/* the loop's while no job is under way, the thread's otherwise */
	const struct image **images; /* all that the session has ever handed over */
	const struct context **contexts;
	uint32_t image_count, context_count;
	uint32_t images_written, contexts_written; /* those that the database has */

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t changed;
	bool stop;
	bool ended; /* the thread has */
	bool wants_store;
	uint64_t start_cpu_ns; /* see flusher_start_cpu_ns() */
	bool is_busy;          /* the thread is in the profile */
	bool has_work;
	bool has_result;
	struct work work; /* the thread's while has_work, the loop's otherwise */
	struct flush_result result;
	unsigned failures;
	uint64_t retry_at_ns; /* CLOCK_MONOTONIC; of a new job, when it was handed over */
	int (*call)(struct profile *profile, void *context);
	void *call_context;
	int call_result;
	bool is_called;                                                        /* the call is under way */
	void (*abandoned)(struct flusher *flusher, void *context, int result); /* nobody waits for it any more */
	struct post post;
	bool retains, retains_anew; /* by other options than before */
	struct retention_options retention;
};

/* ---- flusher.c ---- */

/* For a change, until then (CLOCK_MONOTONIC) at most; the lock is held. 0 or ETIMEDOUT. */
int flusher_wait_until(struct flusher *flusher, uint64_t monotonic_ns);

/* ---- flusher_handover.c ---- */

/*
 * As flusher_call(), but when the call takes longer than FLUSHER_PATIENCE_S: -EINPROGRESS. `abandoned` is then called
 * when it has ended, on the flusher's thread with the lock held, and has to see to the context.
 */
int flusher_call_impatiently(struct flusher *flusher, int (*call)(struct profile *profile, void *context),
                             void (*abandoned)(struct flusher *flusher, void *context, int result), void *context);

/* ---- flusher_database.c; the thread's, in the profile ---- */

/* Write the work to the database it belongs to, dropping what is old by `retention` (NULL: nothing). 0 or an error. */
int flusher_write(struct flusher *flusher, struct work *work, const struct retention_options *retention);

/* The session's images are no more. */
void flusher_forget_files(struct flusher *flusher);

/* When `err` says that the database is damaged, let the next one to write meet another. True when it will. */
bool flusher_heal(struct flusher *flusher, int err);

#endif
