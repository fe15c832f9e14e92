/*
 * collection_internal.h - what collection.c (jobs, draining, committing) and collection_epochs.c share
 */
#ifndef DCPI_COLLECTORD_COLLECTION_INTERNAL_H
#define DCPI_COLLECTORD_COLLECTION_INTERNAL_H

#include "collectord/capture_thread.h"
#include "collectord/capturer.h"
#include "collectord/code_namer.h"
#include "collectord/collection.h"
#include "collectord/file_ids.h"
#include "collectord/machine.h"
#include "collectord/unwind_tables.h"

/* What sampling had cost at a moment; the difference of two is what it cost between them. */
struct cost_mark {
	uint32_t epoch;
	uint64_t time_ns; /* CLOCK_MONOTONIC; 0: there was no such moment */
	struct overhead overhead;
	struct budget_observation seen;
};

struct collection {
	struct config config;
	const struct log *log;
	struct guard guard;   /* around what reads or writes the database */
	char shown[PATH_MAX]; /* the database's directory, escaped for messages */
	struct profile *profile;
	struct sampler *sampler;
	struct flusher *flusher;
	struct file_ids *files;
	struct jit_files *jit_files;
	struct capture_thread *capture_thread; /* NULL: nothing is captured, and no code named */
	struct code_namer *namer;              /* NULL: code made at run time stays without names */
	struct capturer *capturer;             /* NULL: nothing is captured */
	struct unwind_tables *unwind_tables;   /* NULL: there are none */
	char capture_program[PATH_MAX];        /* the thread's */
	struct epoch epoch;
	struct machine_watch *watch;
	bool cpus_changed;                /* sampler_follow_cpus() is due */
	const char *plan_reason;          /* why rates are to be chosen again; NULL: they are not */
	uint64_t plan_due_ns, planned_ns; /* CLOCK_MONOTONIC */
	uint64_t throttled;               /* times in this epoch, at the last poll */

	uint64_t sessions;     /* that ended because their tables were large */
	size_t tables_limit;   /* bytes of images and contexts; what is larger ends with the next job */
	struct tally *spare;   /* empty; NULL while a job has it */
	struct flush_job kept; /* taken, but the flusher could not have it yet; without a tally there is none */
	uint64_t submitted;    /* jobs the flusher was given */
	uint64_t committed;    /* jobs it has written */

	/* the job before this one ended at: */
	uint64_t taken_ns;           /* CLOCK_REALTIME */
	uint64_t taken_monotonic_ns; /* CLOCK_MONOTONIC */
	size_t unidentified;         /* of them, those in the database that may get a build-id with the next flush */
	uint64_t cpu_time_ns;        /* processor time used until then */
	struct overhead overhead;    /* of the epoch, until then */
	uint64_t opened_cpu_ns;      /* processor time used before this collection was opened */
	uint64_t start_cpu_ns;       /* used from there on until it counted, and in no job yet */
	uint64_t start_taken_ns;     /* what the start of flusher and capturer took, of the jobs until then */
	struct budget_watch budget_watch;
	struct cost_mark last_check, last_review; /* of the cost of sampling */
	bool rates_failed;                        /* the last change of rates was not possible, and is in the log */
	uint64_t slice_begin_ns;                  /* CLOCK_MONOTONIC */
	uint32_t slice_id;                        /* 0: the next job begins a slice */
	uint32_t slice_newest;                    /* the last that was written to */
	bool slice_ends;                          /* the next job belongs to another slice */
	bool is_late; /* the epoch has no number yet: the disk has not answered since it was to begin */

	bool is_compacting;
	struct compaction compaction; /* the flusher's while is_compacting */

	struct collection_totals totals;
	struct collection_past past_totals; /* of the epochs before this one */
	uint64_t past_sideband_lost, past_skipped;
	uint64_t samples, unknown, lost, dropped;
	uint64_t kept_samples;     /* in the job that is not written yet */
	uint64_t job_monotonic_ns; /* when the flusher was given it */
	uint64_t trouble_since_ns; /* CLOCK_REALTIME, when writing began to fail; 0: it does not */
	uint64_t trouble_dropped;  /* `dropped` at that time */
	struct profile_stats profile_stats;
	struct quarantined aside; /* a damaged database that is still there; without a name, none */
	uint64_t flush_time_ns;
	uint64_t flush_duration_ns;
	uint64_t flush_entries;
	uint64_t flush_tries;
	int flush_error;
	int drain_error;
	bool stalled;
};

#define COLLECTION_TABLES_LIMIT ((size_t)1 << 20)

/* ---- collection.c ---- */

/* Write to `why` that something cannot be done; returns `err`. */
int collection_explain(char *why, size_t size, const char *subject, const char *action, int err);

/* Open the database of the configuration, putting a damaged one aside. 0, or an error with a sentence. */
int collection_open_profile(struct collection *collection, char *why, size_t size);

/* Close everything but the sampler: it may be the next one already. */
void collection_close_writer(struct collection *collection);

/* Give the flusher the configured limits for old slices. */
void collection_retain(struct collection *collection);

/* Ask the database how big it is; to be called while no job is under way. */
void collection_update_stats(struct collection *collection);

/* ---- collection_epochs.c ---- */

/* Add the totals of the epoch to those of the epochs before it, and begin them anew. */
void collection_end_totals(struct collection *collection);

/*
 * Begin an epoch of the sampler's events; the old one, if any, has been written whole. `continues`: it is that one with
 * other rates. 0, or an error with a sentence.
 */
int collection_start_epoch(struct collection *collection, const char *label, bool continues, char *why, size_t size);

/* Would the database take the end of this epoch, and the next, at once? */
bool collection_may_begin_epoch(const struct collection *collection);

#endif
