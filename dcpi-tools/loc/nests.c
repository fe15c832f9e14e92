#include "dcpi-tools/loc/nests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct collecting_nests {
	struct loc_nests *nests;
	const struct locality_record *record;
};

const struct locality_loop *
loc_nest_loop(const struct loc_nest *nest)
{
	return locality_record_loop(nest->record, nest->nest.loops[nest->nest.levels - 1]);
}

uint32_t
loc_nest_line(const struct loc_nest *nest, uint32_t level)
{
	const size_t loop = nest->nest.loops[level];

	if (loop != LOCALITY_NO_LOOP)
		return locality_record_loop(nest->record, loop)->line;
	return loc_nest_loop(nest)->around[nest->nest.levels - 2 - level];
}

/* The same place, in this process or another one of the program. */
static bool
is_same_nest(const struct loc_nest *known, const struct loc_nest *seen)
{
	const struct locality_loop *a = loc_nest_loop(known), *b = loc_nest_loop(seen);

	if (known->nest.levels != seen->nest.levels)
		return false;
	if (known->record == seen->record)
		return memcmp(known->nest.loops, seen->nest.loops, sizeof(seen->nest.loops)) == 0;
	return a->line == b->line && a->count == b->count && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->file, b->file) == 0;
}

static int
begin(void *context, uint32_t tid, uint64_t skipped, bool is_first)
{
	(void)context;
	(void)tid;
	(void)skipped;
	(void)is_first;
	return 0;
}

/* Keep a copy of the entry. 0 or -ENOMEM. */
static int
keep_entry(struct loc_nest *kept, const struct loc_nest *seen)
{
	const size_t size = (seen->nest.count + 1) * sizeof(*seen->nest.parts);
	struct locality_part *parts = malloc(size);

	if (!parts)
		return -ENOMEM;
	memcpy(parts, seen->nest.parts, seen->nest.count * sizeof(*parts));
	free(kept->nest.parts);
	kept->record = seen->record;
	kept->nest = seen->nest;
	kept->nest.parts = parts;
	kept->most = seen->most;
	return 0;
}

static int
enter(void *context, const struct locality_nest *nest)
{
	const struct collecting_nests *collecting = context;
	struct loc_nests *nests = collecting->nests;
	const struct locality_order order = locality_order_of(nest);
	struct loc_nest seen = {collecting->record, *nest, locality_order_references(nest, &order), 0}, *kept = NULL;

	for (size_t i = 0; i < nests->count && !kept; i++)
		kept = is_same_nest(&nests->nests[i], &seen) ? &nests->nests[i] : NULL;
	if (!kept) {
		kept = ARRAY_APPEND(nests->nests, nests->count, nests->room);
		if (!kept)
			return -ENOMEM;
		*kept = (struct loc_nest){.record = NULL};
	}
	kept->references += seen.most;
	return !kept->record || seen.most > kept->most ? keep_entry(kept, &seen) : 0;
}

static int
compare_nests(const void *a, const void *b)
{
	const struct loc_nest *one = a, *other = b;

	return (one->references < other->references) - (one->references > other->references);
}

int
loc_nests_collect(const struct loc_profile *profile, struct loc_nests *nests)
{
	struct collecting_nests collecting = {.nests = nests};
	const struct locality_visitor visitor = {begin, enter, NULL, NULL, &collecting};
	int err = 0;

	*nests = (struct loc_nests){.nests = NULL};
	for (size_t i = 0; i < profile->record_count && !err; i++) {
		collecting.record = profile->records[i];
		err = locality_record_visit(collecting.record, &visitor);
		err = err == -EPROTO ? 0 : err; /* the report says that a record is damaged */
	}
	if (nests->count > 1)
		qsort(nests->nests, nests->count, sizeof(*nests->nests), compare_nests);
	return err;
}

void
loc_nests_free(struct loc_nests *nests)
{
	for (size_t i = 0; i < nests->count; i++)
		free(nests->nests[i].nest.parts);
	free(nests->nests);
}
