#include "dcpi-tools/topstalls/worst.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MAX ((size_t)1 << 20)

int
worst_init(struct worst *worst, size_t limit)
{
	*worst = (struct worst){.limit = limit < LIMIT_MAX ? limit : LIMIT_MAX};
	worst->stalls = calloc(worst->limit, sizeof(*worst->stalls));
	return worst->stalls ? 0 : -ENOMEM;
}

static void
fini_place(struct worst_place *place)
{
	free(place->text);
	free(place->path);
}

static void
fini_stall(struct worst_stall *stall)
{
	fini_place(&stall->place);
	free(stall->title);
	for (size_t i = 0; i < stall->reason_count; i++)
		for (size_t k = 0; k < stall->reasons[i].culprit_count; k++)
			fini_place(&stall->reasons[i].culprits[k]);
}

void
worst_fini(struct worst *worst)
{
	for (size_t i = 0; i < worst->count; i++)
		fini_stall(&worst->stalls[i]);
	free(worst->stalls);
	memset(worst, 0, sizeof(*worst));
}

/* Who lost the same is in the order of images and addresses: the same every time. */
static bool
is_worse(const struct worst_stall *one, const struct worst_stall *other)
{
	if (one->lost != other->lost)
		return one->lost > other->lost;
	if (one->image != other->image)
		return one->image < other->image;
	return one->place.address < other->place.address;
}

static void
exchange(struct worst_stall *one, struct worst_stall *other)
{
	const struct worst_stall kept = *one;

	*one = *other;
	*other = kept;
}

static void
sift_up(struct worst *worst, size_t at)
{
	while (at > 0 && is_worse(&worst->stalls[(at - 1) / 2], &worst->stalls[at])) {
		exchange(&worst->stalls[(at - 1) / 2], &worst->stalls[at]);
		at = (at - 1) / 2;
	}
}

static void
sift_down(struct worst *worst)
{
	size_t at = 0;

	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < worst->count; child++)
			if (is_worse(&worst->stalls[least], &worst->stalls[child]))
				least = child;
		if (least == at)
			return;
		exchange(&worst->stalls[at], &worst->stalls[least]);
		at = least;
	}
}

static void
put(struct worst *worst, const struct worst_stall *stall)
{
	if (worst->count < worst->limit) {
		worst->stalls[worst->count] = *stall;
		sift_up(worst, worst->count++);
		return;
	}
	fini_stall(&worst->stalls[0]);
	worst->stalls[0] = *stall;
	sift_down(worst);
}

static bool
is_kept(const struct worst *worst, const struct worst_stall *stall)
{
	return worst->count < worst->limit || is_worse(stall, &worst->stalls[0]);
}

static int
compare_reasons(const void *a, const void *b)
{
	const struct stall *const *one = a, *const *other = b;

	return stall_compare(*one, *other);
}

/* The one that took most comes first. */
static void
take_reasons(const struct stalls *stalls, const struct instruction_stalls *late, double frequency,
             struct worst_stall *stall)
{
	const struct stall *order[CAUSE_COUNT];
	size_t count = 0;

	while (count < late->stall_count && count < CAUSE_COUNT) {
		order[count] = &stalls->stalls[late->stall + count];
		count++;
	}
	qsort((void *)order, count, sizeof(order[0]), compare_reasons);
	for (size_t i = 0; i < count; i++) {
		const struct stall *possible = order[i];
		struct worst_reason *reason = &stall->reasons[stall->reason_count++];

		reason->cause = possible->cause;
		reason->low = possible->low * frequency;
		reason->high = possible->high * frequency;
		for (uint32_t k = 0; k < possible->culprit_count && reason->culprit_count < WORST_CULPRITS; k++)
			reason->culprits[reason->culprit_count++].address = stalls->culprits[possible->culprit + k];
	}
}

static double
executions_of(const struct procedure_analysis *analysis, uint32_t instruction, double frequency)
{
	if (analysis->executions)
		return (double)analysis->executions[instruction];
	if (analysis->frequencies.is_relative || analysis->cycles_per_sample <= 0)
		return -1;
	return frequency * analysis->cycles_per_sample;
}

static void
add_block(struct worst *worst, const struct procedure_input *input, const struct procedure_analysis *analysis,
          uint32_t index)
{
	const struct flow_block *block = &analysis->graph->blocks[index];
	const struct frequency *frequency = &analysis->frequencies.blocks[index];

	if (frequency->confidence >= CONFIDENCE_MEDIUM)
		worst->well_known_samples += procedure_block_samples(analysis, index);
	if (frequency->confidence == CONFIDENCE_NONE || !isfinite(frequency->value) || frequency->value <= 0)
		return;
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct instruction_stalls *late = &analysis->stalls.instructions[i];
		struct worst_stall stall = {
			.lost = late->stall_cycles * frequency->value,
			.cycles = late->stall_cycles,
			.samples = analysis->frequencies.samples[i],
			.unexplained = late->unexplained * frequency->value,
			.confidence = frequency->confidence,
			.image = input->code->index,
			.symbol = input->symbol,
			.place = {.address = analysis->graph->instructions[i].address},
		};

		if (stall.lost <= 0)
			continue;
		worst->lost += stall.lost;
		worst->instruction_count++;
		if (!is_kept(worst, &stall))
			continue;
		stall.executions = executions_of(analysis, i, frequency->value);
		take_reasons(&analysis->stalls, late, frequency->value, &stall);
		put(worst, &stall);
	}
}

void
worst_add(struct worst *worst, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	for (uint32_t i = 0; i < analysis->graph->block_count; i++)
		add_block(worst, input, analysis, i);
}

static int
compare_stalls(const void *a, const void *b)
{
	return is_worse(a, b) ? -1 : 1;
}

void
worst_sort(struct worst *worst)
{
	if (worst->count)
		qsort(worst->stalls, worst->count, sizeof(*worst->stalls), compare_stalls);
}
