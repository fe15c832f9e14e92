/*
 * sampler.h - events open on every CPU, their rings drained into a tally
 *
 * Each CPU has two rings: one for the samples of all events, one for mapping and process records, so that a burst of
 * samples cannot push out the records that explain them; and one for call stacks, if they are sampled. Records of all
 * rings are merged by time up to a horizon SAMPLER_LAG_NS in the past, attributed and added to the tally. A child reads
 * from /proc what runs already (proc_reader.h). It reads again after a loss of mapping and process records: at once the
 * processes whose samples are then unknown, and all processes at most every 10 s and for a fiftieth of the time.
 * Samples that this may explain wait for it. Thread rule: one thread (the event loop's).
 */
#ifndef DCPI_COLLECTORD_SAMPLER_H
#define DCPI_COLLECTORD_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "collectord/budget.h"
#include "collectord/config.h"
#include "collectord/proc_reader.h"
#include "event/event.h"
#include "process/attribution.h"
#include "process/process_labels.h"
#include "profile/epoch.h"
#include "profile/label_times.h"
#include "tally/tally.h"

/* How far behind the present records are taken: longer than any CPU takes to finish writing one. */
#define SAMPLER_LAG_NS UINT64_C(50000000)

struct sampler;
struct unwind_tables;

/* ---- sampler.c: events, and their records into a tally ---- */

/*
 * Resolve the configured events, open them on every online CPU, scan /proc. 0 with *sampler set; a negative error with
 * a sentence in `why` when nothing at all can be sampled. Events that this machine lacks are no error: sampler_events()
 * has them, marked. `config`, and `known` (NULL: nothing is), are borrowed only during the call, `log` (NULL allowed)
 * for the sampler's life.
 */
int sampler_open(const struct config *config, const struct kernel_known *known, const struct log *log,
                 struct sampler **sampler, char *why, size_t size);
void sampler_close(struct sampler *sampler); /* NULL is allowed */

/* In the order of the configuration, then the sums of those whose period varies (EVENT_SUM_SUFFIX), then the call
 * stacks (EVENT_STACKS_SUFFIX). */
const struct event *sampler_events(const struct sampler *sampler, size_t *count);

/*
 * Choose the rates again (budget.h): from what was `seen`, or, when that is NULL, after measuring again what samples
 * cost. True when they are to change: `events`, a copy of sampler_events() that the caller owns, then has what
 * sampler_set_periods() is to be given, in an epoch of its own.
 */
bool sampler_plan(struct sampler *sampler, const struct budget_observation *seen, struct event *events);

/*
 * Take the records older than SAMPLER_LAG_NS. 0; -ENOSPC when the tally is full: what was not added is kept and
 * goes first next time - take the counts (sampler_take) and drain again.
 */
int sampler_drain(struct sampler *sampler);

/*
 * Is a ring a third full, or is there a record about processes, and the last drain `since_ns` ago? A process
 * may have ended, and its file be gone, before the rings are full: names and text are captured of images that samples
 * were attributed to. A quarter of a second is soon enough for that, unless sampler_is_filling().
 */
bool sampler_drain_is_due(const struct sampler *sampler, uint64_t since_ns);

/* Is there a record about processes that has not been taken yet? */
bool sampler_has_process_records(const struct sampler *sampler);

/*
 * Was a file mapped since the last call that is not remembered as mapped before? It may be deleted, and the process
 * that runs it end, within a fraction of a second: a drain is due as soon as the record is SAMPLER_LAG_NS old. Takes
 * nothing. So cheap that it can be asked ten times a second.
 */
bool sampler_has_new_file(struct sampler *sampler);

/*
 * Is a ring filling so fast that it should be drained as soon as what it holds is SAMPLER_LAG_NS old? It does
 * not become readable again before it is full.
 */
bool sampler_is_filling(const struct sampler *sampler);

/*
 * Drain although the tally is full and its counts cannot be taken for now; if `patient`, only when a ring is more than
 * half full. Samples for which the tally has no room are dropped, and counted as dropped; records about processes are
 * applied, and samples of keys that the tally has are counted. 0 or -errno.
 */
int sampler_drain_dropping(struct sampler *sampler, bool patient);

/*
 * Take everything that has been recorded when the call is made, for a synchronous flush: waits SAMPLER_LAG_NS first.
 * As sampler_drain().
 */
int sampler_drain_all(struct sampler *sampler);

/*
 * Swap the filled tally for `empty` (which becomes the sampler's), and move the numbers counted since the last take to
 * `slice`: samples, unknown, lost, throttled, skipped, per event and per CPU. slice->epoch, id and times are left
 * alone. Returns the filled tally. Never fails: without memory for the per-CPU list only the totals are there.
 */
struct tally *sampler_take(struct sampler *sampler, struct tally *empty, struct slice *slice);

/*
 * Give images and contexts new numbers, of new tables: to be called when nothing has been counted since sampler_take().
 * 0 with *images, *contexts and *stacks (NULL: call stacks are not sampled) set to the old tables, the caller's now:
 * what was taken refers to them. -ENOMEM: the old ones go on.
 */
int sampler_reset_ids(struct sampler *sampler, struct image_table **images, struct context_table **contexts,
                      struct stack_table **stacks);

/*
 * What has been counted since the last take, one for each event; losses that the kernel counts itself are read at the
 * take.
 */
const struct slice_event *sampler_counted(const struct sampler *sampler);

/*
 * Before an epoch ends: samples that wait for what is being read of /proc, and call stacks that wait for tables, are
 * counted with the next drain, whatever has come by then; until the next take, no stack waits. Waits for it for a
 * moment when there are any.
 */
void sampler_release_held(struct sampler *sampler);

/* Before a take that sampler_reset_ids() follows: stacks that wait for unwind tables are counted, however they end. */
void sampler_settle_stacks(struct sampler *sampler);

/* ---- labels of process trees ---- */

/* As process_labels_add(), which has the rules; `time_ns` is CLOCK_MONOTONIC, and later than the last drain began. */
int sampler_label(struct sampler *sampler, uint32_t pid, const char *label, enum label_start start, uint64_t time_ns);
uint64_t sampler_label_changes(const struct sampler *sampler);

/* The processes that have labels, for sampler_label_again() of the next sampler before it drains. 0 or -ENOMEM. */
int sampler_labelled(const struct sampler *sampler, struct labelled_processes *labelled);
int sampler_label_again(struct sampler *sampler, const struct labelled_processes *labelled);

/*
 * For how long which label lasted since this was last called, as far as has been drained. `realtime_offset_ns` is
 * CLOCK_REALTIME less CLOCK_MONOTONIC.
 */
void sampler_take_label_times(struct sampler *sampler, uint64_t realtime_offset_ns, struct label_times *times);

struct tally *sampler_tally(const struct sampler *sampler);
const struct image_table *sampler_images(const struct sampler *sampler);
const struct context_table *sampler_contexts(const struct sampler *sampler);

/* The session's call stacks; NULL: they are not sampled. */
const struct stack_table *sampler_stacks(const struct sampler *sampler);

/* True when unwind tables will be there in a moment: stacks that are drained before them end early. */
bool sampler_expects_tables(const struct sampler *sampler);

/* By which stacks are unwound from now on; borrowed. NULL: none. */
void sampler_use_tables(struct sampler *sampler, struct unwind_tables *tables);

/* For what does not concern samples: makers of code, files, the kernel's symbols, statistics. */
struct attribution *sampler_attribution(const struct sampler *sampler);

/* What reads /proc, for its statistics. */
const struct proc_reader *sampler_reader(const struct sampler *sampler);

/* ---- sampler_cpus.c: the CPUs that are sampled now, their counters and rings ---- */

/* Start or stop counting on all CPUs. 0 or -errno: counters that failed are as they were, the others are not. */
int sampler_enable(struct sampler *sampler);
int sampler_disable(struct sampler *sampler);

/* Is counting started? False after sampler_disable(), whether that succeeded or not. */
bool sampler_is_enabled(const struct sampler *sampler);

/* Sample with the periods of `events`, the sampler's own with others, from now on. 0, or -errno: all is as it was. */
int sampler_set_periods(struct sampler *sampler, const struct event *events);

size_t sampler_cpu_count(const struct sampler *sampler);
void sampler_cpu_list(const struct sampler *sampler, char *text, size_t size); /* "0,2,5-7", cut to `size` */

/* Has a CPU gone, come, or gone and come back? It reads a counter of every CPU: not to be called all the time. */
bool sampler_is_outdated(const struct sampler *sampler);

/*
 * Sample the CPUs that came online and have no rings: at once, for the kernel records no processes that begin on
 * them before. Descriptors change. 0, or -errno when the list of CPUs cannot be read.
 */
int sampler_add_cpus(struct sampler *sampler);

/*
 * Sample the CPUs that are online now. What the rings of those that went still hold is lost: drain first
 * (sampler_drain_all). Descriptors change, and none of those that are closed may be watched any more. 0, or -errno when
 * the list of CPUs cannot be read.
 */
int sampler_follow_cpus(struct sampler *sampler);

/*
 * Every 10 s, try the events again that could not be opened on some CPU. True when one could, or when a CPU is not
 * sampled that perhaps can be by now: sampler_follow_cpus() is to be called.
 */
bool sampler_retry_events(struct sampler *sampler);

/*
 * Descriptors, for the event loop, that become readable when a ring reaches its watermark; -1 for none.
 * sampler_dither() is due then, and a drain when sampler_drain_is_due().
 */
size_t sampler_descriptor_count(const struct sampler *sampler);
int sampler_descriptor(const struct sampler *sampler, size_t index);

/*
 * Must the event loop wake up for that descriptor? Not for the samples of a busy CPU: a timer, at
 * sampler_idle_due_ns(), drains those of all CPUs once a second, and each ring's wake-ups would come on top of it. Yes
 * for a ring that one second can fill by more than a half.
 */
bool sampler_needs_wakeup(const struct sampler *sampler, size_t index);

/*
 * Does some counter of a software event have a period that follows its rate, and is longer than 1? Then
 * sampler_dither() is due twice a second, also when no ring fills: when a burst is over, the period is too long.
 */
bool sampler_is_paced(const struct sampler *sampler);

/*
 * Change the periods of counters that took enough samples with theirs (dither.h); to be called when a
 * ring is readable, and when sampler_idle_due_ns() is over. Drains nothing.
 */
void sampler_dither(struct sampler *sampler);

/*
 * Sample CPUs that have nothing to do at config->idle_rate, and those that work again at the full rate: to be called
 * when a ring is readable, before a drain, and when sampler_idle_due_ns() (CLOCK_MONOTONIC; UINT64_MAX: never) is over.
 * The first sample of an idle CPU makes its ring readable. While a process has a label, no CPU counts as idle.
 */
void sampler_watch_idle(struct sampler *sampler);
uint64_t sampler_idle_due_ns(const struct sampler *sampler);

/* How many CPUs are sampled rarely now, because they are idle. */
size_t sampler_idle_cpu_count(const struct sampler *sampler);

#endif
