#include "dcpi-tools/calc/exact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "profile/edges.h"

#define EVENT "executions"

static int
copy_edges(const struct edge_set *set, struct exact *exact)
{
	exact->edges = calloc(set->count + 1, sizeof(*exact->edges));
	if (!exact->edges)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++)
		exact->edges[i] = (struct procedure_edge){
			.from = set->edges[i].from, .to = set->edges[i].to, .count = set->edges[i].count};
	exact->edge_count = set->count;
	return 0;
}

/* An epoch of dcpix has one event, and counts are in the order of images: those of one are together. */
static void
find_counts(uint32_t number, struct exact *exact)
{
	const struct selection *selection = exact->selection;
	size_t first = 0;

	while (first < selection->count_count && selection->images[selection->counts[first].image].number != number)
		first++;
	exact->counts = selection->counts + first;
	while (first + exact->count < selection->count_count &&
	       selection->images[exact->counts[exact->count].image].number == number)
		exact->count++;
}

int
exact_read(struct profile *profile, uint32_t number, struct exact *exact)
{
	struct selection_request request = {0};
	struct edge_set set = {0};
	char epoch[16], why[256];
	int err;

	memset(exact, 0, sizeof(*exact));
	err = edges_read(profile, number, EVENT, &set);
	if (err)
		return err == -ENOENT ? 0 : err;
	snprintf(epoch, sizeof(epoch), "%" PRIu32, set.epoch);
	request.epoch = epoch;
	err = copy_edges(&set, exact);
	if (!err)
		err = database_read(profile, &request, &exact->selection, why, sizeof(why));
	if (!err) {
		exact->epoch = set.epoch;
		find_counts(number, exact);
	}
	edge_set_fini(&set);
	if (err)
		exact_fini(exact);
	return err == -DCPI_ENOSELECTION ? 0 : err;
}

void
exact_fini(struct exact *exact)
{
	free(exact->edges);
	selection_free(exact->selection);
	memset(exact, 0, sizeof(*exact));
}
