#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/schedule_parts.h"

#define NODES_MAX      65536 /* instructions of all iterations together */
#define ITERATIONS_MAX 64
#define ITERATIONS_MIN 8

/* The data flow of some iterations, as if units and widths were endless. A node is an instruction of an iteration. */
struct flow {
	size_t count, iterations;
	double *ready;     /* when a node's result is there */
	uint32_t *because; /* the node whose result it waited for last, or SCHEDULE_NOTHING */
	double register_ready[REGISTER_COUNT];
	uint32_t register_node[REGISTER_COUNT];
};

static void
run_instruction(struct flow *flow, const struct instruction *instruction, const struct work *work, uint32_t node)
{
	unsigned data = instruction->read_count - instruction->address_reads;
	double start = 0, written_back = 0;
	uint32_t because = SCHEDULE_NOTHING;

	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++) {
		unsigned reg = instruction->reads[i];
		double ready = flow->register_ready[reg];

		if (i >= data && ready > written_back)
			written_back = ready;
		if (i >= data)
			ready += work->load_latency;
		if (flow->register_node[reg] != SCHEDULE_NOTHING && (because == SCHEDULE_NOTHING || ready > start)) {
			start = ready;
			because = flow->register_node[reg];
		}
	}
	if (because == SCHEDULE_NOTHING)
		start = work->load_latency;
	flow->ready[node] = start + work->latency;
	flow->because[node] = because;
	for (unsigned i = 0; i < instruction->write_count; i++) {
		unsigned reg = instruction->writes[i];
		double ready = flow->ready[node];

		if (is_written_back(instruction, i))
			ready = written_back + 1;
		else if (is_upper_half(instruction, i))
			ready = start + work->upper_latency;
		flow->register_node[reg] = node;
		flow->register_ready[reg] = ready;
	}
}

/* The instruction whose results come later from iteration to iteration by most. */
static uint32_t
find_slowest(const struct flow *flow)
{
	size_t last = (flow->iterations - 1) * flow->count, middle = (flow->iterations / 2) * flow->count;
	uint32_t slowest = 0;
	double most = -1;

	for (size_t i = 0; i < flow->count; i++) {
		double growth = flow->ready[last + i] - flow->ready[middle + i];

		if (growth > most) {
			most = growth;
			slowest = (uint32_t)i;
		}
	}
	return (uint32_t)last + slowest;
}

/*
 * Back along what was waited for: where an instruction comes again, iterations earlier, is a cycle of dependences. The
 * slowest of them; its later end in *end, its earlier in *begin.
 */
static double
find_cycle(const struct flow *flow, uint32_t *seen, uint32_t *begin, uint32_t *end)
{
	double most = 0;

	memset(seen, 0xff, flow->count * sizeof(*seen));
	for (uint32_t node = find_slowest(flow); node != SCHEDULE_NOTHING; node = flow->because[node]) {
		size_t index = node % flow->count;
		uint32_t later = seen[index];

		if (later != SCHEDULE_NOTHING) {
			size_t span = later / flow->count - node / flow->count;
			double cycles = (flow->ready[later] - flow->ready[node]) / (double)span;

			if (cycles > most) {
				most = cycles;
				*begin = node;
				*end = later;
			}
		}
		seen[index] = node;
	}
	return most;
}

static int
flow_init(struct flow *flow, size_t count)
{
	memset(flow, 0, sizeof(*flow));
	flow->count = count;
	flow->iterations = NODES_MAX / count;
	if (flow->iterations > ITERATIONS_MAX)
		flow->iterations = ITERATIONS_MAX;
	if (flow->iterations < ITERATIONS_MIN)
		flow->iterations = ITERATIONS_MIN;
	flow->ready = calloc(count * flow->iterations, sizeof(*flow->ready));
	flow->because = calloc(count * flow->iterations, sizeof(*flow->because));
	memset(flow->register_node, 0xff, sizeof(flow->register_node));
	return flow->ready && flow->because ? 0 : -ENOMEM;
}

static void
flow_fini(struct flow *flow)
{
	free(flow->ready);
	free(flow->because);
}

int
schedule_latency_bound(const struct instruction *instructions, const struct work *works, size_t count,
                       struct schedule *schedule)
{
	uint32_t *seen = calloc(count, sizeof(*seen));
	uint32_t begin = 0, end = 0;
	struct flow flow;
	int err = flow_init(&flow, count);

	if (!err && seen) {
		for (size_t i = 0; i < count * flow.iterations; i++)
			run_instruction(&flow, &instructions[i % count], &works[i % count], (uint32_t)i);
		schedule->latency_cycles = find_cycle(&flow, seen, &begin, &end);
		for (uint32_t node = end; node != begin; node = flow.because[node])
			schedule->lines[node % count].critical = true;
	}
	flow_fini(&flow);
	free(seen);
	return seen ? err : -ENOMEM;
}
