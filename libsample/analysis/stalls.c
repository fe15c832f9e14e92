#include "analysis/stalls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stalls_private.h"

#define SMALL_PART   0.02 /* of a stall: a reason that explains no more is ruled out */
#define STRIDE_STEPS 400  /* an instruction: what all searches for strides may take */

static const struct {
	char letter;
	const char *name;
} causes[CAUSE_COUNT] = {
	[CAUSE_CODE_CACHE] = {'I', "I-cache (not ITB)"},
	[CAUSE_CODE_TLB] = {'T', "ITB/I-cache miss"},
	[CAUSE_DATA_CACHE] = {'d', "D-cache miss"},
	[CAUSE_DATA_TLB] = {'D', "DTB miss"},
	[CAUSE_WRITE_BUFFER] = {'w', "Write buffer"},
	[CAUSE_SYNCHRONIZATION] = {'y', "Synchronization"},
	[CAUSE_MISPREDICT] = {'p', "Branch mispredict"},
	[CAUSE_MULTIPLIER] = {'m', "IMUL busy"},
	[CAUSE_DIVIDER] = {'f', "FDIV busy"},
	[CAUSE_OTHER] = {'o', "Other"},
};

char
stall_cause_letter(unsigned cause)
{
	if (cause >= CAUSE_COUNT)
		return '?';
	return causes[cause].letter;
}

const char *
stall_cause_name(unsigned cause)
{
	return cause < CAUSE_COUNT ? causes[cause].name : "?";
}

void
stalls_fini(struct stalls *stalls)
{
	free(stalls->instructions);
	free(stalls->stalls);
	free(stalls->culprits);
	free(stalls->fixed_cycles);
	free(stalls->issue_cycles);
	free(stalls->gain_cycles);
	memset(stalls, 0, sizeof(*stalls));
}

int
stall_compare(const struct stall *one, const struct stall *other)
{
	if (one->likely != other->likely)
		return one->likely > other->likely ? -1 : 1;
	if (one->low != other->low)
		return one->low > other->low ? -1 : 1;
	if (one->high != other->high)
		return one->high > other->high ? -1 : 1;
	if ((one->cause == CAUSE_WRITE_BUFFER) != (other->cause == CAUSE_WRITE_BUFFER)) /* the rarest */
		return one->cause == CAUSE_WRITE_BUFFER ? 1 : -1;
	return (one->cause > other->cause) - (one->cause < other->cause);
}

static int
reserve(void **array, size_t *capacity, size_t count, size_t size)
{
	const size_t wanted = *capacity ? 2 * *capacity : 64;
	void *grown;

	if (count <= *capacity)
		return 0;
	grown = reallocarray(*array, wanted > count ? wanted : count, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted > count ? wanted : count;
	return 0;
}

static int
compare_addresses(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static int
add_culprits(struct elimination *elimination, const struct suspect *suspect, struct stall *stall)
{
	struct stalls *result = elimination->result;
	void *culprits = result->culprits;
	int err = reserve(&culprits, &elimination->culprit_capacity, result->culprit_count + suspect->culprit_count,
	                  sizeof(*result->culprits));

	result->culprits = culprits;
	if (err)
		return err;
	stall->culprit = (uint32_t)result->culprit_count;
	stall->culprit_count = suspect->culprit_count;
	for (uint32_t i = 0; i < suspect->culprit_count; i++)
		result->culprits[result->culprit_count++] =
			elimination->graph->instructions[suspect->culprits[i]].address;
	if (stall->culprit_count > 1)
		qsort(result->culprits + stall->culprit, stall->culprit_count, sizeof(*result->culprits),
		      compare_addresses);
	return 0;
}

static int
add_stall(struct elimination *elimination, const struct suspect *suspect, struct stall stall)
{
	struct stalls *result = elimination->result;
	void *stalls = result->stalls;
	int err = reserve(&stalls, &elimination->stall_capacity, result->stall_count + 1, sizeof(*result->stalls));

	result->stalls = stalls;
	if (!err)
		err = add_culprits(elimination, suspect, &stall);
	if (!err)
		result->stalls[result->stall_count++] = stall;
	return err;
}

/* The cycles of the stall that events tell of; reasons without a share have what these leave. */
static double
told_cycles(const struct suspect suspects[CAUSE_COUNT])
{
	double sum = 0;

	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		if (suspects[i].is_possible && suspects[i].evidence >= 0)
			sum += fmin(suspects[i].evidence, suspects[i].bound);
	return sum;
}

/* What events do not tell of is rather the way that was come from elsewhere than what was loaded there, or stores. */
static double
likely_cycles(const struct suspect *suspect, unsigned cause, double left)
{
	const double part = cause == CAUSE_WRITE_BUFFER                     ? left / 4
	                    : suspect->is_open && cause != CAUSE_MISPREDICT ? left / 2
	                                                                    : left;

	if (suspect->evidence < 0)
		return part;
	return suspect->evidence + (suspect->is_open ? part : 0);
}

/* A reason's least is what the most of all others leaves. */
static int
explain(struct elimination *elimination, uint32_t block, uint32_t index)
{
	struct instruction_stalls *of =
		&elimination->result->instructions[elimination->graph->blocks[block].first + index];
	struct suspect suspects[CAUSE_COUNT];
	double sum = 0, left;
	int err = 0;

	suspects_find(elimination, block, index, suspects);
	suspects_bound(elimination, block, index, suspects);
	for (unsigned i = 0; i < CAUSE_COUNT; i++) {
		suspects[i].is_possible = suspects[i].is_possible && suspects[i].bound >= SMALL_PART * of->stall_cycles;
		suspects[i].bound = suspects[i].is_possible ? fmin(suspects[i].bound, of->stall_cycles) : 0;
		sum += suspects[i].bound;
	}
	left = fmax(of->stall_cycles - told_cycles(suspects), 0);
	of->unexplained = fmax(of->stall_cycles - sum, 0);
	of->stall = (uint32_t)elimination->result->stall_count;
	for (unsigned i = 0; i < CAUSE_COUNT && !err; i++) {
		struct stall stall = {
			.cause = (uint8_t)i,
			.high = suspects[i].bound,
			.low = fmin(fmax(of->stall_cycles - (sum - suspects[i].bound), 0), suspects[i].bound),
		};

		if (!suspects[i].is_possible)
			continue;
		stall.likely = fmax(likely_cycles(&suspects[i], i, left), stall.low);
		err = add_stall(elimination, &suspects[i], stall);
		of->stall_count += !err;
	}
	return err;
}

static int
explain_all(struct elimination *elimination)
{
	const struct flow_graph *graph = elimination->graph;
	int err = 0;

	for (uint32_t i = 0; i < graph->block_count; i++)
		for (uint32_t k = 0; k < graph->blocks[i].count && !err; k++)
			if (elimination->result->instructions[graph->blocks[i].first + k].stall_cycles > 0)
				err = explain(elimination, i, k);
	return err;
}

static bool
is_consistent(const struct stalls_input *input)
{
	for (size_t i = 0; i < input->graph->block_count; i++)
		if (input->schedules[i].count != input->graph->blocks[i].count || !input->schedules[i].lines)
			return false;
	return input->frequencies->blocks && input->frequencies->edges && input->frequencies->samples;
}

int
stalls_find(const struct stalls_input *input, struct stalls *stalls)
{
	const size_t count = input->graph->block_count;
	struct elimination elimination = {
		.input = input,
		.graph = input->graph,
		.pipeline = input->pipeline,
		.in_order = input->pipeline->kind == PIPELINE_KIND_IN_ORDER,
		.is_relative = input->frequencies->is_relative,
		.scale = 1,
		.result = stalls,
	};
	int err = -ENOMEM;

	memset(stalls, 0, sizeof(*stalls));
	if (!is_consistent(input))
		return -EINVAL;
	elimination.fits_cache = calloc(count + 1, sizeof(*elimination.fits_cache));
	elimination.fits_tlb = calloc(count + 1, sizeof(*elimination.fits_tlb));
	elimination.keeps_data = calloc(count + 1, sizeof(*elimination.keeps_data));
	elimination.seen = calloc(count + 1, sizeof(*elimination.seen));
	elimination.queue = calloc(count + 1, sizeof(*elimination.queue));
	elimination.distances = calloc(count + 1, sizeof(*elimination.distances));
	stalls->instructions = calloc(input->graph->instruction_count + 1, sizeof(*stalls->instructions));
	if (elimination.fits_cache && elimination.fits_tlb && elimination.keeps_data && elimination.seen &&
	    elimination.queue && elimination.distances && stalls->instructions)
		err = find_loops(&elimination);
	if (!err) {
		compare_lines(&elimination);
		err = divide_time(&elimination);
	}
	elimination.asks_strides = true;
	elimination.steps_left = STRIDE_STEPS * (input->graph->instruction_count + STRIDE_STEPS);
	if (!err)
		err = explain_all(&elimination);
	free(elimination.worth);
	free(elimination.fits_cache);
	free(elimination.fits_tlb);
	free(elimination.keeps_data);
	free(elimination.seen);
	free(elimination.queue);
	free(elimination.distances);
	if (err)
		stalls_fini(stalls);
	return err;
}
