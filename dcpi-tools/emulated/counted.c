#include "dcpi-tools/emulated/counted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define KEYS_MAX     ((size_t)1 << 28) /* distinct instructions */
#define SETTLE_FIRST ((size_t)1 << 20) /* edges */

int
counted_init(struct counted *counted)
{
	memset(counted, 0, sizeof(*counted));
	counted->images = image_table_new();
	counted->contexts = context_table_new();
	counted->tally = tally_new(KEYS_MAX);
	return counted->images && counted->contexts && counted->tally ? 0 : -ENOMEM;
}

void
counted_fini(struct counted *counted)
{
	image_table_free(counted->images);
	context_table_free(counted->contexts);
	tally_free(counted->tally);
	free(counted->edges);
	memset(counted, 0, sizeof(*counted));
}

int
counted_add(struct counted *counted, const struct sample_key *key, uint64_t count)
{
	if (count == 0)
		return 0;
	counted->totals[key->event] += count;
	return tally_add(counted->tally, key, count);
}

void
counted_add_anonymous(struct counted *counted, uint16_t event, uint64_t count)
{
	counted->totals[event] += count;
	counted->anonymous[event] += count;
}

static int
edge_compare(const void *left, const void *right)
{
	const struct profile_edge *a = left, *b = right;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

void
counted_settle(struct counted *counted)
{
	struct profile_edge *edges = counted->edges;
	size_t count = 0;

	if (counted->edge_count == 0)
		return;
	qsort(edges, counted->edge_count, sizeof(*edges), edge_compare);
	for (size_t i = 0; i < counted->edge_count; i++) {
		if (count > 0 && edge_compare(&edges[count - 1], &edges[i]) == 0)
			edges[count - 1].count += edges[i].count;
		else
			edges[count++] = edges[i];
	}
	counted->edge_count = counted->edge_settled = count;
}

int
counted_add_edge(struct counted *counted, const struct profile_edge *edge)
{
	struct profile_edge *grown;

	/* Processes of one program have mostly the same ones. */
	if (counted->edge_count >= SETTLE_FIRST && counted->edge_count >= 2 * counted->edge_settled)
		counted_settle(counted);
	grown = array_grow(counted->edges, &counted->edge_capacity, counted->edge_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	counted->edges = grown;
	grown[counted->edge_count++] = *edge;
	return 0;
}
