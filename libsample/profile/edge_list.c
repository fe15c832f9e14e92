#include "profile/edge_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "profile/codec.h"

#define MERGE_FIRST ((size_t)1 << 18) /* edges: 10 MiB */

int
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

int
edge_list_add(struct edge_list *list, const struct profile_edge *edge)
{
	struct profile_edge *grown = array_grow(list->edges, &list->capacity, list->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->edges = grown;
	grown[list->count++] = *edge;
	return 0;
}

int
edge_list_gather(struct edge_list *list, const struct profile_edge *edge)
{
	/* Processes of one program have mostly the same ones. */
	if (list->count >= MERGE_FIRST && list->count >= 2 * list->merged)
		edge_list_merge(list);
	return edge_list_add(list, edge);
}

void
edge_list_merge(struct edge_list *list)
{
	size_t count = 0;

	if (list->count == 0)
		return;
	qsort(list->edges, list->count, sizeof(*list->edges), edge_compare);
	for (size_t i = 0; i < list->count; i++) {
		struct profile_edge *last = count > 0 ? &list->edges[count - 1] : NULL;

		if (last && edge_compare(last, &list->edges[i]) == 0)
			last->count = add_saturating(last->count, list->edges[i].count);
		else
			list->edges[count++] = list->edges[i];
	}
	list->count = list->merged = count;
}

void
edge_list_clear(struct edge_list *list)
{
	list->count = list->merged = 0;
}

void
edge_list_fini(struct edge_list *list)
{
	free(list->edges);
	*list = (struct edge_list){0};
}
