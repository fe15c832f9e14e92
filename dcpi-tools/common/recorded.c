#include "dcpi-tools/common/recorded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
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

/* Edges, also by where they arrive. 0, -ENOENT when there are none of the event, or an error. */
static int
read_both_ways(struct profile *profile, uint32_t number, const char *event, struct recorded_event *recorded)
{
	struct procedure_paths *paths = &recorded->paths;
	struct procedure_edge *edges = NULL, *arrivals;
	int err;

	err = read_edges(profile, number, event, &edges, &paths->edge_count, &recorded->epoch);
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

static int
event_find(const struct selection *selection, const char *name)
{
	for (size_t i = 0; i < selection->event_count; i++)
		if (strcmp(selection->events[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int
copy_visits(const struct selection *selection, uint32_t number, const char *event, struct procedure_paths *paths)
{
	const int index = event_find(selection, event);
	struct selection_count *visits = calloc(selection->count_count + 1, sizeof(*visits));
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
read_visits(struct profile *profile, uint32_t number, const char *event, struct recorded_event *recorded)
{
	struct selection_request request = {0};
	struct selection *selection;
	char epoch[16], why[256];
	int err;

	snprintf(epoch, sizeof(epoch), "%" PRIu32, recorded->epoch);
	request.epoch = epoch;
	err = database_read(profile, &request, &selection, why, sizeof(why));
	if (err)
		return err;
	err = copy_visits(selection, number, event, &recorded->paths);
	selection_free(selection);
	return err;
}

/* Gone between two looks into the database is as if it had not been there. */
static int
read_event(struct profile *profile, uint32_t number, const char *event, struct recorded_event *recorded)
{
	int err;

	err = read_both_ways(profile, number, event, recorded);
	if (!err)
		err = read_visits(profile, number, event, recorded);
	if (err == -DCPI_ENOSELECTION)
		recorded->epoch = 0;
	return err == -ENOENT || err == -DCPI_ENOSELECTION ? 0 : err;
}

static int
read_branches(struct profile *profile, uint32_t number, struct recorded_event *recorded)
{
	struct procedure_edge *runs = NULL;
	uint32_t epoch = 0;
	int err;

	err = read_both_ways(profile, number, "branch-stacks", recorded);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = read_edges(profile, number, "branch-runs", &runs, &recorded->paths.run_count, &epoch);
	recorded->paths.runs = runs;
	if (!err && epoch != recorded->epoch) /* of another recording */
		recorded->paths.run_count = 0;
	return err == -ENOENT ? 0 : err;
}

static void
paths_free(const struct procedure_paths *paths)
{
	free((void *)(uintptr_t)paths->visits);
	free((void *)(uintptr_t)paths->edges);
	free((void *)(uintptr_t)paths->arrivals);
	free((void *)(uintptr_t)paths->runs);
}

uint32_t
recorded_emulated_epoch(const struct selection *selection)
{
	const size_t count = selection_epochs_matched(selection);
	const struct epoch *epoch = count ? &selection->epochs[count - 1] : NULL;

	return epoch && epoch->event_count > 0 && epoch->events[0].encoding.type == EVENT_TYPE_EMULATED ? epoch->id : 0;
}

/* What was executed while it was sampled; of that there are no edges. */
static int
read_emulated(struct profile *profile, const struct selection *selection, uint32_t number, uint32_t epoch,
              struct recorded_event *recorded)
{
	int err;

	recorded->epoch = epoch;
	recorded->paths.is_sampled_run = selection->match.first_epoch == epoch;
	if (recorded->paths.is_sampled_run)
		err = copy_visits(selection, number, "executions", &recorded->paths);
	else
		err = read_visits(profile, number, "executions", recorded);
	if ((err && err != -DCPI_ENOSELECTION) || recorded->paths.visit_count > 0)
		return err;
	recorded->epoch = 0;
	return -ENOENT;
}

int
recorded_read(struct profile *profile, const struct selection *selection, uint32_t number, struct recorded *recorded)
{
	const uint32_t emulated = recorded_emulated_epoch(selection);
	int err = -ENOENT;

	memset(recorded, 0, sizeof(*recorded));
	if (emulated)
		err = read_emulated(profile, selection, number, emulated, &recorded->exact);
	recorded->is_emulated = !err;
	if (err == -ENOENT) {
		paths_free(&recorded->exact.paths);
		memset(recorded, 0, sizeof(*recorded));
		err = read_event(profile, number, "executions", &recorded->exact);
	}
	if (!err)
		err = read_branches(profile, number, &recorded->branches);
	if (!err)
		err = read_event(profile, number, "bursts", &recorded->bursts);
	if (err)
		recorded_fini(recorded);
	return err;
}

void
recorded_fini(struct recorded *recorded)
{
	paths_free(&recorded->exact.paths);
	paths_free(&recorded->branches.paths);
	paths_free(&recorded->bursts.paths);
	memset(recorded, 0, sizeof(*recorded));
}
