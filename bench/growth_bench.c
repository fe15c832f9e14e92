/*
 * growth_bench - a year of a machine with 64 CPUs, written into a database as dcpid would, in some minutes
 *
 * The machine takes 5,200 samples/s on each CPU that is busy: more by day than by night, less at weekends. KEYS
 * addresses (image, offset, event, command) are sampled with Zipf's distribution over procedures; every image is
 * replaced by a new build once a week, each on its own day, and a twentieth of the work is done by commands that nobody
 * has seen before and that are gone within the hour. How often an address is sampled in a flush is drawn from Poisson's
 * distribution. What is drawn goes through a tally of dcpid's default size, a flush whenever it is three quarters full,
 * and the same steps of retention after each flush.
 *
 * Ten million samples are cheap, 3.2 million flushes are not. So most of the year is written a day at a time. At some
 * points of it the database is made as it would be: six days by the hour, a day by 10 minutes, and of that the last
 * half hour, the busiest, by 10 seconds, which is what is timed. A coarse flush gets as many steps of retention as the
 * fine ones together would get. Only these points are printed. Times are of the processor and of the clock; other work
 * on the machine and the disk are in the clock's only.
 * Usage: growth_bench DCPIPROF [directory] > growth.csv
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"
#include "base/error.h"
#include "collectord/retainer.h"
#include "profile/profile.h"
#include "profile/retention.h"
#include "tally/order.h"
#include "tests/remove_tree.h"

#define CPUS           64
#define RATE           5200 /* samples/s of a busy CPU */
#define IMAGES         400
#define COMMANDS       60
#define SHORT_COMMANDS 40 /* in an hour, and never again */
#define SHORT_SHARE    20 /* one procedure of so many is theirs */
#define PROCEDURES     20000
#define PARTS          2  /* flushes of a long stretch, each of every PARTS'th procedure */
#define INSTRUCTIONS   10 /* of a procedure that are sampled */
#define KEYS           (PROCEDURES * INSTRUCTIONS)
#define ZIPF           1.2
#define EVENTS         2
#define HOURS          24
#define FLUSHES_TIMED  (FINE_NS / FLUSH_NS)
#define TALLY_LIMIT    131072                              /* as config_default() has it */
#define CONTEXTS_MAX   (COMMANDS + SHORT_COMMANDS * HOURS) /* new ones in a flush */
#define SESSION_LIMIT  8000                                /* contexts; dcpid counts bytes */

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS   (3600 * SECOND_NS)
#define DAY_NS    (24 * HOUR_NS)
#define FLUSH_NS  (10 * SECOND_NS)
#define FINE_NS   (HOUR_NS / 2)    /* of a point's last day is written flush by flush */
#define BEGIN_NS  (20458 * DAY_NS) /* Monday 2026-01-05, 00:00 UTC */
#define YEAR      365
#define WEEK      7
#define LIMIT     (UINT64_C(2) << 30)
#define MAX_AGE   (30 * DAY_NS)

#define QUERY_AGAIN_MS 500 /* a query that took less is made a second time */

/* Days that have just ended, none of a weekend. */
static const int points[] = {1, 8, 15, 31, 61, 92, 122, 183, 228, 304, YEAR};

struct times {
	double wall_ms, processor_ms;
};

/* Distinct addresses that were sampled in slices of one length. */
struct addresses {
	uint64_t sum, slices;
};

struct key {
	uint64_t offset;
	double share; /* of all samples */
	uint16_t image, command, event;
};

/* What a key is in the session as it is now. */
struct sorted_key {
	struct tally_entry entry;
	double share;
};

struct figures {
	double wall_ms[FLUSHES_TIMED], processor_ms[FLUSHES_TIMED]; /* of flushes */
	size_t flushes;
	uint64_t steps, steps_allowed;
	double step_ms, longest_step_ms; /* of the processor */
	struct addresses in_tenth, in_hour;
};

struct bench {
	struct profile *profile;
	const char *directory, *dcpiprof;
	struct retention_options retention;
	struct key *keys;
	struct tally *tally;
	struct sorted_key *sorted[PARTS];
	size_t sorted_count[PARTS];
	bool sorted_stale;
	struct tally_entry *entries; /* of a part */
	uint32_t epoch;
	uint64_t state;
	struct figures figures;
	uint64_t entries_flushed;

	/* the session: every build of an image and every command has a number of its own */
	uint32_t image_numbers[IMAGES], command_numbers[COMMANDS];
	uint32_t short_numbers[HOURS][SHORT_COMMANDS]; /* of the hours of a day */
	int builds[IMAGES];
	int64_t hours[HOURS]; /* since the year began, that these are of */
	uint32_t image_count, context_count;
	struct image *new_images;
	struct context *new_contexts;
	size_t new_image_count, new_context_count;
};

static double
clock_ms(clockid_t clock)
{
	return (double)bench_clock_ns(clock) / 1e6;
}

static struct times
times_now(void)
{
	return (struct times){
		.wall_ms = clock_ms(CLOCK_MONOTONIC),
		.processor_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID),
	};
}

static void
times_add_since(struct times *sum, struct times start)
{
	const struct times now = times_now();

	sum->wall_ms += now.wall_ms - start.wall_ms;
	sum->processor_ms += now.processor_ms - start.processor_ms;
}

/* xorshift64*: the same year in every run. */
static double
draw(struct bench *bench)
{
	bench->state ^= bench->state >> 12;
	bench->state ^= bench->state << 25;
	bench->state ^= bench->state >> 27;
	return (double)((bench->state * UINT64_C(0x2545f4914f6cdd1d)) >> 11) / (double)(UINT64_C(1) << 53);
}

/* Poisson's distribution; where it is as good as a normal one, that. */
static uint64_t
draw_poisson(struct bench *bench, double mean)
{
	double product, limit;
	uint64_t count = 0;

	if (mean > 30) {
		double normal = sqrt(-2 * log(1 - draw(bench))) * cos(6.283185307179586 * draw(bench));

		return (uint64_t)fmax(0, mean + sqrt(mean) * normal + 0.5);
	}
	product = draw(bench);
	limit = exp(-mean);
	while (product > limit) {
		product *= draw(bench);
		count++;
	}
	return count;
}

/* Low numbers far more often. */
static size_t
draw_skewed(struct bench *bench, size_t bound)
{
	double u = draw(bench);

	return (size_t)(u * u * u * (double)bound);
}

static void
make_keys(struct bench *bench)
{
	double sum = 0;

	for (size_t rank = 1; rank <= PROCEDURES; rank++)
		sum += pow((double)rank, -ZIPF);
	for (size_t rank = 1; rank <= PROCEDURES; rank++) {
		struct key procedure = {
			.image = (uint16_t)draw_skewed(bench, IMAGES),
			.command =
				(uint16_t)(rank % SHORT_SHARE == 0 ? COMMANDS + (size_t)(draw(bench) * SHORT_COMMANDS)
		                                                   : draw_skewed(bench, COMMANDS)),
			.event = draw(bench) < 0.2,
			.offset = (uint64_t)(draw(bench) * 2000) << 12,
		};
		double parts[INSTRUCTIONS], all = 0;

		for (size_t i = 0; i < INSTRUCTIONS; i++)
			all += parts[i] = -log(1 - draw(bench));
		for (size_t i = 0; i < INSTRUCTIONS; i++) {
			struct key *key = &bench->keys[(rank - 1) * INSTRUCTIONS + i];

			*key = procedure;
			key->offset += (uint64_t)(draw(bench) * 1024) * 4;
			key->share = pow((double)rank, -ZIPF) / sum * parts[i] / all;
		}
	}
}

/* ---- the session ---- */

static uint32_t
add_image(struct bench *bench, size_t image)
{
	struct image *new = &bench->new_images[bench->new_image_count++];
	char *path = NULL;

	if (asprintf(&path, "/usr/lib/fleet/libservice%zu.so", image) < 0)
		bench_require(-ENOMEM, "name");
	*new = (struct image){.kind = IMAGE_USER, .build_id_size = 20, .path = path};
	memcpy(new->build_id, &image, sizeof(image));
	memcpy(new->build_id + 8, &bench->builds[image], sizeof(int));
	return bench->image_count++;
}

/* A command that goes on all year, or one of an hour. */
static uint32_t
add_context(struct bench *bench, size_t command, int64_t hour)
{
	struct context *new = &bench->new_contexts[bench->new_context_count++];
	char *comm = NULL, *cgroup = NULL;
	int made;

	if (command < COMMANDS)
		made = asprintf(&comm, "service%zu", command);
	else
		made = asprintf(&comm, "job%lld", (long long)hour * SHORT_COMMANDS + (long long)command);
	if (made < 0 || asprintf(&cgroup, "/system.slice/%s.service", command < COMMANDS ? comm : "batch") < 0)
		bench_require(-ENOMEM, "name");
	*new = (struct context){.comm = comm, .cgroup = cgroup, .label = ""};
	return bench->context_count++;
}

static void
begin_session(struct bench *bench)
{
	bench->image_count = bench->context_count = 0;
	bench->sorted_stale = true;
	for (size_t i = 0; i < IMAGES; i++)
		bench->image_numbers[i] = add_image(bench, i);
	for (size_t i = 0; i < COMMANDS; i++)
		bench->command_numbers[i] = add_context(bench, i, 0);
	for (size_t i = 0; i < HOURS; i++)
		bench->hours[i] = -1;
}

/* The short commands of an hour of the year. */
static const uint32_t *
short_commands(struct bench *bench, int64_t hour)
{
	uint32_t *numbers = bench->short_numbers[hour % HOURS];

	if (bench->hours[hour % HOURS] == hour)
		return numbers;
	bench->hours[hour % HOURS] = hour;
	for (size_t i = 0; i < SHORT_COMMANDS; i++)
		numbers[i] = add_context(bench, COMMANDS + i, hour);
	return numbers;
}

/* What has been deployed by `ns` since the year began. */
static void
deploy(struct bench *bench, uint64_t ns)
{
	for (size_t i = 0; i < IMAGES; i++) {
		int build = (int)((ns / DAY_NS + i % WEEK) / WEEK);

		if (build == bench->builds[i])
			continue;
		bench->builds[i] = build;
		bench->sorted_stale = true;
		bench->image_numbers[i] = add_image(bench, i);
	}
}

static void
forget_new(struct bench *bench)
{
	for (size_t i = 0; i < bench->new_image_count; i++)
		free((char *)bench->new_images[i].path);
	for (size_t i = 0; i < bench->new_context_count; i++) {
		free((char *)bench->new_contexts[i].comm);
		free((char *)bench->new_contexts[i].cgroup);
	}
	bench->new_image_count = bench->new_context_count = 0;
}

/* ---- flushes ---- */

static void
retain(struct bench *bench, uint64_t now_ns, uint64_t allowed)
{
	struct figures *figures = &bench->figures;
	uint64_t steps = 0;
	int result = 1;

	while (steps < allowed && result > 0) {
		const double start_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
		double took_ms;

		result = profile_retain(bench->profile, &bench->retention, now_ns);
		took_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start_ms;
		figures->step_ms += took_ms;
		figures->longest_step_ms = fmax(figures->longest_step_ms, took_ms);
		steps++;
	}
	bench_require(result < 0 ? result : 0, "retain");
	figures->steps += steps;
	figures->steps_allowed += allowed;
}

static void
flush_entries(struct bench *bench, struct slice *slice, const struct tally_entry *entries, size_t count)
{
	const struct image *images[IMAGES * 2];
	const struct context *contexts[CONTEXTS_MAX];
	struct profile_batch batch = {
		.images = images,
		.contexts = contexts,
		.image_count = (uint32_t)bench->new_image_count,
		.context_count = (uint32_t)bench->new_context_count,
		.first_image = bench->image_count - (uint32_t)bench->new_image_count,
		.first_context = bench->context_count - (uint32_t)bench->new_context_count,
		.entries = entries,
		.entry_count = count,
		.slice = slice,
	};

	for (size_t i = 0; i < bench->new_image_count; i++)
		images[i] = &bench->new_images[i];
	for (size_t i = 0; i < bench->new_context_count; i++)
		contexts[i] = &bench->new_contexts[i];
	bench_require(retainer_flush(bench->profile, &batch, &bench->retention, NULL), "flush");
	bench->entries_flushed += count;
	forget_new(bench);
	memset(slice->events, 0, sizeof(slice->events));
	slice->start_ns = slice->end_ns;
}

static void
flush(struct bench *bench, struct slice *slice, struct times *took)
{
	const struct times start = times_now();
	const struct tally_entry *entries;
	size_t count;

	entries = tally_sort(bench->tally, &count);
	flush_entries(bench, slice, entries, count);
	times_add_since(took, start);
	tally_clear(bench->tally);
}

/* Busy CPUs: 90 % by day, the most at midnight UTC, 30 by night, two thirds of that at weekends; of a whole day, what
 * that makes. */
static double
load_of(uint64_t from_ns, uint64_t length_ns)
{
	const uint64_t ns = length_ns < DAY_NS ? from_ns + length_ns / 2 : from_ns + DAY_NS / 4;
	double load = 0.6 + 0.3 * cos(6.283185307179586 * (double)(ns % DAY_NS) / (double)DAY_NS);

	return ns / DAY_NS % WEEK >= 5 ? load * 2 / 3 : load;
}

/* A new build has its procedures elsewhere. */
static uint64_t
offset_of(const struct bench *bench, const struct key *key)
{
	return (key->offset + (uint64_t)bench->builds[key->image] * 5003 * 4) % (UINT64_C(2000) << 12);
}

/* Add what was sampled of one key; flushes when the tally is as full as dcpid lets it be. */
static void
add_key(struct bench *bench, const struct key *key, uint32_t context, double samples, struct slice *slice,
        struct times *took)
{
	const uint64_t count = draw_poisson(bench, key->share * samples);
	const struct sample_key sample = {
		.image = bench->image_numbers[key->image],
		.context = context,
		.event = key->event,
		.offset = offset_of(bench, key),
	};

	if (count == 0)
		return;
	bench_require(tally_add(bench->tally, &sample, count), "tally");
	slice->events[key->event].samples += count;
	if (tally_size(bench->tally) >= TALLY_LIMIT / 4 * 3)
		flush(bench, slice, took);
}

/* A short command is another one in each hour of the stretch. */
static void
add_short_key(struct bench *bench, const struct key *key, uint64_t from_ns, uint64_t length_ns, double samples,
              struct slice *slice, struct times *took)
{
	const uint64_t hours = length_ns > HOUR_NS ? length_ns / HOUR_NS : 1;

	for (uint64_t i = 0; i < hours; i++) {
		const uint32_t *commands = short_commands(bench, (int64_t)(from_ns / HOUR_NS + i));

		add_key(bench, key, commands[key->command - COMMANDS], samples / (double)hours, slice, took);
	}
}

static void
note_flush(struct figures *figures, struct times took)
{
	figures->wall_ms[figures->flushes] = took.wall_ms;
	figures->processor_ms[figures->flushes] = took.processor_ms;
	figures->flushes++;
}

/* Of a stretch that is a whole slice: each address was added to it once. */
static void
note_addresses(struct figures *figures, uint64_t length_ns, uint64_t count)
{
	struct addresses *addresses = length_ns == HOUR_NS ? &figures->in_hour : &figures->in_tenth;

	if (length_ns != HOUR_NS && length_ns != HOUR_NS / 6)
		return;
	addresses->sum += count;
	addresses->slices++;
}

static bool
is_same(const struct tally_entry *a, const struct tally_entry *b)
{
	return a->offset == b->offset && a->image == b->image && a->context == b->context && a->event == b->event;
}

/* Put the keys of lasting commands in the order of a flush. */
static void
sort_part(struct bench *bench, size_t part)
{
	struct sorted_key *sorted = bench->sorted[part];
	size_t count = 0, distinct = 0;

	for (size_t i = 0; i < KEYS; i++) {
		const struct key *key = &bench->keys[i];

		if (key->command >= COMMANDS || i / INSTRUCTIONS % PARTS != part)
			continue;
		bench->entries[count] = (struct tally_entry){
			.image = bench->image_numbers[key->image],
			.context = bench->command_numbers[key->command],
			.event = key->event,
			.offset = offset_of(bench, key),
			.count = i,
		};
		count++;
	}
	entries_sort(bench->entries, count);
	for (size_t i = 0; i < count; i++) {
		const struct tally_entry *entry = &bench->entries[i];

		if (distinct == 0 || !is_same(&sorted[distinct - 1].entry, entry))
			sorted[distinct++] = (struct sorted_key){.entry = *entry};
		sorted[distinct - 1].share += bench->keys[entry->count].share;
	}
	bench->sorted_count[part] = distinct;
}

/*
 * What lasting commands do in a stretch that is not timed. Each part is about as much as dcpid lets the tally hold, and
 * is sorted once, not in every flush: a year then takes a third of the time.
 */
static void
write_parts(struct bench *bench, double samples, struct slice *slice)
{
	for (size_t part = 0; part < PARTS; part++) {
		size_t count = 0;

		if (bench->sorted_stale)
			sort_part(bench, part);
		for (size_t i = 0; i < bench->sorted_count[part]; i++) {
			const struct sorted_key *key = &bench->sorted[part][i];
			const uint64_t drawn = draw_poisson(bench, key->share * samples);

			if (drawn == 0)
				continue;
			bench->entries[count] = key->entry;
			bench->entries[count++].count = drawn;
			slice->events[key->entry.event].samples += drawn;
		}
		flush_entries(bench, slice, bench->entries, count);
	}
	bench->sorted_stale = false;
}

/* What is sampled in `length_ns` from `from_ns` on, of the year; the flush or flushes into slice *id. */
static void
write_stretch(struct bench *bench, uint64_t from_ns, uint64_t length_ns, uint32_t *id, bool timed)
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
	retain(bench, BEGIN_NS + from_ns + length_ns, RETAINER_STEPS * (length_ns / FLUSH_NS));
	if (bench->context_count > SESSION_LIMIT) {
		profile_renew_session(bench->profile);
		begin_session(bench);
	}
}

/* From `from_ns` to `to_ns` in slices of `slice_ns`, flushed every `flush_ns`. */
static void
write_period(struct bench *bench, uint64_t from_ns, uint64_t to_ns, uint64_t slice_ns, uint64_t flush_ns, bool timed)
{
	for (uint64_t at_ns = from_ns; at_ns < to_ns; at_ns += slice_ns) {
		uint32_t slice = 0;

		for (uint64_t ns = at_ns; ns < at_ns + slice_ns; ns += flush_ns)
			write_stretch(bench, ns, flush_ns, &slice, timed);
	}
}

/* ---- figures ---- */

static int
compare_times(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* dcpiprof to its end, once. */
static struct times
run_query(const struct bench *bench, char *const arguments[])
{
	const double start_ms = clock_ms(CLOCK_MONOTONIC);
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	bench_require(-posix_spawn(&pid, bench->dcpiprof, &actions, NULL, arguments, environ), bench->dcpiprof);
	posix_spawn_file_actions_destroy(&actions);
	if (wait4(pid, &status, 0, &usage) != pid || status != 0)
		bench_require(-EIO, "dcpiprof");
	return (struct times){
		.wall_ms = clock_ms(CLOCK_MONOTONIC) - start_ms,
		.processor_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
	                        (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3,
	};
}

/* What an answer takes; the better of two if that is soon done. */
static struct times
time_query(const struct bench *bench, const char *option, const char *value)
{
	char *arguments[] = {(char *)bench->dcpiprof, "--db",        (char *)bench->directory,
	                     (char *)option,          (char *)value, NULL};
	struct times best = run_query(bench, arguments), second;

	if (best.wall_ms > QUERY_AGAIN_MS)
		return best;
	second = run_query(bench, arguments);
	best.wall_ms = fmin(best.wall_ms, second.wall_ms);
	best.processor_ms = fmin(best.processor_ms, second.processor_ms);
	return best;
}

/* The last day, up to the latest sample. */
static struct times
time_day(const struct bench *bench, uint64_t from_ns)
{
	const time_t from = (time_t)((BEGIN_NS + from_ns) / SECOND_NS);
	char text[32];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&from, &tm));
	return time_query(bench, "--since", text);
}

static void
print_flushes(struct figures *figures)
{
	const size_t middle = figures->flushes / 2, late = figures->flushes * 99 / 100;

	qsort(figures->wall_ms, figures->flushes, sizeof(double), compare_times);
	qsort(figures->processor_ms, figures->flushes, sizeof(double), compare_times);
	printf(",%.1f,%.1f,%.1f,%.1f", figures->processor_ms[middle], figures->processor_ms[late],
	       figures->wall_ms[middle], figures->wall_ms[late]);
	printf(",%.4f,%.2f,%.1f", (double)figures->steps / (double)figures->steps_allowed,
	       figures->step_ms / (double)figures->steps, figures->longest_step_ms);
}

static void
print_point(struct bench *bench, int day)
{
	struct figures *figures = &bench->figures;
	struct profile_stats stats;
	struct times all, last;

	bench_require(profile_stats(bench->profile, &stats), "stats");
	printf("%d,%llu,%llu,%llu,%llu,%llu,%llu", day, (unsigned long long)stats.file_bytes,
	       (unsigned long long)stats.used_bytes, (unsigned long long)stats.slices, (unsigned long long)stats.images,
	       (unsigned long long)stats.contexts, (unsigned long long)stats.blocks);
	print_flushes(figures);
	all = time_query(bench, "--epoch", "all");
	last = time_day(bench, (uint64_t)(day - 1) * DAY_NS);
	printf(",%.0f,%.0f,%.0f,%.0f", all.processor_ms, all.wall_ms, last.processor_ms, last.wall_ms);
	printf(",%.0f,%.0f\n", (double)figures->in_tenth.sum / (double)figures->in_tenth.slices,
	       (double)figures->in_hour.sum / fmax(1, (double)figures->in_hour.slices));
	fflush(stdout);
	memset(figures, 0, sizeof(*figures));
}

/* To the end of `day`, from a week before at most, as it would be: the last day by 10 minutes, its end by 10 s.
 */
static void
write_week(struct bench *bench, int begin, int day)
{
	const uint64_t end_ns = (uint64_t)day * DAY_NS;

	write_period(bench, (uint64_t)begin * DAY_NS, end_ns - DAY_NS, HOUR_NS, HOUR_NS, false);
	write_period(bench, end_ns - DAY_NS, end_ns - FINE_NS, HOUR_NS / 6, HOUR_NS / 6, false);
	write_period(bench, end_ns - FINE_NS, end_ns, HOUR_NS / 6, FLUSH_NS, true);
	print_point(bench, day);
}

static void
write_year(struct bench *bench)
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
	struct bench *bench = calloc(1, sizeof(*bench));
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
	retainer_options(MAX_AGE, LIMIT, &bench->retention);
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
