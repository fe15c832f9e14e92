#include "dcpi-tools/label/series.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/remote.h"

int
series_label(const struct series *series, size_t index, char label[LABEL_SIZE])
{
	const int length = snprintf(label, LABEL_SIZE, "%s.%zu", series->name, series->first + index);

	return length < LABEL_SIZE ? 0 : -ENAMETOOLONG;
}

static double
seconds(uint64_t duration_ns)
{
	return (double)duration_ns / 1e9;
}

/* The remaining time if the next runs take as long as those before. */
static uint64_t
remaining_ns(const struct series *series, uint64_t elapsed_ns)
{
	uint64_t sum_ns = 0, left_ns;

	for (size_t i = 0; i < series->done; i++)
		sum_ns += series->results[i].elapsed_ns;
	left_ns = sum_ns / series->done * (series->runs - series->done);
	return left_ns > elapsed_ns ? left_ns - elapsed_ns : 0;
}

/* Once a second, on a terminal. */
static void
show_progress(void *context, uint64_t elapsed_ns)
{
	const struct series *series = context;
	char elapsed[TIME_TEXT_SIZE], left[TIME_TEXT_SIZE];

	fprintf(stderr, "\r\033[K%s: run %zu of %zu, %s", series->name, series->done + 1, series->runs,
	        duration_format(elapsed_ns, elapsed));
	if (series->done)
		fprintf(stderr, ", about %s left", duration_format(remaining_ns(series, elapsed_ns), left));
}

/* ^C ends the series, not only the run. */
static bool
is_interrupted(int status)
{
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT);
}

static void
print_end(const struct series *series, const char *label, const struct child *child)
{
	fprintf(stderr, "%s: %.2f s, %.2f s of CPU time (run %zu of %zu)", label,
	        seconds(child->end_ns - child->start_ns), seconds(child->cpu_ns), series->done, series->runs);
	if (WIFSIGNALED(child->status))
		fprintf(stderr, ", ended by signal %d", WTERMSIG(child->status));
	else if (WEXITSTATUS(child->status))
		fprintf(stderr, ", ended with status %d", WEXITSTATUS(child->status));
	fputc('\n', stderr);
}

/* 0 to go on. */
static int
run_one(struct series *series)
{
	struct child child = {.is_quiet = series->is_quiet, .tick_context = series};
	char label[LABEL_SIZE];
	int status;

	if (series_label(series, series->done, label)) /* checked before the first run */
		return STATUS_USAGE;
	if (isatty(STDERR_FILENO))
		child.tick = show_progress;
	series->asking.label = label;
	status = remote_run_labelled(&series->asking, series->program, &child);
	if (child.tick)
		fputs("\r\033[K", stderr);
	if (status)
		return status;
	series->results[series->done++] = (struct series_run){
		.elapsed_ns = child.end_ns - child.start_ns, .cpu_ns = child.cpu_ns, .status = child.status};
	print_end(series, label, &child);
	status = remote_flush_labelled(&series->asking);
	if (status || child.status == 0)
		return status;
	series->failed++;
	if (series->keeps_going && !is_interrupted(child.status))
		return STATUS_OK;
	series->is_cut = true;
	return STATUS_FAILURE;
}

int
series_run(struct series *series)
{
	int status = STATUS_OK;

	while (!status && series->done < series->runs)
		status = run_one(series);
	return status;
}

static int
compare_durations(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

uint64_t
series_median(const uint64_t *sorted, size_t count)
{
	if (count % 2)
		return sorted[count / 2];
	return (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

void
series_print(const struct series *series)
{
	uint64_t durations[SERIES_RUNS_MAX];
	const size_t count = series->done;

	if (count < 2)
		return;
	for (size_t i = 0; i < count; i++)
		durations[i] = series->results[i].elapsed_ns;
	qsort(durations, count, sizeof(*durations), compare_durations);
	fprintf(stderr, "%s: %zu runs, %.2f s to %.2f s, median %.2f s", series->name, count, seconds(durations[0]),
	        seconds(durations[count - 1]), seconds(series_median(durations, count)));
	if (series->failed)
		fprintf(stderr, "; %zu failed", series->failed);
	fputc('\n', stderr);
}

static json_t *
run_json(const struct series *series, size_t index)
{
	const struct series_run *run = &series->results[index];
	char label[LABEL_SIZE];

	(void)series_label(series, index, label);
	return json_pack("{s:o, s:f, s:f, s:o, s:o}", "label", json_shown(label), "elapsed_s",
	                 (double)run->elapsed_ns / 1e9, "cpu_s", (double)run->cpu_ns / 1e9, "exit_status",
	                 WIFEXITED(run->status) ? json_integer(WEXITSTATUS(run->status)) : json_null(), "signal",
	                 WIFSIGNALED(run->status) ? json_integer(WTERMSIG(run->status)) : json_null());
}

json_t *
series_json(const struct series *series, json_t *statistics)
{
	json_t *runs = json_array();
	int failed = 0;

	for (size_t i = 0; i < series->done; i++)
		failed |= json_array_append_new(runs, run_json(series, i));
	return json_pack("{s:s, s:o, s:o, s:o}", "schema", "dcpilabel/1", "name", json_shown(series->name), "runs",
	                 json_kept(runs, failed), "statistics", statistics ? statistics : json_null());
}
