#include "collectord/retainer.h"

#include <time.h>

#include "base/error.h"
#include "collectord/machine.h"
#include "profile/compact.h"

#define STEPS_NS      UINT64_C(100000000)
#define DROPS_MAX     64 /* steps for one flush */
#define RESERVE_SHARE 16 /* of the limit: LMDB writes new pages before it gives old ones back */

void
retainer_options(uint64_t max_age_ns, uint64_t size_limit, struct retention_options *options)
{
	retention_default(options);
	options->max_age_ns = max_age_ns;
	options->size_limit = size_limit - size_limit / RESERVE_SHARE;
}

int
retainer_flush(struct profile *profile, const struct profile_batch *batch, const struct retention_options *options,
               const struct log *log)
{
	struct retention_options smaller = *options;
	int err = profile_flush(profile, batch), drops = 0, cut;

	if (err == -DCPI_EFULL) {
		cut = profile_cut_reader_off(profile);
		if (cut < 0) /* what is dropped would give no room while somebody sees it */
			return err;
		if (cut > 0)
			err = profile_flush(profile, batch);
	}
	smaller.size_limit = 1; /* whatever is in use is too much */
	while (err == -DCPI_EFULL && drops < DROPS_MAX) {
		if (profile_drop_old(profile, &smaller, machine_clock_ns(CLOCK_REALTIME)) <= 0)
			break;
		drops++;
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
	int result = profile_knows_time(profile, now_ns), steps = 0;
	const uint64_t known_ns = result > 0 ? now_ns : 0; /* at 0 nothing is old */

	if (result < 0)
		return result;
	do
		result = profile_retain(profile, options, known_ns);
	while (result > 0 && ++steps < RETAINER_STEPS && machine_clock_ns(CLOCK_MONOTONIC) < end_ns);
	return result < 0 ? result : steps;
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
		.error = err,
		.is_done = result == 0,
		.done_ns = machine_clock_ns(CLOCK_MONOTONIC),
		.slice = slice,
	};
	return result != 0;
}
