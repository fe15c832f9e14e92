#include "code/definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_STEPS_MAX 20000
#define STEPS_BASE       1000000 /* of all searches in a procedure, and so many more for each instruction: */
#define STEPS_EACH       64

static void
source_count(struct tracer *tracer, uint32_t to)
{
	tracer->firsts[to]++;
}

static void
source_put(struct tracer *tracer, uint32_t from, uint32_t to)
{
	tracer->sources[--tracer->firsts[to]] = from;
}

static int
sources_fill(struct tracer *tracer)
{
	const struct code_map *map = tracer->map;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < map->count; i++) {
		if (map->ways[i] & WAY_TAKEN)
			source_count(tracer, map->targets[i]);
	}
	for (size_t i = 0; i < map->table_way_count; i++)
		source_count(tracer, map->table_ways[i].to);
	for (uint32_t i = 0; i < map->count; i++) {
		sum += tracer->firsts[i];
		tracer->firsts[i] = sum;
	}
	tracer->firsts[map->count] = sum;
	tracer->sources = calloc((size_t)sum + 1, sizeof(*tracer->sources));
	if (!tracer->sources)
		return -ENOMEM;
	for (uint32_t i = 0; i < map->count; i++) {
		if (map->ways[i] & WAY_TAKEN)
			source_put(tracer, i, map->targets[i]);
	}
	for (size_t i = 0; i < map->table_way_count; i++)
		source_put(tracer, map->table_ways[i].from, map->table_ways[i].to);
	return 0;
}

int
tracer_init(struct tracer *tracer, const struct code_map *map)
{
	size_t count = (size_t)map->count + 1;
	int err = -ENOMEM;

	*tracer = (struct tracer){.map = map, .steps_left = STEPS_BASE + STEPS_EACH * (uint64_t)map->count};
	tracer->firsts = calloc(count, sizeof(*tracer->firsts));
	tracer->seen = calloc(count, sizeof(*tracer->seen));
	tracer->queue = calloc(count, sizeof(*tracer->queue));
	if (tracer->firsts && tracer->seen && tracer->queue)
		err = sources_fill(tracer);
	if (err)
		tracer_fini(tracer);
	return err;
}

void
tracer_fini(struct tracer *tracer)
{
	free(tracer->firsts);
	free(tracer->sources);
	free(tracer->seen);
	free(tracer->queue);
	free(tracer->spills);
	*tracer = (struct tracer){0};
}

static bool
is_run_into(const struct code_map *map, uint32_t index)
{
	return index > 0 && map->ways[index - 1] & WAY_FALL;
}

uint32_t
tracer_only_source(const struct tracer *tracer, uint32_t index)
{
	uint32_t jumps = tracer->firsts[index + 1] - tracer->firsts[index];
	bool run_into = is_run_into(tracer->map, index);

	if (tracer->map->ways[index] & WAY_ENTERED || jumps + run_into != 1)
		return CODE_OUTSIDE;
	return run_into ? index - 1 : tracer->sources[tracer->firsts[index]];
}

static bool
call_changes(const struct code_map *map, uint8_t reg)
{
	return reg >= 32 || architecture_registers(map->source->architecture)->call_changes >> reg & 1;
}

static bool
is_call(const struct instruction *instruction)
{
	return instruction->flow == FLOW_CALL || instruction->flow == FLOW_CALL_INDIRECT;
}

bool
instruction_changes(const struct code_map *map, uint32_t index, uint8_t reg)
{
	const struct instruction *instruction = &map->instructions[index];

	if (is_call(instruction))
		return call_changes(map, reg);
	for (size_t i = 0; i < instruction->write_count; i++) {
		if (instruction->writes[i] == reg)
			return true;
	}
	return false;
}

static void
definition_note(const struct code_map *map, uint32_t index, struct definitions *definitions)
{
	if (is_call(&map->instructions[index]))
		definitions->from_call = true;
	else if (definitions->count == DEFINITIONS_MAX)
		definitions->is_lost = true;
	else
		definitions->at[definitions->count++] = index;
}

/* Append what comes to `index` and was not seen by this search. */
static size_t
sources_queue(struct tracer *tracer, uint32_t index, size_t tail, struct definitions *definitions)
{
	if (index == 0)
		definitions->from_caller = true;
	if (is_run_into(tracer->map, index) && tracer->seen[index - 1] != tracer->search) {
		tracer->seen[index - 1] = tracer->search;
		tracer->queue[tail++] = index - 1;
	}
	for (uint32_t i = tracer->firsts[index]; i < tracer->firsts[index + 1]; i++) {
		uint32_t source = tracer->sources[i];

		if (tracer->seen[source] == tracer->search)
			continue;
		tracer->seen[source] = tracer->search;
		tracer->queue[tail++] = source;
	}
	return tail;
}

void
tracer_definitions(struct tracer *tracer, uint32_t at, uint8_t reg, struct definitions *definitions)
{
	size_t head = 0, tail, steps = 0;

	*definitions = (struct definitions){0};
	tracer->search++;
	tail = sources_queue(tracer, at, 0, definitions);
	while (head < tail && !definitions->is_lost) {
		uint32_t index = tracer->queue[head++];

		if (++steps > SEARCH_STEPS_MAX || !tracer->steps_left) {
			definitions->is_lost = true;
			return;
		}
		tracer->steps_left--;
		if (instruction_changes(tracer->map, index, reg))
			definition_note(tracer->map, index, definitions);
		else
			tail = sources_queue(tracer, index, tail, definitions);
	}
}

bool
tracer_definition(struct tracer *tracer, uint32_t at, uint8_t reg, uint32_t *definition)
{
	struct definitions definitions;

	tracer_definitions(tracer, at, reg, &definitions);
	if (definitions.count != 1 || definitions.is_lost || definitions.from_call || definitions.from_caller)
		return false;
	*definition = definitions.at[0];
	return true;
}
