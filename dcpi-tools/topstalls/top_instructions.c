#include "dcpi-tools/topstalls/top_instructions.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/analysis_choice.h"
#include "dcpi-tools/common/symbolizer.h"
#include "image/lines.h"

#define LIMIT_MAX ((size_t)1 << 20)

int
top_instructions_init(struct top_instructions *top, size_t limit)
{
	*top = (struct top_instructions){.limit = limit < LIMIT_MAX ? limit : LIMIT_MAX};
	top->stalls = calloc(2 * top->limit, sizeof(*top->stalls));
	return top->stalls ? 0 : -ENOMEM;
}

static void
fini_place(struct top_place *place)
{
	free(place->text);
	free(place->path);
}

static void
fini_stall(struct top_stall *stall)
{
	fini_place(&stall->place);
	free(stall->title);
	for (size_t i = 0; i < stall->reason_count; i++)
		for (size_t k = 0; k < stall->reasons[i].culprit_count; k++)
			fini_place(&stall->reasons[i].culprits[k]);
}

void
top_instructions_fini(struct top_instructions *top)
{
	for (size_t i = 0; i < top->count; i++)
		fini_stall(&top->stalls[i]);
	free(top->stalls);
	memset(top, 0, sizeof(*top));
}

/* Ties are broken by image and address, so that the order is reproducible. */
static bool
lost_more(const struct top_stall *one, const struct top_stall *other)
{
	if (one->lost != other->lost)
		return one->lost > other->lost;
	if (one->image != other->image)
		return one->image < other->image;
	return one->place.address < other->place.address;
}

static int
compare_stalls(const void *a, const void *b)
{
	return lost_more(a, b) ? -1 : 1;
}

void
top_instructions_sort(struct top_instructions *top)
{
	if (top->count)
		qsort(top->stalls, top->count, sizeof(*top->stalls), compare_stalls);
	for (; top->count > top->limit; top->count--)
		fini_stall(&top->stalls[top->count - 1]);
	top->is_full = top->count == top->limit;
}

static int
compare_reasons(const void *a, const void *b)
{
	const struct stall *const *one = a, *const *other = b;

	return stall_compare(*one, *other);
}

/* The reason that took most comes first. */
static void
take_reasons(const struct stalls *stalls, const struct instruction_stalls *late, double frequency,
             struct top_stall *stall)
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
		struct top_reason *reason = &stall->reasons[stall->reason_count++];

		reason->cause = possible->cause;
		reason->low = possible->low * frequency;
		reason->high = possible->high * frequency;
		for (uint32_t k = 0; k < possible->culprit_count && reason->culprit_count < TOP_CULPRITS; k++)
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
add_block(struct top_instructions *top, const struct procedure_input *input, const struct procedure_analysis *analysis,
          uint32_t index)
{
	const struct flow_block *block = &analysis->graph->blocks[index];
	const struct frequency *frequency = &analysis->frequencies.blocks[index];

	if (frequency->confidence >= CONFIDENCE_MEDIUM)
		top->well_known_samples += procedure_block_samples(analysis, index);
	if (frequency->confidence == CONFIDENCE_NONE || !isfinite(frequency->value) || frequency->value <= 0)
		return;
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct instruction_stalls *late = &analysis->stalls.instructions[i];
		struct top_stall stall = {
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
		top->lost += stall.lost;
		top->instruction_count++;
		if (top->is_full && !lost_more(&stall, &top->stalls[top->limit - 1]))
			continue;
		stall.executions = executions_of(analysis, i, frequency->value);
		take_reasons(&analysis->stalls, late, frequency->value, &stall);
		if (top->count == 2 * top->limit)
			top_instructions_sort(top);
		top->stalls[top->count++] = stall;
	}
}

void
top_instructions_add(struct top_instructions *top, const struct procedure_input *input,
                     const struct procedure_analysis *analysis)
{
	for (uint32_t i = 0; i < analysis->graph->block_count; i++)
		add_block(top, input, analysis, i);
}

struct top_reader {
	const struct code_image *code;
	const struct top_lookup *lookup;
	struct image_lines *lines; /* NULL: there are none, or they are not asked for */
};

static int
look_at(const struct top_reader *reader, struct top_place *place)
{
	const struct instruction instruction = {.address = place->address};
	char text[INSTRUCTION_TEXT_SIZE];
	struct source_place source;

	instruction_format(reader->code, &instruction, reader->lookup->syntax, text);
	place->text = strdup(text);
	if (!place->text)
		return -ENOMEM;
	if (!reader->lines || image_lines_find(reader->lines, place->address, &source))
		return 0;
	place->line = source.line;
	place->path = strdup(source.path);
	return place->path ? 0 : -ENOMEM;
}

static int
look_up(const struct top_reader *reader, struct top_stall *stall)
{
	const struct procedure procedure = procedure_of_symbol(stall->symbol);
	int err;

	stall->symbol = NULL;
	stall->title = procedure_title(&procedure, reader->code->image, reader->lookup->demangle);
	err = stall->title ? look_at(reader, &stall->place) : -ENOMEM;
	for (size_t i = 0; i < stall->reason_count && !err; i++)
		for (size_t k = 0; k < stall->reasons[i].culprit_count && !err; k++)
			err = look_at(reader, &stall->reasons[i].culprits[k]);
	return err;
}

int
top_instructions_look_up(struct top_instructions *top, const struct code_image *code, const struct top_lookup *lookup)
{
	struct top_reader reader = {.code = code, .lookup = lookup};
	int err = 0;

	top_instructions_sort(top);
	for (size_t i = 0; i < top->count && !err; i++) {
		struct top_stall *stall = &top->stalls[i];

		if (stall->image != code->index || !stall->symbol)
			continue;
		if (lookup->source && !reader.lines) {
			err = image_lines_new(code->file, &reader.lines);
			if (err == -ENOENT || err == -DCPI_EDAMAGED)
				err = 0;
		}
		if (!err)
			err = look_up(&reader, stall);
	}
	image_lines_free(reader.lines);
	return err;
}
