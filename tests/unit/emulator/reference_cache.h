/*
 * reference_cache.h - a cache that is slow and obvious, for the tests of those that are neither
 *
 * Each way has its line's whole number, and the times when it came and when it was used last. Nothing is shared with
 * emulator/model/, and nothing is shortened.
 */
#ifndef DCPI_TESTS_REFERENCE_CACHE_H
#define DCPI_TESTS_REFERENCE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define REFERENCE_NONE UINT64_MAX

struct reference_way {
	uint64_t line; /* REFERENCE_NONE */
	uint64_t came, used;
	bool written;
};

struct reference_cache {
	unsigned set_count, way_count;
	bool first_in_first_out; /* else the one that was used the longest ago leaves */
	uint64_t time;
	struct reference_way *ways;
};

struct reference_found {
	bool hit, was_written; /* it, or the victim */
	uint64_t victim;       /* REFERENCE_NONE */
};

static inline struct reference_cache
reference_new(unsigned set_count, unsigned way_count, bool first_in_first_out)
{
	struct reference_cache cache = {set_count, way_count, first_in_first_out, 0, NULL};

	cache.ways = calloc((size_t)set_count * way_count, sizeof(*cache.ways));
	for (size_t i = 0; i < (size_t)set_count * way_count; i++)
		cache.ways[i].line = REFERENCE_NONE;
	return cache;
}

static inline void
reference_free(struct reference_cache *cache)
{
	free(cache->ways);
}

static inline struct reference_way *
reference_find(struct reference_cache *cache, uint64_t line)
{
	struct reference_way *set = cache->ways + line % cache->set_count * cache->way_count;

	for (unsigned i = 0; i < cache->way_count; i++) {
		if (set[i].line == line)
			return &set[i];
	}
	return NULL;
}

static inline struct reference_way *
reference_victim(struct reference_cache *cache, uint64_t line)
{
	struct reference_way *set = cache->ways + line % cache->set_count * cache->way_count, *victim = set;

	for (unsigned i = 0; i < cache->way_count; i++) {
		uint64_t age = cache->first_in_first_out ? set[i].came : set[i].used;
		uint64_t oldest = cache->first_in_first_out ? victim->came : victim->used;

		if (set[i].line == REFERENCE_NONE)
			return &set[i];
		if (age < oldest)
			victim = &set[i];
	}
	return victim;
}

static inline struct reference_found
reference_access(struct reference_cache *cache, uint64_t line, bool writes)
{
	struct reference_way *way = reference_find(cache, line);
	struct reference_found found = {way != NULL, false, REFERENCE_NONE};

	cache->time++;
	if (!way) {
		way = reference_victim(cache, line);
		found.victim = way->line;
		found.was_written = way->written;
		*way = (struct reference_way){.line = line, .came = cache->time};
	} else {
		found.was_written = way->written;
	}
	way->used = cache->time;
	way->written |= writes;
	return found;
}

#endif
