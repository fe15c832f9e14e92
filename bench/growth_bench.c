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
 * Ten million samples are cheap, 3.2 million flushes are not. So most of the year is written a day at a time. At POINTS
 * of it the database is made as it would be: six days by the hour, a day by 10 minutes, and of that the last hour by 10
 * seconds, which is what is timed. A coarse flush gets as many steps of retention as the fine ones together would get.
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

#include "base/error.h"
#include "collectord/retainer.h"
#include "profile/profile.h"
#include "profile/retention.h"
#include "tests/remove_tree.h"

#define CPUS           64
#define RATE           5200 /* samples/s of a busy CPU */
#define IMAGES         400
#define COMMANDS       60
#define SHORT_COMMANDS 40 /* in an hour, and never again */
#define SHORT_SHARE    20 /* one procedure of so many is theirs */
#define PROCEDURES     20000
#define INSTRUCTIONS   10 /* of a procedure that are sampled */
#define KEYS           (PROCEDURES * INSTRUCTIONS)
#define ZIPF           1.2
#define EVENTS         2
#define HOURS          24
#define FLUSHES_TIMED  (HOUR_NS / FLUSH_NS)
#define TALLY_LIMIT    131072                              /* as config_default() has it */
#define CONTEXTS_MAX   (COMMANDS + SHORT_COMMANDS * HOURS) /* new ones in a flush */
#define SESSION_LIMIT  8000                                /* contexts; dcpid counts bytes */

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS   (3600 * SECOND_NS)
#define DAY_NS    (24 * HOUR_NS)
#define FLUSH_NS  (10 * SECOND_NS)
#define BEGIN_NS  (20458 * DAY_NS) /* Monday 2026-01-05, 00:00 UTC */
#define YEAR      365
#define WEEK      7
#define LIMIT     (UINT64_C(2) << 30)
#define MAX_AGE   (30 * DAY_NS)

static const int points[] = {31, YEAR};

struct key {
	uint64_t offset;
	double share; /* of all samples */
	uint16_t image, command, event;
};

struct figures {
	double flush_ms[FLUSHES_TIMED];
	size_t flushes;
	uint64_t steps, steps_allowed;
	double step_ms, longest_step_ms;
};

struct bench {
	struct profile *profile;
	const char *directory, *dcpiprof;
	struct retention_options retention;
	struct key *keys;
	struct tally *tally;
	uint32_t epoch;
	uint64_t state;
	struct figures figures;

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
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double
milliseconds(const struct timeval *time)
{
	return (double)time->tv_sec * 1e3 + (double)time->tv_usec / 1e3;
}

static void
require(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "growth_bench: %s: %s\n", what, error_text(err));
	exit(1);
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
		require(-ENOMEM, "name");
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
		require(-ENOMEM, "name");
	*new = (struct context){.comm = comm, .cgroup = cgroup, .label = ""};
	return bench->context_count++;
}

static void
begin_session(struct bench *bench)
{
	bench->image_count = bench->context_count = 0;
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
		double start_ms = now_ms(), took_ms;

		result = profile_retain(bench->profile, &bench->retention, now_ns);
		took_ms = now_ms() - start_ms;
		figures->step_ms += took_ms;
		figures->longest_step_ms = fmax(figures->longest_step_ms, took_ms);
		steps++;
	}
	require(result < 0 ? result : 0, "retain");
	figures->steps += steps;
	figures->steps_allowed += allowed;
}

static double
flush(struct bench *bench, struct slice *slice)
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
		.slice = slice,
	};
	double start_ms = now_ms(), took_ms;

	for (size_t i = 0; i < bench->new_image_count; i++)
		images[i] = &bench->new_images[i];
	for (size_t i = 0; i < bench->new_context_count; i++)
		contexts[i] = &bench->new_contexts[i];
	batch.entries = tally_sort(bench->tally, &batch.entry_count);
	require(retainer_flush(bench->profile, &batch, &bench->retention, NULL), "flush");
	took_ms = now_ms() - start_ms;
	tally_clear(bench->tally);
	forget_new(bench);
	memset(slice->events, 0, sizeof(slice->events));
	slice->start_ns = slice->end_ns;
	return took_ms;
}

/* Busy CPUs: 30 % by night, 90 by day, two thirds of that at weekends; of a whole day, what that makes. */
static double
load_of(uint64_t from_ns, uint64_t length_ns)
{
	const uint64_t ns = length_ns < DAY_NS ? from_ns + length_ns / 2 : from_ns + DAY_NS / 4;
	double load = 0.6 - 0.3 * cos(6.283185307179586 * (double)(ns % DAY_NS) / (double)DAY_NS);

	return ns / DAY_NS % WEEK >= 5 ? load * 2 / 3 : load;
}

/* Add what was sampled of one key; flushes when the tally is as full as dcpid lets it be. */
static double
add_key(struct bench *bench, const struct key *key, uint32_t context, double samples, struct slice *slice)
{
	const uint64_t count = draw_poisson(bench, key->share * samples);
	const struct sample_key sample = {
		.image = bench->image_numbers[key->image],
		.context = context,
		.event = key->event,
		.offset = (key->offset + (uint64_t)bench->builds[key->image] * 5003 * 4) % (UINT64_C(2000) << 12),
	};

	if (count == 0)
		return 0;
	require(tally_add(bench->tally, &sample, count), "tally");
	slice->events[key->event].samples += count;
	return tally_size(bench->tally) >= TALLY_LIMIT / 4 * 3 ? flush(bench, slice) : 0;
}

/* A short command is another one in each hour of the stretch. */
static double
add_short_key(struct bench *bench, const struct key *key, uint64_t from_ns, uint64_t length_ns, double samples,
              struct slice *slice)
{
	const uint64_t hours = length_ns > HOUR_NS ? length_ns / HOUR_NS : 1;
	double took_ms = 0;

	for (uint64_t i = 0; i < hours; i++) {
		const uint32_t *commands = short_commands(bench, (int64_t)(from_ns / HOUR_NS + i));

		took_ms += add_key(bench, key, commands[key->command - COMMANDS], samples / (double)hours, slice);
	}
	return took_ms;
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
	double took_ms = 0;

	deploy(bench, from_ns);
	for (size_t i = 0; i < KEYS; i++) {
		/* neighbours in rank are flushed at different times, as in life */
		const struct key *key = &bench->keys[i * 7919 % KEYS];

		if (key->command >= COMMANDS)
			took_ms += add_short_key(bench, key, from_ns, length_ns, samples, &slice);
		else
			took_ms += add_key(bench, key, bench->command_numbers[key->command], samples, &slice);
	}
	took_ms += flush(bench, &slice);
	*id = slice.id;
	if (timed && bench->figures.flushes < FLUSHES_TIMED)
		bench->figures.flush_ms[bench->figures.flushes++] = took_ms;
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

/* Processor time that dcpiprof takes for an answer, which a busy machine does not make longer: the better of two. */
static double
time_query(const struct bench *bench, const char *option, const char *value)
{
	char *arguments[] = {(char *)bench->dcpiprof, "--db",        (char *)bench->directory,
	                     (char *)option,          (char *)value, NULL};
	posix_spawn_file_actions_t actions;
	double best_ms = INFINITY;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < 2; i++) {
		struct rusage usage;

		require(-posix_spawn(&pid, bench->dcpiprof, &actions, NULL, arguments, environ), bench->dcpiprof);
		if (wait4(pid, &status, 0, &usage) != pid || status != 0)
			require(-EIO, "dcpiprof");
		best_ms = fmin(best_ms, milliseconds(&usage.ru_utime) + milliseconds(&usage.ru_stime));
	}
	posix_spawn_file_actions_destroy(&actions);
	return best_ms;
}

/* The last day, up to the latest sample. */
static double
time_day(const struct bench *bench, uint64_t from_ns)
{
	const time_t from = (time_t)((BEGIN_NS + from_ns) / SECOND_NS);
	char text[32];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&from, &tm));
	return time_query(bench, "--since", text);
}

static void
print_line(struct bench *bench, int day)
{
	struct figures *figures = &bench->figures;
	struct profile_stats stats;

	require(profile_stats(bench->profile, &stats), "stats");
	printf("%d,%llu,%llu,%llu,%llu,%llu,%llu", day, (unsigned long long)stats.file_bytes,
	       (unsigned long long)stats.used_bytes, (unsigned long long)stats.slices, (unsigned long long)stats.images,
	       (unsigned long long)stats.contexts, (unsigned long long)stats.blocks);
	if (figures->flushes) {
		qsort(figures->flush_ms, figures->flushes, sizeof(double), compare_times);
		printf(",%.1f,%.1f,%.2f,%.2f,%.1f,%.0f,%.0f\n", figures->flush_ms[figures->flushes / 2],
		       figures->flush_ms[figures->flushes * 99 / 100],
		       (double)figures->steps / (double)figures->steps_allowed,
		       figures->step_ms / (double)figures->steps, figures->longest_step_ms,
		       time_query(bench, "--epoch", "all"), time_day(bench, (uint64_t)(day - 1) * DAY_NS));
	} else {
		printf(",,,,,,,\n");
	}
	fflush(stdout);
	memset(figures, 0, sizeof(*figures));
}

/* The week before `day` as it would be: its last day by 10 minutes, of that the last hour by 10 s. */
static void
write_week(struct bench *bench, int day)
{
	const uint64_t end_ns = (uint64_t)day * DAY_NS;

	write_period(bench, end_ns - WEEK * DAY_NS, end_ns - DAY_NS, HOUR_NS, HOUR_NS, false);
	print_line(bench, day - 1);
	write_period(bench, end_ns - DAY_NS, end_ns - HOUR_NS, HOUR_NS / 6, HOUR_NS / 6, false);
	write_period(bench, end_ns - HOUR_NS, end_ns, HOUR_NS / 6, FLUSH_NS, true);
	print_line(bench, day);
}

static void
write_year(struct bench *bench)
{
	int day = 0;

	printf("day,file_bytes,used_bytes,slices,images,contexts,blocks,flush_ms,flush_99_ms,steps_share,step_ms,"
	       "longest_step_ms,query_all_ms,query_day_ms\n");
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		for (; day < points[i] - WEEK; day++) {
			write_period(bench, (uint64_t)day * DAY_NS, (uint64_t)(day + 1) * DAY_NS, DAY_NS, DAY_NS,
			             false);
			print_line(bench, day + 1);
		}
		write_week(bench, points[i]);
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
	bench->new_images = calloc((size_t)IMAGES * 2, sizeof(*bench->new_images));
	bench->new_contexts = calloc(CONTEXTS_MAX, sizeof(*bench->new_contexts));
	if (!bench->keys || !bench->tally || !bench->new_images || !bench->new_contexts)
		require(-ENOMEM, "begin");
	make_keys(bench);
	require(profile_open(directory, &options, &bench->profile), directory);
	retainer_options(MAX_AGE, LIMIT, &bench->retention);
	require(profile_begin_epoch(bench->profile, &epoch), "epoch");
	bench->epoch = epoch.id;
	begin_session(bench);
	write_year(bench);
	profile_close(bench->profile);
	tally_free(bench->tally);
	free(bench->keys);
	free(bench->new_images);
	free(bench->new_contexts);
	free(bench);
	remove_tree(directory);
	return 0;
}
