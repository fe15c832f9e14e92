/*
 * collection.h - from the rings into the database: sampler, two tallies, flusher, and the epoch and slice they fill
 *
 * One tally is filled while the flusher's thread writes the other. While writing fails, counts are kept and tried
 * again. When the second tally is full as well, samples of keys that it has are still counted. The others are dropped,
 * and counted as dropped: every loss is reported.
 * If dcpid is killed, what is in the rings and in the tallies is lost: the samples since the last flush that succeeded.
 * If it is asked to exit, collection_commit() writes them first.
 * Functions that "wait" hold up the event loop; the rings keep what is sampled meanwhile.
 * Thread rule: the event loop's thread.
 */
#ifndef DCPI_COLLECTORD_COLLECTION_H
#define DCPI_COLLECTORD_COLLECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/capturer.h"
#include "collectord/config.h"
#include "collectord/file_ids.h"
#include "collectord/flusher.h"
#include "collectord/sampler.h"
#include "collectord/unwind_tables.h"
#include "profile/compact.h"
#include "profile/epoch.h"
#include "profile/overhead.h"
#include "profile/profile.h"

struct collection;

/*
 * Open the database and the events. 0 with *collection set, or an error with a sentence in `why`. `config` is copied,
 * `log` borrowed. Until it is started, a collection can only be closed.
 */
int collection_open(const struct config *config, const struct log *log, struct collection **collection, char *why,
                    size_t size);

/* Begin an epoch called `label`, and to count. 0, or an error with a sentence: the collection is to be closed. */
int collection_start(struct collection *collection, const char *label, char *why, size_t size);
void collection_close(struct collection *collection); /* what is not written is lost. NULL is allowed */

/*
 * Take what the rings hold, hand a tally that fills up to the flusher. 0, also when both tallies are full: samples that
 * are no key of a tally yet are then dropped, at once while writing fails, else when the rings are half full. Else the
 * sampler's error.
 */
int collection_drain(struct collection *collection);

/*
 * Find out what has changed on the machine; to be called before each drain. After a sleep of the machine, or when
 * its clock was set, what was taken before goes to a slice that ends there. Some seconds after its CPUs, the kernel's
 * limit of samples or other things changed, rates are chosen anew (collection_replan()). True when
 * collection_follow_cpus() is to be called.
 */
bool collection_poll_machine(struct collection *collection);

/*
 * Readable when collection_poll_machine() is due; negative where the kernel does not report changes. The number of the
 * descriptor does not change as long as the collection lives.
 */
int collection_descriptor(const struct collection *collection);

/*
 * Sample the CPUs that are online now: those that came are opened, those that went drained (waits SAMPLER_LAG_NS) and
 * closed. No descriptor of the sampler may be watched meanwhile, and all of them are to be asked for again. 0; -ENOSPC
 * while both tallies are full: collection_poll_machine() returns true again; or -errno.
 */
int collection_follow_cpus(struct collection *collection);

/* Hand what there is to the flusher. 0; -EBUSY while it still writes; -ENOMEM. */
int collection_flush(struct collection *collection);

/* Is something being written? True until collection_take_result() has returned true for it. */
bool collection_is_busy(const struct collection *collection);

/* Try a flush that failed again at once. */
void collection_retry_now(struct collection *collection);

/* Take the flusher's result, if it has one: true when it wrote something or failed. */
bool collection_take_result(struct collection *collection);

/*
 * Make sure that all that was recorded before the call will be written. 0 with *ticket set: it is in the database when
 * collection_committed() has reached the ticket. -EAGAIN: not before the flusher is done; ask again after
 * collection_take_result(). Waits SAMPLER_LAG_NS.
 */
int collection_request_commit(struct collection *collection, uint64_t *ticket);
uint64_t collection_committed(const struct collection *collection);

/*
 * Is the next flush due? Once in a flush interval while there is something that waits for it: images whose build-ids
 * the database has not got yet, programs that may soon be gone and were seen first less than half a minute ago, code
 * made at run time, the end of a slice, a job that could not be written, sampling that costs too much. Otherwise once a
 * minute: a flush takes some milliseconds of processor time, however few samples it has. Intervals below 10 s are kept
 * in any case: a user who sets one wants samples to be on the disk.
 */
bool collection_flush_is_due(const struct collection *collection);

/*
 * For a client that is about to read: have what is older than a flush interval written. 0 with *ticket, as of
 * collection_request_commit(); 0: the database has it. A job that is under way is waited for, if it is not older than a
 * flush interval: so there is one flush in an interval, however many ask. -EBUSY while the database is compacted or
 * does not answer; the error of the last flush, which is not tried again sooner for it; as collection_request_commit().
 */
int collection_request_refresh(struct collection *collection, uint64_t *ticket);

/*
 * Write everything that was recorded up to now, and wait for it, at most `patience_ns`. 0, or why not (the counts are
 * kept): the first failure ends it.
 */
int collection_commit(struct collection *collection, uint64_t patience_ns);

/*
 * Begin to compact the database; collection_compacted() says when it is done. -EBUSY while one is under way. Draining
 * goes on, flushes wait, and what begins an epoch is refused (-EBUSY) meanwhile.
 */
int collection_compact(struct collection *collection);
bool collection_is_compacting(const struct collection *collection);

/* End a compaction soon, without a result. Nothing may follow but the last commit. */
void collection_abort_compaction(struct collection *collection);

/* True, once, when a compaction has ended: *err and *compaction as of profile_compact(). */
bool collection_compacted(struct collection *collection, struct compaction *compaction, int *err);

/*
 * Commit, then begin a new epoch with the events of the old one. 0, or an error with a sentence, the old epoch going
 * on. When the disk does not answer, the epoch has the number 0 until it does.
 */
int collection_begin_epoch(struct collection *collection, const char *label, char *why, size_t size);

/*
 * The machine has changed: measure again what a sample costs, choose the rates again, and begin an epoch with the old
 * one's label if they change by more than a tenth, which `reason` explains in the log. 0, or an error with a sentence,
 * all going on as it was. Takes up to 300 ms, and a commit.
 */
int collection_replan(struct collection *collection, const char *reason, char *why, size_t size);

/*
 * Compare what sampling costs with its limit; to be called before every flush. While it costs too much for long, and
 * now and then to see whether what was assumed still holds, rates are chosen again from what was seen; when they
 * change, an epoch begins. Takes a commit then.
 */
void collection_adjust_rates(struct collection *collection);

/*
 * Take a new configuration over: what can change on the way does, a change of events or sizes begins a new epoch.
 * 0; an error with a sentence, the old configuration going on; -ECANCELED when collection had to end over it.
 * Descriptors change: ask for them again.
 */
int collection_reconfigure(struct collection *collection, const struct config *config, char *why, size_t size);

/* Does taking `config` over begin a new epoch? */
bool collection_must_reopen(const struct collection *collection, const struct config *config);

/* Stop counting: no more samples are taken; those that were recorded are still to be committed. */
void collection_stop(struct collection *collection);

/* Before the last commit: have images that may soon be gone captured, in two seconds at most. */
void collection_finish_capture(struct collection *collection);

/*
 * Everything in order for the watchdog: the last drain succeeded and the flusher's thread is there. That it cannot
 * write, or waits for the disk, is no reason to end: what is in memory would be lost.
 */
bool collection_is_healthy(const struct collection *collection);

struct sampler *collection_sampler(struct collection *collection);
struct flusher *collection_flusher(struct collection *collection);

/* ---- what has been counted ---- */

/*
 * What was counted in the epochs that have ended, since dcpid began. An epoch's numbers begin at 0, and events come and
 * go with the configuration; a program that draws curves of a daemon needs numbers that only grow. Events are
 * identified by their name, so that two with one name (a clock that stands in for cycles, beside that clock) are
 * counted as one.
 */
struct collection_past_event {
	char name[EVENT_NAME_SIZE];
	struct slice_event counts;
};

struct collection_past {
	size_t event_count;
	struct collection_past_event *events; /* in the order in which they came up first */
	uint64_t epochs;                      /* begun, the one that goes on included */
};

void collection_past_fini(struct collection_past *totals);

/* Make room for the events of an epoch that is to begin: 0, or -ENOMEM with nothing changed. */
int collection_past_reserve(struct collection_past *totals, const struct epoch *epoch);

/* Add what was counted in `epoch` (room was made for it), one of `counts` for each of its events. */
void collection_past_add(struct collection_past *totals, const struct epoch *epoch, const struct slice_event *counts);

struct collection_totals {
	size_t event_count;
	struct slice_event events[EVENTS_MAX];
	uint64_t sideband_lost;
	uint64_t skipped;
};

struct collection_view {
	const struct config *config;
	const struct epoch *epoch;
	size_t cpu_count;                /* that are sampled now */
	size_t idle_cpus;                /* ... rarely, as they are idle */
	uint64_t idle_ticks;             /* of the epoch's timers that found a CPU idle, until the last flush */
	double idle_ticks_per_s;         /* of all CPUs together */
	char cpus[128];                  /* the CPUs that are sampled now: "0-3,8" */
	struct collection_totals totals; /* of the epoch; losses up to the last take */
	uint64_t samples, unknown, lost, dropped; /* of all epochs since the collection was opened */
	uint64_t sideband_lost, skipped;          /* of all epochs since the collection was opened */
	uint64_t kept;                            /* samples in memory, not in the database */
	struct overhead overhead;                 /* of the epoch, up to now */
	const struct collection_past *past;       /* the epochs before this one */
	uint32_t slice;                           /* the newest in the database; 0: none yet */
	size_t tally_size, tally_limit;
	struct attribution_stats attribution;
	struct profile_stats profile;
	uint64_t flush_time_ns; /* when the last flush succeeded, ns since 1970; 0: never */
	uint64_t flush_duration_ns;
	uint64_t flush_entries;
	uint64_t flush_tries;      /* that have ended, one way or the other */
	uint64_t flushes;          /* of them, those that succeeded */
	uint64_t sessions;         /* that ended because their images and contexts took too much memory */
	int flush_error;           /* why the last try failed; 0: it did not */
	uint64_t flush_pending_ns; /* how long the flusher has had the job that it has; 0: none */
	bool stalled;              /* both tallies full: samples are dropped */
	uint64_t trouble_since_ns; /* when flushes began to fail, ns since 1970; 0: they do not */
	uint64_t trouble_dropped;  /* samples dropped since then */
	struct capturer_stats capture;
	struct unwind_tables_stats unwind;
	struct file_ids_stats files;
	struct proc_reader_stats reader;
	uint64_t cpu_time_ns;     /* of dcpid and what it started */
	bool captures;            /* `capture` is valid; false: nothing is captured */
	bool unwinds;             /* `unwind` is valid; false: no stacks of programs are sampled */
	struct quarantined aside; /* a damaged database that was put aside and is still there; else without a name */
};

void collection_view(const struct collection *collection, struct collection_view *view);

/* ---- what an epoch counts and what it cannot count, for people; stateless ---- */

/* "cpu-clock: 250 samples/s per CPU; note" into `text`. */
void collection_announce_event(const struct event *event, char *text, size_t size);

/* An event as it is configured: "cycles: a sample every 2000003 events, precise level 3 or less". */
void collection_announce_spec(const struct event_spec *spec, char *text, size_t size);

/* Log that the epoch begins. */
void collection_announce_epoch(const struct log *log, const char *database, const struct epoch *epoch);

/* Log each of its events, and what else limits what will be seen. */
void collection_announce_events(const struct log *log, const struct epoch *epoch);

/* Log that what was configured is expected to cost more than the limit, when it is. */
void collection_announce_overhead(const struct log *log, const struct epoch *epoch, uint64_t limit_ppm);

#endif
