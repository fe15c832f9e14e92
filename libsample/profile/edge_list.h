/*
 * edge_list.h - edges in memory, on their way into the database or out of it
 *
 * What is the same edge by event, image, from and to can be made one; its counts then are added, up to UINT64_MAX.
 * A zeroed list is empty. Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_EDGE_LIST_H
#define DCPI_PROFILE_EDGE_LIST_H

#include <stddef.h>

#include "profile/profile.h"

struct edge_list {
	struct profile_edge *edges;
	size_t count, capacity;
	size_t merged; /* how many were left when they were last made one */
};

/* By event, image, from and to, as qsort() takes it. */
int edge_compare(const void *left, const void *right);

/* Append. 0 or -ENOMEM. */
int edge_list_add(struct edge_list *list, const struct profile_edge *edge);

/* The same for very many: when half of a long list came since the last time, it is merged first. 0 or -ENOMEM. */
int edge_list_gather(struct edge_list *list, const struct profile_edge *edge);

void edge_list_merge(struct edge_list *list); /* sort; what is there twice becomes one */
void edge_list_clear(struct edge_list *list); /* its memory stays */
void edge_list_fini(struct edge_list *list);

#endif
