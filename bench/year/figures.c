/* What is measured, and printed. */
#include "bench/year/year.h"

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
#include "profile/profile.h"

#define QUERY_AGAIN_MS 500 /* a query that took less is made a second time */

double
clock_ms(clockid_t clock)
{
	return (double)bench_clock_ns(clock) / 1e6;
}

struct times
times_now(void)
{
	return (struct times){
		.wall_ms = clock_ms(CLOCK_MONOTONIC),
		.processor_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID),
	};
}

void
times_add_since(struct times *sum, struct times start)
{
	const struct times now = times_now();

	sum->wall_ms += now.wall_ms - start.wall_ms;
	sum->processor_ms += now.processor_ms - start.processor_ms;
}

void
note_flush(struct figures *figures, struct times took)
{
	figures->wall_ms[figures->flushes] = took.wall_ms;
	figures->processor_ms[figures->flushes] = took.processor_ms;
	figures->flushes++;
}

void
note_addresses(struct figures *figures, uint64_t length_ns, uint64_t count)
{
	struct addresses *addresses = length_ns == HOUR_NS ? &figures->in_hour : &figures->in_tenth;

	if (length_ns != HOUR_NS && length_ns != HOUR_NS / 6)
		return;
	addresses->sum += count;
	addresses->slices++;
}

static int
compare_times(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* dcpiprof to its end, once. */
static struct times
run_query(const struct year_bench *bench, char *const arguments[])
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
time_query(const struct year_bench *bench, const char *option, const char *value)
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
time_day(const struct year_bench *bench, uint64_t from_ns)
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

void
print_point(struct year_bench *bench, int day)
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
