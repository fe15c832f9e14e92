/*
 * growth_bench - a year of a machine with 64 CPUs, written into a database as dcpid would, in some minutes
 *
 * The machine takes 5,200 samples/s on each CPU that is busy: more by day than by night, less at weekends. KEYS
 * addresses (image, offset, event, command) are sampled with Zipf's distribution over procedures; every image is
 * replaced by a new build once a week, each on its own day, and a twentieth of the work is done by commands that nobody
 * has seen before and that are gone within the hour. How often an address is sampled in a flush is drawn from Poisson's
 * distribution. What is drawn goes through a tally of dcpid's default size, a flush whenever it is three quarters full,
 * and, as in dcpid, the steps of retention after each flush.
 *
 * Ten million samples are cheap, 3.2 million flushes are not. So most of the year is written a day at a time. At some
 * points of it the database is made as it would be: six days by the hour, a day by 10 minutes, and of that the last
 * half hour, the busiest, by 10 seconds, which is what is timed. A coarse flush gets as many steps of retention as the
 * fine ones together would get. Only these points are printed. Times are of the processor and of the clock; other work
 * on the machine and the disk are in the clock's only.
 * Usage: growth_bench DCPIPROF [directory] > growth.csv
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/year/year.h"
#include "profile/profile.h"
#include "tests/remove_tree.h"

/* Days that have just ended, none of a weekend. */
static const int points[] = {1, 8, 15, 31, 61, 92, 122, 183, 228, 304, YEAR};

/* To the end of `day`, from a week before at most, as it would be: the last day by 10 minutes, its end by 10 s.
 */
static void
write_week(struct year_bench *bench, int begin, int day)
{
	const uint64_t end_ns = (uint64_t)day * DAY_NS;

	write_period(bench, (uint64_t)begin * DAY_NS, end_ns - DAY_NS, HOUR_NS, HOUR_NS, false);
	write_period(bench, end_ns - DAY_NS, end_ns - FINE_NS, HOUR_NS / 6, HOUR_NS / 6, false);
	write_period(bench, end_ns - FINE_NS, end_ns, HOUR_NS / 6, FLUSH_NS, true);
	print_point(bench, day);
}

static void
write_year(struct year_bench *bench)
{
	int day = 0;

	printf("day,file_bytes,used_bytes,slices,images,contexts,blocks,flush_cpu_ms,flush_99_cpu_ms,flush_ms,flush_99_"
	       "ms,"
	       "steps_share,step_cpu_ms,longest_step_cpu_ms,query_all_cpu_ms,query_all_ms,query_day_cpu_ms,"
	       "query_day_ms,addresses_10_minutes,addresses_hour\n");
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		for (; day < points[i] - WEEK; day++)
			write_period(bench, (uint64_t)day * DAY_NS, (uint64_t)(day + 1) * DAY_NS, DAY_NS, DAY_NS,
			             false);
		write_week(bench, day, points[i]);
		day = points[i];
	}
}

int
main(int argc, char **argv)
{
	const struct profile_options options = {.write = true, .size_limit = LIMIT};
	const char *parent = argc > 2 ? argv[2] : getenv("TMPDIR");
	struct year_bench *bench = calloc(1, sizeof(*bench));
	struct epoch epoch = {
		.start_ns = BEGIN_NS,
		.end_ns = BEGIN_NS,
		.cpu_count = CPUS,
		.event_count = EVENTS,
		.events = {{.name = "cycles", .available = true}, {.name = "cache-misses", .available = true}},
	};
	char directory[4096];

	snprintf(directory, sizeof(directory), "%s/growth_bench-XXXXXX", parent ? parent : "/tmp");
	if (argc < 2 || !bench || !mkdtemp(directory)) {
		fprintf(stderr, "usage: growth_bench DCPIPROF [directory]\n");
		free(bench);
		return 2;
	}
	bench->directory = directory;
	bench->dcpiprof = argv[1];
	bench->state = 1997;
	bench->keys = calloc(KEYS, sizeof(*bench->keys));
	bench->tally = tally_new(TALLY_LIMIT);
	for (size_t i = 0; i < PARTS; i++)
		bench->sorted[i] = calloc(KEYS, sizeof(struct sorted_key));
	bench->entries = calloc(KEYS, sizeof(*bench->entries));
	bench->new_images = calloc((size_t)IMAGES * 2, sizeof(*bench->new_images));
	bench->new_contexts = calloc(CONTEXTS_MAX, sizeof(*bench->new_contexts));
	if (!bench->keys || !bench->tally || !bench->sorted[0] || !bench->sorted[1] || !bench->entries ||
	    !bench->new_images || !bench->new_contexts)
		bench_require(-ENOMEM, "begin");
	make_keys(bench);
	bench_require(profile_open(directory, &options, &bench->profile), directory);
	flush_retention_options(MAX_AGE, LIMIT, &bench->retention);
	bench_require(profile_begin_epoch(bench->profile, &epoch), "epoch");
	bench->epoch = epoch.id;
	begin_session(bench);
	write_year(bench);
	profile_close(bench->profile);
	tally_free(bench->tally);
	free(bench->keys);
	for (size_t i = 0; i < PARTS; i++)
		free(bench->sorted[i]);
	free(bench->entries);
	free(bench->new_images);
	free(bench->new_contexts);
	free(bench);
	remove_tree(directory);
	return 0;
}
