/* What runs already, and what lost records did not tell: read from /proc by a child (proc_reader.h). */
#include "collectord/sampler_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "collectord/machine.h"

#define START_WAIT_NS      UINT64_C(250000000) /* in which a usual machine has been read whole */
#define TAKE_NS            UINT64_C(5000000)   /* that a drain gives to what was found */
#define SETTLE_NS          UINT64_C(200000000)
#define RESCAN_INTERVAL_NS UINT64_C(10000000000)
#define RESCAN_SHARE       50 /* reading takes no more than one of so many parts of the time */

/* ---- records that were lost ---- */

/*
 * A process that began, or loaded a library, in a record that was lost would stay unknown, or be taken for its parent,
 * as long as it lives: /proc is read again. Those that are sampled and unknown are read at once (sampler_hold). That
 * others are not what they seem nobody tells, so all are read, but not all the time: each reading makes the machine
 * busier, and where records are lost because it is too busy it would lose more.
 */
void
sampler_rescan(struct sampler *sampler)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	struct attribution_stats stats;
	uint64_t interval_ns = RESCAN_INTERVAL_NS;
	int err;

	if (!sampler->records_lost || proc_reader_is_busy(sampler->reader))
		return;
	attribution_stats(sampler->attribution, &stats);
	if (interval_ns < RESCAN_SHARE * stats.scan_ns)
		interval_ns = RESCAN_SHARE * stats.scan_ns;
	if (sampler->rescan_ns && now_ns - sampler->rescan_ns < interval_ns)
		return;
	sampler->rescan_ns = now_ns;
	sampler->rescans_for_overflow = sampler->records_overflowed;
	sampler->records_lost = sampler->records_overflowed = false;
	err = proc_reader_ask_all(sampler->reader, true);
	if (err)
		log_write(sampler->log, LOG_LEVEL_WARNING, "/proc cannot be read again: %s", error_text(err));
}

static void
end_scan(struct sampler *sampler, const struct proc_reader_stats *stats)
{
	sampler->scans = stats->scans;
	if (stats->refused && stats->scans == 1)
		attribution_log_refused(sampler->attribution, stats->refused, sampler->log);
	if (sampler->rescans_for_overflow)
		log_write(
			sampler->log, LOG_LEVEL_WARNING,
			"records about processes were lost, their buffer was full (sideband_ring_kib); /proc was read "
			"again: %s",
			stats->error ? error_text(stats->error) : "done");
	else if (stats->error)
		log_write(sampler->log, LOG_LEVEL_WARNING, "/proc cannot be read: %s", error_text(stats->error));
	sampler->rescans_for_overflow = false;
	if (sampler->again.count > 0)
		(void)process_labels_restore(attribution_labels(sampler->attribution), &sampler->again,
		                             machine_clock_ns(CLOCK_MONOTONIC));
	labelled_processes_fini(&sampler->again);
}

static void
see_to_scan(struct sampler *sampler)
{
	struct proc_reader_stats stats;

	proc_reader_stats(sampler->reader, &stats);
	if (stats.scans != sampler->scans)
		end_scan(sampler, &stats);
}

void
sampler_take_found(struct sampler *sampler)
{
	proc_reader_take(sampler->reader, TAKE_NS);
	see_to_scan(sampler);
}

int
sampler_scan(struct sampler *sampler, char *why, size_t size)
{
	struct proc_reader_stats stats;
	int err;

	err = attribution_begin(sampler->attribution);
	if (!err)
		err = proc_reader_ask_all(sampler->reader, false);
	if (!err) {
		/* No sample comes before they are enabled, and on most machines none has to wait. */
		proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + START_WAIT_NS);
		proc_reader_stats(sampler->reader, &stats);
		see_to_scan(sampler);
		err = stats.error;
	}
	if (err)
		snprintf(why, size, "/proc: cannot read which processes run: %s%s", error_text(err),
		         err == -EMFILE ? " (raise the limit of open files: ulimit -n, or LimitNOFILE= of the service)"
		                        : "");
	return err;
}

/* ---- samples that wait ---- */

bool
sampler_hold(struct sampler *sampler, size_t event, const struct record *record, uint64_t beyond, unsigned cause)
{
	struct held_sample *held;

	if (cause == UNKNOWN_RECORDS && !proc_reader_is_at_all(sampler->reader))
		(void)proc_reader_ask(sampler->reader, record->pid);
	if (!attribution_awaits(sampler->attribution, record, cause) || sampler->held_count == HELD_SAMPLES_MAX)
		return false;
	held = array_grow(sampler->held, &sampler->held_capacity, sampler->held_count + 1, sizeof(*held));
	if (!held)
		return false;
	sampler->held = held;
	held[sampler->held_count] = (struct held_sample){.record = *record, .beyond = beyond, .event = event};
	held[sampler->held_count++].record.sample.branches = NULL; /* they are in the ring, and not ours */
	return true;
}

static int
book(struct sampler *sampler, const struct held_sample *held)
{
	struct slice_event *total = &sampler->totals[held->event];
	const uint16_t sum = sampler->sums[held->event];
	struct sample_key key;
	int cause = attribution_sample_late(sampler->attribution, &held->record, &key);
	int err = 0;

	key.event = (uint16_t)held->event;
	if (cause) {
		total->unknown[cause - 1]++;
		if (sum)
			sampler->totals[sum].unknown[cause - 1] += held->beyond;
	} else if (held->beyond) {
		err = tally_add_with_sum(sampler->tally, &key, 1, sum, held->beyond);
	} else {
		err = tally_add(sampler->tally, &key, 1);
	}
	if (err && sampler->relieving) {
		total->dropped++;
		return 0;
	}
	if (err)
		return err;
	total->samples++;
	if (held->beyond)
		sampler->totals[sum].samples += held->beyond;
	return 0;
}

int
sampler_book_held(struct sampler *sampler)
{
	size_t booked = 0;
	int err = 0;

	if (sampler->held_count == 0 || (proc_reader_is_busy(sampler->reader) && !sampler->books_held))
		return 0;
	while (booked < sampler->held_count && !err) {
		err = book(sampler, &sampler->held[booked]);
		booked += !err;
	}
	sampler->held_count -= booked;
	memmove(sampler->held, sampler->held + booked, sampler->held_count * sizeof(*sampler->held));
	if (sampler->held_count > 0)
		return err;
	free(sampler->held);
	sampler->held = NULL;
	sampler->held_capacity = 0;
	sampler->books_held = false;
	return 0;
}

void
sampler_settle(struct sampler *sampler)
{
	if (sampler->held_count == 0 && sampler->again.count == 0)
		return;
	proc_reader_wait(sampler->reader, machine_clock_ns(CLOCK_MONOTONIC) + SETTLE_NS);
	see_to_scan(sampler);
	sampler->books_held = sampler->held_count > 0;
}

void
sampler_reader_stats(const struct sampler *sampler, struct proc_reader_stats *stats)
{
	proc_reader_stats(sampler->reader, stats);
}

uint64_t
sampler_reader_cpu_ns(const struct sampler *sampler)
{
	return proc_reader_cpu_ns(sampler->reader);
}
