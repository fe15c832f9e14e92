#include "dcpi-tools/loc/functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define UNKNOWN     (-1.0)
#define BLOCK_ENTRY 0 /* as locality/record.h has it */
#define BLOCK_EXIT  1

/* What is known of a function: how often its basic blocks ran, and how often it went from one to another one. */
struct flow {
	const struct locality_loop *text;
	double blocks[LOCALITY_BLOCKS_MAX];
	double *edges;        /* [text->edge_count] */
	uint32_t block_count; /* all that have edges */
	/* of each block, the edges that come and those that leave */
	struct flow_side {
		double sum; /* of those that are known */
		uint32_t count, unknown, last_unknown;
	} sides[2][LOCALITY_BLOCKS_MAX];
};

/* ---- what follows from what is known ---- */

static void
add_up(struct flow *flow)
{
	for (unsigned k = 0; k < 2; k++)
		memset(flow->sides[k], 0, flow->block_count * sizeof(flow->sides[k][0]));
	for (uint32_t i = 0; i < flow->text->edge_count; i++) {
		struct flow_side *both[2] = {&flow->sides[0][flow->text->edges[i].to],
		                             &flow->sides[1][flow->text->edges[i].from]};

		for (unsigned k = 0; k < 2; k++) {
			both[k]->count++;
			if (flow->edges[i] < 0) {
				both[k]->unknown++;
				both[k]->last_unknown = i;
			} else {
				both[k]->sum += flow->edges[i];
			}
		}
	}
}

/* The one edge of a side that is not known has what the others leave. */
static bool
complete_side(struct flow *flow, uint32_t block, const struct flow_side *side)
{
	const double rest = flow->blocks[block] - side->sum;

	if (side->unknown != 1 || flow->edges[side->last_unknown] >= 0)
		return false;
	flow->edges[side->last_unknown] = rest > 0 ? rest : 0;
	return true;
}

static bool
complete_block(struct flow *flow, uint32_t block)
{
	bool changed = false;

	for (unsigned k = 0; k < 2; k++) {
		const struct flow_side *side = &flow->sides[k][block];

		if (flow->blocks[block] < 0 && side->count && !side->unknown) {
			flow->blocks[block] = side->sum;
			changed = true;
		}
		if (flow->blocks[block] >= 0)
			changed |= complete_side(flow, block, side);
	}
	return changed;
}

static void
complete(struct flow *flow)
{
	bool changed = true;

	while (changed) {
		changed = false;
		add_up(flow);
		for (uint32_t i = 0; i < flow->block_count; i++)
			changed |= complete_block(flow, i);
	}
}

/* ---- what loops say ---- */

static bool
is_of_function(const struct loc_profile *profile, const struct loc_loop *loop, const struct loc_loop *function)
{
	return !loop->loop->is_function && *loop->loop->unique_name &&
	       strcmp(loop->loop->unique_name, function->loop->unique_name) == 0 &&
	       strcmp(loop->loop->file, function->loop->file) == 0 &&
	       strcmp(locality_record_program(profile->records[loop->record]),
	              locality_record_program(profile->records[function->record])) == 0;
}

static void
set_block(struct flow *flow, uint32_t block, double frequency)
{
	if (flow->blocks[block] < 0)
		flow->blocks[block] = frequency;
}

/* How often a reference was looked at. */
static double
times_of(const struct loc_loop *loop, uint32_t reference)
{
	return (double)loop->references[reference].score.references /
	       loc_reference_words(&loop->loop->references[reference]);
}

/*
 * How often it was entered follows from the loops around it, if these say so: a burst may have ended within them, and
 * then its own entries are only a part.
 */
static void
take_loop(struct flow *flow, const struct loc_loop *loop)
{
	if (loop->entries) {
		set_block(flow, loop->loop->preheader, (double)loop->entries);
		set_block(flow, loop->loop->counted,
		          (double)loop->iterations / (double)loop->entries * flow->blocks[loop->loop->preheader]);
		return;
	}
	for (uint32_t i = 0; i < loop->loop->count; i++)
		if (loop->references[i].score.references)
			set_block(flow, loop->loop->references[i].block, times_of(loop, i));
}

static void
take_loops(struct flow *flow, const struct loc_profile *profile, const struct loc_loop *function)
{
	uint32_t deepest = 0;

	for (size_t i = 0; i < profile->loop_count; i++)
		if (is_of_function(profile, &profile->loops[i], function) && profile->loops[i].loop->depth > deepest)
			deepest = profile->loops[i].loop->depth;
	for (uint32_t depth = 1; depth <= deepest; depth++) {
		complete(flow);
		for (size_t i = 0; i < profile->loop_count; i++)
			if (profile->loops[i].loop->depth == depth &&
			    is_of_function(profile, &profile->loops[i], function))
				take_loop(flow, &profile->loops[i]);
	}
	complete(flow);
}

/* ---- a function ---- */

/* Without edges, nothing is known but calls. */
static void
summarize_blocks(struct loc_function *function, const struct flow *flow)
{
	double sum = 0;

	for (uint32_t i = 0; i < function->text->loop->blocks; i++) {
		const double frequency = flow->blocks[i];

		function->frequencies[i] = frequency;
		if (frequency < 0)
			continue;
		function->least = function->known && function->least < frequency ? function->least : frequency;
		function->most = function->most > frequency ? function->most : frequency;
		function->known++;
		sum += frequency;
	}
	function->mean = function->known ? sum / function->known : 0;
}

/* 1 / stride of a stream. */
static double
weight_of(enum stride_class class, const struct locality_reference *text, const struct loc_reference *reference)
{
	const double stride = (double)reference->stride;

	if (class == STRIDE_NEXT)
		return 1;
	return class == STRIDE_FAR ? (double)text->bytes / (stride < 0 ? -stride : stride) : 0;
}

struct reference_sums {
	double times, judged, spatial, temporal, by_stride;
};

static void
add_references(struct loc_function *function, const struct loc_loop *loop, const struct flow *flow,
               struct reference_sums *sums)
{
	for (uint32_t i = 0; i < loop->loop->count; i++) {
		const struct locality_reference *text = &loop->loop->references[i];
		const struct loc_reference *reference = &loop->references[i];
		const enum stride_class class = loc_stride_class(text, reference);
		const double frequency = flow->blocks[text->block],
			     times = frequency < 0 ? times_of(loop, i) : frequency;

		function->classes[class]++;
		sums->times += times;
		sums->spatial += times * locality_spatial(&reference->score);
		sums->by_stride += times * weight_of(class, text, reference);
		if (reference->score.judged) {
			sums->judged += times;
			sums->temporal += times * locality_temporal(&reference->score);
		}
	}
}

static int
add_function(struct loc_functions *functions, const struct loc_profile *profile, const struct loc_loop *text,
             struct flow *flow)
{
	struct loc_function *added = ARRAY_APPEND(functions->functions, functions->count, functions->room);
	struct reference_sums sums = {0};

	if (!added)
		return -ENOMEM;
	*added = (struct loc_function){.text = text};
	added->frequencies = calloc(text->loop->blocks, sizeof(*added->frequencies));
	flow->text = text->loop;
	flow->edges = calloc(text->loop->edge_count + 1, sizeof(*flow->edges));
	if (!added->frequencies || !flow->edges) {
		free(flow->edges);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < LOCALITY_BLOCKS_MAX; i++)
		flow->blocks[i] = UNKNOWN;
	flow->block_count = 0;
	for (uint32_t i = 0; i < text->loop->edge_count; i++) {
		const struct locality_edge *edge = &text->loop->edges[i];

		flow->edges[i] = UNKNOWN;
		flow->block_count = edge->from >= flow->block_count ? edge->from + 1 : flow->block_count;
		flow->block_count = edge->to >= flow->block_count ? edge->to + 1 : flow->block_count;
	}
	set_block(flow, BLOCK_ENTRY, (double)text->entries);
	set_block(flow, BLOCK_EXIT, (double)text->entries); /* calls that do not return are rare */
	take_loops(flow, profile, text);
	summarize_blocks(added, flow);
	for (size_t i = 0; i < profile->loop_count; i++)
		if (is_of_function(profile, &profile->loops[i], text))
			add_references(added, &profile->loops[i], flow, &sums);
	added->references = sums.times;
	added->spatial = sums.times > 0 ? sums.spatial / sums.times : 0;
	added->by_stride = sums.times > 0 ? sums.by_stride / sums.times : 0;
	added->temporal = sums.judged > 0 ? sums.temporal / sums.judged : -1;
	free(flow->edges);
	return 0;
}

static int
compare_functions(const void *a, const void *b)
{
	const struct loc_function *one = a, *other = b;

	return (one->references < other->references) - (one->references > other->references);
}

int
loc_functions_init(struct loc_functions *functions, const struct loc_profile *profile)
{
	struct flow *flow = malloc(sizeof(*flow));
	int err = flow ? 0 : -ENOMEM;

	*functions = (struct loc_functions){.functions = NULL};
	for (size_t i = 0; i < profile->loop_count && !err; i++)
		if (profile->loops[i].loop->is_function)
			err = add_function(functions, profile, &profile->loops[i], flow);
	free(flow);
	if (functions->count > 1)
		qsort(functions->functions, functions->count, sizeof(*functions->functions), compare_functions);
	return err;
}

void
loc_functions_fini(struct loc_functions *functions)
{
	for (size_t i = 0; i < functions->count; i++)
		free(functions->functions[i].frequencies);
	free(functions->functions);
}
