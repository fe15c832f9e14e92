#include "collectord/flush_retention.h"

#include <inttypes.h>
#include <time.h>

#include "base/error.h"
#include "collectord/machine.h"

#define STEPS_NS                  UINT64_C(100000000)
#define FLUSH_RETENTION_STEPS_MAX 64 /* for one flush */
#define RESERVE_SHARE             16 /* of the limit: LMDB writes new pages before it frees old ones */

void
flush_retention_options(uint64_t max_age_ns, uint64_t size_limit, struct retention_options *options)
{
	retention_default(options);
	options->max_age_ns = max_age_ns;
	options->size_limit = size_limit - size_limit / RESERVE_SHARE;
}

/*
 * Dropping frees no page that a reader still sees: a reader that has made no progress for long is cut off first, and
 * when there is not even room to drop, any reader that makes none at the moment. 1: there may be more room now; 0:
 * nothing can be done.
 */
static int
make_room(struct profile *profile, const struct retention_options *options, unsigned *drops)
{
	int result = profile_cut_reader_off(profile, false);

	if (result)
		return result;
	result = profile_drop_old(profile, options, machine_clock_ns(CLOCK_REALTIME));
	if (result == -DCPI_EFULL)
		return profile_cut_reader_off(profile, true);
	*drops += result > 0;
	return result;
}

int
flush_retention_write(struct profile *profile, const struct profile_batch *batch,
                      const struct retention_options *options, const struct log *log)
{
	struct retention_options smaller = *options;
	int err = profile_flush(profile, batch);
	unsigned drops = 0;

	smaller.size_limit = 1; /* whatever is in use is too much */
	for (unsigned steps = 0; err == -DCPI_EFULL && steps < FLUSH_RETENTION_STEPS_MAX; steps++) {
		if (make_room(profile, &smaller, &drops) <= 0)
			break;
		err = profile_flush(profile, batch);
	}
	if (drops > 0)
		log_write(log, LOG_LEVEL_NOTICE, "the database is full: its oldest counts are dropped");
	return err;
}

/* How many steps found something to do, or the error of the last one. */
static int
take_steps(struct profile *profile, const struct retention_options *options)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_REALTIME);
	const uint64_t end_ns = machine_clock_ns(CLOCK_MONOTONIC) + STEPS_NS;
	int result = profile_clock_is_plausible(profile, now_ns), steps = 0;
	const uint64_t known_ns = result > 0 ? now_ns : 0; /* at 0 nothing is old */

	if (result < 0)
		return result;
	do
		result = profile_retain(profile, options, known_ns);
	while (result > 0 && ++steps < FLUSH_RETENTION_STEPS && machine_clock_ns(CLOCK_MONOTONIC) < end_ns);
	return result < 0 ? result : steps;
}

/*
 * Nothing more can be dropped, and yet more is in use than may be: log once that kept epochs hold the space. Whether
 * that is logged by now.
 */
static bool
say_limit(const struct flush_retention *retention, struct profile *profile, const struct retention_options *options,
          int result, const struct log *log)
{
	struct profile_stats stats;

	if (result != 0 || !options->size_limit || profile_stats(profile, &stats) != 0)
		return retention->is_limit_said;
	if (stats.kept == 0 || stats.used_bytes <= options->size_limit)
		return false;
	if (!retention->is_limit_said)
		log_write(
			log, LOG_LEVEL_WARNING,
			"the database is at its limit, and what is left in it is kept (%" PRIu64
			" epoch%s: dcpictl keep): release some (dcpictl keep --release EPOCH), or raise size_limit_mib",
			stats.kept, stats.kept == 1 ? "" : "s");
	return true;
}

bool
flush_retention_step(struct flush_retention *retention, struct profile *profile,
                     const struct retention_options *options, uint32_t slice, uint64_t used_bytes,
                     const struct log *log)
{
	const bool is_over = options->size_limit && used_bytes > options->size_limit;
	int result, err;

	if (retention->is_done && retention->slice == slice && !is_over &&
	    machine_clock_ns(CLOCK_MONOTONIC) - retention->done_ns < FLUSH_RETENTION_REST_NS)
		return false;
	result = take_steps(profile, options);
	err = result < 0 ? result : 0;
	if (err && err != retention->error)
		log_write(log, LOG_LEVEL_WARNING, "cannot merge or drop old slices: %s", error_text(err));
	*retention = (struct flush_retention){
		.is_limit_said = say_limit(retention, profile, options, result, log),
		.error = err,
		.is_done = result == 0,
		.done_ns = machine_clock_ns(CLOCK_MONOTONIC),
		.slice = slice,
	};
	return result != 0;
}
