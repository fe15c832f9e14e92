#include "collectord/retainer.h"

#include <inttypes.h>
#include <time.h>

#include "base/error.h"
#include "collectord/machine.h"
#include "profile/compact.h"

#define STEPS_NS      UINT64_C(100000000)
#define STEPS_MAX     64 /* for one flush */
#define RESERVE_SHARE 16 /* of the limit: LMDB writes new pages before it gives old ones back */

void
retainer_options(uint64_t max_age_ns, uint64_t size_limit, struct retention_options *options)
{
	retention_default(options);
	options->max_age_ns = max_age_ns;
	options->size_limit = size_limit - size_limit / RESERVE_SHARE;
}

/*
 * What is dropped gives no room while somebody sees it: who has not gone on for long goes first, and when there is not
 * even room to drop, whoever does not at the moment. 1: there is more room now, perhaps; 0: nothing can be done.
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
retainer_flush(struct profile *profile, const struct profile_batch *batch, const struct retention_options *options,
               const struct log *log)
{
	struct retention_options smaller = *options;
	int err = profile_flush(profile, batch);
	unsigned drops = 0;

	smaller.size_limit = 1; /* whatever is in use is too much */
	for (unsigned steps = 0; err == -DCPI_EFULL && steps < STEPS_MAX; steps++) {
		if (make_room(profile, &smaller, &drops) <= 0)
			break;
		err = profile_flush(profile, batch);
	}
	if (drops > 0)
		log_write(log, LOG_LEVEL_NOTICE, "the database is full: its oldest counts are dropped");
	return err;
}

static bool
may_rest(const struct retainer *retainer, const struct retention_options *options, uint32_t slice, uint64_t used_bytes)
{
	return retainer->is_done && retainer->slice == slice &&
	       (!options->size_limit || used_bytes <= options->size_limit) &&
	       machine_clock_ns(CLOCK_MONOTONIC) - retainer->done_ns < RETAINER_REST_NS;
}

/* How many steps found something to do, or what the last one failed with. */
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
	while (result > 0 && ++steps < RETAINER_STEPS && machine_clock_ns(CLOCK_MONOTONIC) < end_ns);
	return result < 0 ? result : steps;
}

/* Nothing can be dropped any more, and yet more is in use than may be: say, once, what holds the space. */
static bool
tell_of_kept(const struct retainer *retainer, struct profile *profile, const struct retention_options *options,
             int result, const struct log *log)
{
	struct profile_stats stats;

	if (result != 0 || !options->size_limit || profile_stats(profile, &stats) != 0)
		return retainer->is_told;
	if (stats.kept == 0 || stats.used_bytes <= options->size_limit)
		return false;
	if (!retainer->is_told)
		log_write(
			log, LOG_LEVEL_WARNING,
			"the database is at its limit, and what is left in it is kept (%" PRIu64
			" epoch%s: dcpictl keep): release some (dcpictl keep --release EPOCH), or raise size_limit_mib",
			stats.kept, stats.kept == 1 ? "" : "s");
	return true;
}

bool
retainer_step(struct retainer *retainer, struct profile *profile, const struct retention_options *options,
              uint32_t slice, uint64_t used_bytes, const struct log *log)
{
	int result, err;

	if (may_rest(retainer, options, slice, used_bytes))
		return false;
	result = take_steps(profile, options);
	err = result < 0 ? result : 0;
	if (err && err != retainer->error)
		log_write(log, LOG_LEVEL_WARNING, "cannot merge or drop old slices: %s", error_text(err));
	*retainer = (struct retainer){
		.is_told = tell_of_kept(retainer, profile, options, result, log),
		.error = err,
		.is_done = result == 0,
		.done_ns = machine_clock_ns(CLOCK_MONOTONIC),
		.slice = slice,
	};
	return result != 0;
}
