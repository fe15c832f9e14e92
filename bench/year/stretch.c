/* What is sampled in a stretch of the year. */
#include "bench/year/year.h"

#include <math.h>

#include "profile/profile.h"

/* Busy CPUs: 90 % by day, the most at midnight UTC, 30 by night, two thirds of that at weekends; of a whole day, what
 * that makes. */
static double
load_of(uint64_t from_ns, uint64_t length_ns)
{
	const uint64_t ns = length_ns < DAY_NS ? from_ns + length_ns / 2 : from_ns + DAY_NS / 4;
	double load = 0.6 + 0.3 * cos(6.283185307179586 * (double)(ns % DAY_NS) / (double)DAY_NS);

	return ns / DAY_NS % WEEK >= 5 ? load * 2 / 3 : load;
}

/* A short command is another one in each hour of the stretch. */
static void
add_short_key(struct year_bench *bench, const struct key *key, uint64_t from_ns, uint64_t length_ns, double samples,
              struct slice *slice, struct times *took)
{
	const uint64_t hours = length_ns > HOUR_NS ? length_ns / HOUR_NS : 1;

	for (uint64_t i = 0; i < hours; i++) {
		const uint32_t *commands = short_commands(bench, (int64_t)(from_ns / HOUR_NS + i));

		add_key(bench, key, commands[key->command - COMMANDS], samples / (double)hours, slice, took);
	}
}

/* What is sampled in `length_ns` from `from_ns` on, of the year; the flush or flushes into slice *id. */
static void
write_stretch(struct year_bench *bench, uint64_t from_ns, uint64_t length_ns, uint32_t *id, bool timed)
{
	const double samples = CPUS * (double)RATE * load_of(from_ns, length_ns) * (double)length_ns / 1e9;
	struct slice slice = {
		.id = *id,
		.epoch = bench->epoch,
		.start_ns = BEGIN_NS + from_ns,
		.end_ns = BEGIN_NS + from_ns + length_ns,
		.event_count = EVENTS,
	};
	struct times took = {0};

	bench->entries_flushed = 0;
	deploy(bench, from_ns);
	if (!timed)
		write_parts(bench, samples, &slice);
	for (size_t i = 0; i < KEYS; i++) {
		/* neighbours in rank are flushed at different times, as in life */
		const struct key *key = &bench->keys[i * 7919 % KEYS];

		if (key->command >= COMMANDS)
			add_short_key(bench, key, from_ns, length_ns, samples, &slice, &took);
		else if (timed)
			add_key(bench, key, bench->command_numbers[key->command], samples, &slice, &took);
	}
	flush(bench, &slice, &took);
	*id = slice.id;
	if (timed && bench->figures.flushes < FLUSHES_TIMED)
		note_flush(&bench->figures, took);
	note_addresses(&bench->figures, length_ns, bench->entries_flushed);
	retain(bench, BEGIN_NS + from_ns + length_ns, FLUSH_RETENTION_STEPS * (length_ns / FLUSH_NS));
	if (bench->context_count > SESSION_LIMIT) {
		profile_reset_session(bench->profile);
		begin_session(bench);
	}
}

void
write_period(struct year_bench *bench, uint64_t from_ns, uint64_t to_ns, uint64_t slice_ns, uint64_t flush_ns,
             bool timed)
{
	for (uint64_t at_ns = from_ns; at_ns < to_ns; at_ns += slice_ns) {
		uint32_t slice = 0;

		for (uint64_t ns = at_ns; ns < at_ns + slice_ns; ns += flush_ns)
			write_stretch(bench, ns, flush_ns, &slice, timed);
	}
}
