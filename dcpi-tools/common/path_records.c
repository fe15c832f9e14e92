#include "dcpi-tools/common/path_records.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/common/json.h"
#include "profile/edges.h"

/* 0, -ENOENT when there are none of the event, or an error. */
static int
read_edges(struct profile *profile, uint32_t number, const char *event, struct procedure_edge **edges, size_t *count,
           uint32_t *epoch)
{
	struct edge_set set = {0};
	int err;

	err = edges_read(profile, number, event, &set);
	if (err)
		return err;
	*edges = calloc(set.count + 1, sizeof(**edges));
	for (size_t i = 0; i < set.count && *edges; i++)
		(*edges)[i] = (struct procedure_edge){set.edges[i].from, set.edges[i].to, set.edges[i].count};
	*count = set.count;
	*epoch = set.epoch;
	edge_set_fini(&set);
	return *edges ? 0 : -ENOMEM;
}

static int
compare_arrivals(const void *a, const void *b)
{
	const struct procedure_edge *one = a, *other = b;

	return (one->to > other->to) - (one->to < other->to);
}

/* Edges, and a copy of them sorted by their targets. 0, -ENOENT when there are none of the event, or an error. */
static int
read_both_ways(struct profile *profile, uint32_t number, const char *event, struct path_record *record)
{
	struct procedure_paths *paths = &record->paths;
	struct procedure_edge *edges = NULL, *arrivals;
	int err;

	err = read_edges(profile, number, event, &edges, &paths->edge_count, &record->epoch);
	paths->edges = edges;
	if (err)
		return err;
	arrivals = malloc((paths->edge_count + 1) * sizeof(*arrivals));
	if (!arrivals)
		return -ENOMEM;
	memcpy(arrivals, edges, paths->edge_count * sizeof(*arrivals));
	qsort(arrivals, paths->edge_count, sizeof(*arrivals), compare_arrivals);
	paths->arrivals = arrivals;
	return 0;
}

/* The counts of the image by one event. */
static int
copy_visits(const struct selection *selection, uint32_t number, const char *event, struct procedure_paths *paths)
{
	struct selection_count *visits = calloc(selection->count_count + 1, sizeof(*visits));
	const size_t index = shown_events_find_event(selection, event);
	size_t count = 0;

	if (!visits)
		return -ENOMEM;
	for (size_t i = 0; i < selection->count_count; i++)
		if (selection->counts[i].event == index &&
		    selection->images[selection->counts[i].image].number == number)
			visits[count++] = selection->counts[i];
	paths->visits = visits;
	paths->visit_count = count;
	return 0;
}

/* The counts of the event in that epoch. */
static int
read_visits(struct profile *profile, uint32_t number, const char *event, struct path_record *record)
{
	struct selection_request request = {0};
	struct selection *selection;
	char epoch[16], why[256];
	int err;

	snprintf(epoch, sizeof(epoch), "%" PRIu32, record->epoch);
	request.epoch = epoch;
	err = database_read(profile, &request, &selection, why, sizeof(why));
	if (err)
		return err;
	err = copy_visits(selection, number, event, &record->paths);
	selection_free(selection);
	return err;
}

/* An event whose epoch was removed between the two transactions counts as not recorded. */
static int
read_event(struct profile *profile, uint32_t number, const char *event, struct path_record *record)
{
	int err;

	err = read_both_ways(profile, number, event, record);
	if (!err)
		err = read_visits(profile, number, event, record);
	if (err == -DCPI_ENOSELECTION)
		record->epoch = 0;
	return err == -ENOENT || err == -DCPI_ENOSELECTION ? 0 : err;
}

static int
read_branches(struct profile *profile, uint32_t number, struct path_record *record)
{
	struct procedure_edge *runs = NULL;
	uint32_t epoch = 0;
	int err;

	err = read_both_ways(profile, number, "branch-stacks", record);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = read_edges(profile, number, "branch-runs", &runs, &record->paths.run_count, &epoch);
	record->paths.runs = runs;
	if (!err && epoch != record->epoch) /* runs of another recording do not fit the edges */
		record->paths.run_count = 0;
	return err == -ENOENT ? 0 : err;
}

static void
free_paths(const struct procedure_paths *paths)
{
	free((void *)(uintptr_t)paths->visits);
	free((void *)(uintptr_t)paths->edges);
	free((void *)(uintptr_t)paths->arrivals);
	free((void *)(uintptr_t)paths->runs);
}

uint32_t
path_records_emulated_epoch(const struct selection *selection)
{
	const size_t count = selection_epochs_matched(selection);
	const struct epoch *epoch = count ? &selection->epochs[count - 1] : NULL;

	return epoch && epoch->event_count > 0 && epoch->events[0].encoding.type == EVENT_TYPE_EMULATED ? epoch->id : 0;
}

/* Executions that dcpiemu counted while it sampled; it records no edges. */
static int
read_emulated(struct profile *profile, const struct selection *selection, uint32_t number, uint32_t epoch,
              struct path_record *record)
{
	int err;

	record->epoch = epoch;
	record->paths.is_sampled_run = selection->match.first_epoch == epoch;
	if (record->paths.is_sampled_run)
		err = copy_visits(selection, number, "executions", &record->paths);
	else
		err = read_visits(profile, number, "executions", record);
	if ((err && err != -DCPI_ENOSELECTION) || record->paths.visit_count > 0)
		return err;
	record->epoch = 0;
	return -ENOENT;
}

int
path_records_read(struct profile *profile, const struct selection *selection, uint32_t number,
                  struct path_records *records)
{
	const uint32_t emulated = path_records_emulated_epoch(selection);
	int err = -ENOENT;

	memset(records, 0, sizeof(*records));
	if (emulated)
		err = read_emulated(profile, selection, number, emulated, &records->exact);
	records->is_emulated = !err;
	if (err == -ENOENT) {
		free_paths(&records->exact.paths);
		memset(records, 0, sizeof(*records));
		err = read_event(profile, number, "executions", &records->exact);
	}
	if (!err)
		err = read_branches(profile, number, &records->branches);
	if (!err)
		err = read_event(profile, number, "bursts", &records->bursts);
	if (err)
		path_records_fini(records);
	return err;
}

void
path_records_fini(struct path_records *records)
{
	free_paths(&records->exact.paths);
	free_paths(&records->branches.paths);
	free_paths(&records->bursts.paths);
	memset(records, 0, sizeof(*records));
}

enum frequency_method
frequency_source(const struct procedure_analysis *analysis, const struct path_records *records, uint32_t *epoch)
{
	uint8_t best = FREQUENCY_UNKNOWN;

	*epoch = 0;
	for (size_t i = 0; i < analysis->graph->block_count; i++) {
		const uint8_t method = analysis->frequencies.blocks[i].method;

		if (method != FREQUENCY_UNKNOWN && (best == FREQUENCY_UNKNOWN || method < best))
			best = method;
	}
	if (best == FREQUENCY_COUNTED)
		*epoch = records->exact.epoch;
	if (best == FREQUENCY_BRANCHES)
		*epoch = records->branches.epoch;
	if (best == FREQUENCY_BURSTS)
		*epoch = records->bursts.epoch;
	return (enum frequency_method)best;
}

#define RELATIVE "all are right relative to one another only; they and cycles (CPI) are within x2 at best"

void
frequency_source_print(const struct procedure_analysis *analysis, const struct path_records *records, FILE *stream)
{
	const bool is_relative = analysis->frequencies.is_relative;
	uint32_t epoch;

	switch (frequency_source(analysis, records, &epoch)) {
	case FREQUENCY_COUNTED:
		fprintf(stream, "Frequency:  counted by %s in epoch %" PRIu32 "%s\n",
		        records->is_emulated ? "dcpiemu" : "dcpix", epoch,
		        is_relative ? "; what a cycle is in samples is not known: cycles (CPI) are within x2 at best"
		                    : ", cycles (CPI) by the samples");
		return;
	case FREQUENCY_BRANCHES:
		fprintf(stream, "Frequency:  by the branch stacks of epoch %" PRIu32 ";\n            " RELATIVE "\n",
		        epoch);
		return;
	case FREQUENCY_BURSTS:
		fprintf(stream, "Frequency:  by the bursts of epoch %" PRIu32 ";\n            " RELATIVE "\n", epoch);
		return;
	case FREQUENCY_RETIRED:
		fprintf(stream, "Frequency:  by the samples of instructions%s\n",
		        is_relative ? ";\n            " RELATIVE : "");
		return;
	default:
		if (is_relative)
			fputs("Frequency:  " RELATIVE "\n", stream);
	}
}

json_t *
frequency_source_json(const struct procedure_analysis *analysis, const struct path_records *records)
{
	uint32_t epoch;
	const enum frequency_method method = frequency_source(analysis, records, &epoch);

	return json_pack("{s:s, s:o}", "method", frequency_method_name(method), "epoch",
	                 epoch ? json_count(epoch) : json_null());
}

void
frequency_format(double value, bool is_relative, char *text, size_t size)
{
	double unit;

	if (!is_relative || value <= 0) {
		snprintf(text, size, value < 100 ? "%.3g" : "%.0f", value);
		return;
	}
	unit = pow(10, floor(log10(value)) - 1);
	snprintf(text, size, value < 10 ? "~%.2g" : "~%.0f", round(value / unit) * unit);
}
