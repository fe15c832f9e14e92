#include "dcpi-tools/common/truth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profile/edges.h"

static const char *const names[TRUTH_COUNT] = {
	[TRUTH_CODE_CACHE] = "truth.code-cache",     [TRUTH_CODE_TLB] = "truth.code-tlb",
	[TRUTH_DATA_CACHE] = "truth.data-cache",     [TRUTH_DATA_TLB] = "truth.data-tlb",
	[TRUTH_WRITE_BUFFER] = "truth.write-buffer", [TRUTH_MISPREDICT] = "truth.mispredict",
	[TRUTH_BANDWIDTH] = "truth.bandwidth",       [TRUTH_CALL] = "truth.system-call",
	[TRUTH_BLOCKED] = "truth.blocked",
};

const char *
truth_event_name(unsigned reason)
{
	return reason < TRUTH_COUNT ? names[reason] : NULL;
}

static int
compare(const void *left, const void *right)
{
	const struct truth_cycles *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static int
add_reason(struct profile *profile, uint32_t number, uint32_t epoch, unsigned reason, struct truth *truth,
           size_t *capacity)
{
	struct edge_set set = {0};
	struct truth_cycles *grown;
	int err = edges_read_of(profile, number, names[reason], epoch, &set);

	if (err)
		return err == -ENOENT ? 0 : err;
	grown = array_grow(truth->cycles, capacity, truth->count + set.count, sizeof(*grown));
	if (grown) {
		truth->cycles = grown;
		for (size_t i = 0; i < set.count; i++)
			grown[truth->count++] = (struct truth_cycles){set.edges[i].from, set.edges[i].to,
			                                              set.edges[i].count, (uint8_t)reason};
	}
	edge_set_fini(&set);
	return grown ? 0 : -ENOMEM;
}

int
truth_read(struct profile *profile, uint32_t number, uint32_t epoch, struct truth *truth)
{
	size_t capacity = 0;
	int err = 0;

	memset(truth, 0, sizeof(*truth));
	for (unsigned reason = 0; !err && reason < TRUTH_COUNT; reason++)
		err = add_reason(profile, number, epoch, reason, truth, &capacity);
	if (err)
		truth_fini(truth);
	else if (truth->count > 0)
		qsort(truth->cycles, truth->count, sizeof(*truth->cycles), compare);
	return err;
}

void
truth_fini(struct truth *truth)
{
	free(truth->cycles);
	*truth = (struct truth){0};
}

size_t
truth_at(const struct truth *truth, uint64_t offset)
{
	size_t low = 0, high = truth->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (truth->cycles[middle].from < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
