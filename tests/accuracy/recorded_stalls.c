#include "tests/accuracy/recorded_stalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/emu/stall_truth.h"
#include "profile/edges.h"

static int
compare(const void *left, const void *right)
{
	const struct recorded_stall *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static int
add_reason(struct profile *profile, uint32_t number, uint32_t epoch, unsigned reason, struct recorded_stalls *recorded,
           size_t *capacity)
{
	struct edge_set set = {0};
	struct recorded_stall *grown;
	int err = edges_read_of(profile, number, stall_truth_event_name(reason), epoch, &set);

	if (err)
		return err == -ENOENT ? 0 : err;
	grown = array_grow(recorded->stalls, capacity, recorded->count + set.count, sizeof(*grown));
	if (grown) {
		recorded->stalls = grown;
		for (size_t i = 0; i < set.count; i++)
			grown[recorded->count++] = (struct recorded_stall){set.edges[i].from, set.edges[i].to,
			                                                   set.edges[i].count, (uint8_t)reason};
	}
	edge_set_fini(&set);
	return grown ? 0 : -ENOMEM;
}

int
recorded_stalls_read(struct profile *profile, uint32_t number, uint32_t epoch, struct recorded_stalls *recorded)
{
	size_t capacity = 0;
	int err = 0;

	memset(recorded, 0, sizeof(*recorded));
	for (unsigned reason = 0; !err && reason < TRUTH_COUNT; reason++)
		err = add_reason(profile, number, epoch, reason, recorded, &capacity);
	if (err)
		recorded_stalls_fini(recorded);
	else if (recorded->count > 0)
		qsort(recorded->stalls, recorded->count, sizeof(*recorded->stalls), compare);
	return err;
}

void
recorded_stalls_fini(struct recorded_stalls *recorded)
{
	free(recorded->stalls);
	*recorded = (struct recorded_stalls){0};
}

size_t
recorded_stalls_at(const struct recorded_stalls *recorded, uint64_t offset)
{
	return ARRAY_LOWER_BOUND(recorded->stalls, recorded->count, from, offset);
}

static uint8_t
cause_of(unsigned reason)
{
	static const uint8_t causes[TRUTH_COUNT] = {
		[TRUTH_CODE_CACHE] = CAUSE_CODE_CACHE,
		[TRUTH_CODE_TLB] = CAUSE_CODE_TLB,
		[TRUTH_DATA_CACHE] = CAUSE_DATA_CACHE,
		[TRUTH_DATA_TLB] = CAUSE_DATA_TLB,
		[TRUTH_WRITE_BUFFER] = CAUSE_WRITE_BUFFER,
		[TRUTH_MISPREDICT] = CAUSE_MISPREDICT,
		[TRUTH_TRANSFER] = CAUSE_DATA_CACHE,
		[TRUTH_BANDWIDTH] = CAUSE_DATA_CACHE,
		[TRUTH_CALL] = CAUSE_OTHER,
		[TRUTH_BLOCKED] = CAUSE_COUNT,
	};

	return reason < TRUTH_COUNT ? causes[reason] : CAUSE_COUNT;
}

static int
compare_truths(const void *left, const void *right)
{
	const struct verdict_truth *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->cause != b->cause)
		return a->cause < b->cause ? -1 : 1;
	return (a->culprit > b->culprit) - (a->culprit < b->culprit);
}

/* Sort them and add up those that are equal but for their cycles. How many are left. */
static size_t
sort_and_merge(struct verdict_truth *truths, size_t count)
{
	size_t kept = 0;

	qsort(truths, count, sizeof(*truths), compare_truths);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && compare_truths(&truths[kept - 1], &truths[i]) == 0)
			truths[kept - 1].cycles += truths[i].cycles;
		else
			truths[kept++] = truths[i];
	}
	return kept;
}

/* Append what one instruction waited for to `count` others. How many there are then. */
static size_t
add_truths(const struct recorded_stalls *recorded, const struct code_image *code, uint64_t address,
           struct verdict_truth *truths, size_t count)
{
	uint64_t offset;

	if (image_file_offset(code->file, address, &offset))
		return count;
	for (size_t i = recorded_stalls_at(recorded, offset);
	     i < recorded->count && recorded->stalls[i].from == offset && count < recorded->count; i++) {
		const struct recorded_stall *stall = &recorded->stalls[i];
		struct verdict_truth *to = &truths[count];

		*to = (struct verdict_truth){address, VERDICT_ELSEWHERE, (double)stall->cycles,
		                             cause_of(stall->reason)};
		if (stall->to != TRUTH_ELSEWHERE && image_file_address(code->file, stall->to, &to->culprit))
			to->culprit = VERDICT_ELSEWHERE;
		count += to->cause != CAUSE_COUNT;
	}
	return count;
}

int
recorded_stalls_judge(const struct recorded_stalls *recorded, const struct code_image *code,
                      const struct procedure_analysis *analysis, struct verdict **verdicts)
{
	const struct flow_graph *graph = analysis->graph;
	struct verdict_truth *truths = calloc(recorded->count + 1, sizeof(*truths));
	uint64_t last = UINT64_MAX;
	size_t count = 0;
	int err;

	if (!truths)
		return -ENOMEM;
	for (size_t i = 0; i < graph->instruction_count && count < recorded->count; i++) {
		if (graph->instructions[i].address != last)
			count = add_truths(recorded, code, graph->instructions[i].address, truths, count);
		last = graph->instructions[i].address;
	}
	err = verdicts_make(analysis, truths, sort_and_merge(truths, count), verdicts);
	free(truths);
	return err;
}

uint32_t
recorded_stalls_epoch(const struct selection *selection)
{
	for (size_t i = selection_epochs_matched(selection); i-- > 0;)
		for (size_t k = 0; k < selection->epochs[i].event_count; k++)
			if (selection->epochs[i].events[k].encoding.type == EVENT_TYPE_TRUTH)
				return selection->epochs[i].id;
	return 0;
}
