#include "code/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/workspace.h"

#define PORT_DEMANDS_MAX    (PIPELINE_UNITS_MAX * 2)
#define SETS_MAX            12    /* of a component; a CPU's model has some six */
#define NODES_MAX           65536 /* instructions of all iterations together */
#define ITERATIONS_MAX      64
#define ITERATIONS_MIN      8
#define IN_ORDER_ITERATIONS 8 /* of a loop, until each takes as long as the last */

/*
 * In order: instructions issue as slots, units and operands allow.
 */

/* The instruction that made a register ready or a unit busy: of this block, or by address one before. */
struct issue_culprit {
	uint32_t index;
	uint64_t address;
};

/* The last writers of registers and users of units, which static stalls are blamed on. */
struct issue_culprits {
	struct issue_culprit writer[REGISTER_COUNT], user[PIPELINE_UNITS_MAX];
};

/* The instructions of a block as they issue. */
struct issue_state {
	const struct pipeline *pipeline;
	const struct instruction *instructions;
	unsigned cycle, taken; /* where the last one issued, and how many issued there */
	uint64_t never_with;   /* classes that do not issue in `cycle` behind the instructions that issued there */
	struct schedule_times times;
	unsigned used[PIPELINE_UNITS_MAX];  /* the cycle in which a unit was taken last, plus one */
	uint32_t could[PIPELINE_UNITS_MAX]; /* the units that its user could have taken instead */
	struct issue_culprits *culprits;    /* NULL: no stalls are wanted, and what follows is not used */
	unsigned next_half; /* the half-cycle in which the next one could issue, if nothing held it up */
	struct schedule *schedule;
	size_t capacity;
};

/* What holds an instruction up, before units are looked at. */
struct operand_wait {
	unsigned cycle;
	enum stall_reason reason;
	unsigned reg; /* the one that is waited for */
};

enum issue_result {
	ISSUE_FITS,
	ISSUE_NO_SLOT,   /* not in this cycle, with the instructions that issued in it */
	ISSUE_UNIT_BUSY, /* a unit works on an instruction of an earlier cycle */
};

/* Move the instruction that took `unit` in this cycle to another unit that it could have taken. */
static bool
move_away(struct issue_state *issue, unsigned unit, unsigned cycle, uint32_t chosen)
{
	if (issue->used[unit] != cycle + 1)
		return false;
	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (!((issue->could[unit] & ~chosen) >> u & 1))
			continue;
		if (issue->times.busy[u] > cycle)
			continue;
		issue->times.busy[u] = issue->times.busy[unit];
		issue->used[u] = issue->used[unit];
		if (issue->culprits)
			issue->culprits->user[u] = issue->culprits->user[unit];
		issue->could[u] = issue->could[unit];
		issue->times.busy[unit] = issue->used[unit] = 0;
		return true;
	}
	return false;
}

/* One of `wanted` that is free, as *unit; else why none is, and the unit in the way. */
static enum issue_result
choose_unit(struct issue_state *issue, uint32_t wanted, unsigned cycle, uint32_t chosen, unsigned *unit)
{
	enum issue_result result = ISSUE_UNIT_BUSY;

	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (!(wanted >> u & 1))
			continue;
		*unit = u;
		if (issue->times.busy[u] <= cycle)
			return ISSUE_FITS;
		if (issue->used[u] == cycle + 1 && issue->times.busy[u] == cycle + 1)
			result = ISSUE_NO_SLOT;
	}
	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (wanted >> u & 1 && move_away(issue, u, cycle, chosen)) {
			*unit = u;
			return ISSUE_FITS;
		}
	}
	return result;
}

/*
 * Whether the instruction could issue in `cycle`, by slotting and units: those that it takes as units[], as many as
 * `uops` has uses; else the one in the way as *unit. Instructions that issued in `cycle` may be moved to other units.
 */
static enum issue_result
cycle_try(struct issue_state *issue, const struct instruction *instruction, const struct uops *uops, unsigned cycle,
          unsigned *units, unsigned *unit)
{
	uint32_t chosen = 0;

	if (cycle == issue->cycle && issue->taken &&
	    (issue->taken >= issue->pipeline->issue_width || issue->never_with >> instruction->class & 1))
		return ISSUE_NO_SLOT;
	for (unsigned i = 0; i < uops->use_count; i++) {
		uint32_t wanted = uops->uses[i].units;
		enum issue_result result = choose_unit(issue, wanted & ~chosen, cycle, chosen, unit);

		/* a unit is taken twice only when there is no other */
		if (result != ISSUE_FITS && wanted & chosen) {
			*unit = (unsigned)__builtin_ctz(wanted & chosen);
			result = ISSUE_FITS;
		}
		if (result != ISSUE_FITS)
			return result;
		units[i] = *unit;
		chosen |= UINT32_C(1) << *unit;
	}
	return ISSUE_FITS;
}

static void
units_occupy(struct issue_state *issue, const struct uops *uops, const unsigned *units, unsigned cycle,
             struct issue_culprit self)
{
	for (unsigned i = 0; i < uops->use_count; i++) {
		const double cycles = uops->uses[i].cycles;
		const unsigned unit = units[i], whole = (unsigned)cycles;

		if (issue->times.busy[unit] < cycle)
			issue->times.busy[unit] = cycle;
		issue->times.busy[unit] += whole + (whole < cycles); /* rounded up */
		issue->used[unit] = cycle + 1;
		issue->could[unit] = uops->uses[i].units;
		if (issue->culprits)
			issue->culprits->user[unit] = self;
	}
}

static int
stall_add(struct issue_state *issue, uint32_t index, enum stall_reason reason, unsigned half_cycles,
          struct issue_culprit culprit)
{
	struct schedule *schedule = issue->schedule;
	struct static_stall *grown;

	if (!half_cycles)
		return 0;
	grown = array_grow(schedule->stalls, &issue->capacity, schedule->stall_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	schedule->stalls = grown;
	schedule->stalls[schedule->stall_count++] = (struct static_stall){
		.instruction = index,
		.reason = reason,
		.half_cycles = half_cycles,
		.culprit = culprit.index,
		.culprit_address = culprit.address,
	};
	return 0;
}

/* The half-cycle, a listing's line, of the instruction that issued last: the first or a further one of its cycle. */
static unsigned
half_cycle(const struct issue_state *issue)
{
	return 2 * issue->cycle + (issue->taken > 1 || issue->pipeline->issue_width == 1);
}

/*
 * The half-cycles that were lost since instruction `index` could have issued: for operands first, then for units, the
 * rest for slots. 0 or -ENOMEM.
 */
static int
stalls_add(struct issue_state *issue, uint32_t index, const struct operand_wait *wait, unsigned busy_cycles,
           struct issue_culprit user)
{
	const struct issue_culprit before = {.index = index ? index - 1 : SCHEDULE_BEFORE,
	                                     .address = index ? issue->instructions[index - 1].address : 0};
	unsigned half = half_cycle(issue), next = issue->next_half;
	unsigned lost = half > next ? half - next : 0;
	unsigned waited = 2 * wait->cycle > next ? 2 * wait->cycle - next : 0;
	int err;

	if (waited > lost)
		waited = lost;
	err = stall_add(issue, index, wait->reason, waited, issue->culprits->writer[wait->reg]);
	if (err)
		return err;
	lost -= waited;
	waited = 2 * busy_cycles < lost ? 2 * busy_cycles : lost;
	err = stall_add(issue, index, STALL_UNIT, waited, user);
	if (err)
		return err;
	return stall_add(issue, index, STALL_SLOTTING, lost - waited, before);
}

static enum stall_reason
operand_reason(const struct instruction *instruction, unsigned read)
{
	unsigned data = instruction->read_count - instruction->address_reads;

	if (read >= data)
		return STALL_RB;
	return read == 0 ? STALL_RA : read == 1 ? STALL_RB : STALL_RC;
}

static void
wait_until(struct operand_wait *wait, unsigned cycle, enum stall_reason reason, unsigned reg)
{
	if (cycle > wait->cycle)
		*wait = (struct operand_wait){.cycle = cycle, .reason = reason, .reg = reg};
}

static struct operand_wait
wait_for_operands(const struct issue_state *issue, const struct instruction *instruction, const struct uops *uops)
{
	const unsigned *ready = issue->times.ready;
	struct operand_wait wait = {.cycle = issue->cycle};
	unsigned latency = uops->load_latency + uops->latency;

	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++) {
		unsigned reg = instruction->reads[i];

		wait_until(&wait, ready[reg], operand_reason(instruction, i), reg);
	}
	for (unsigned i = 0; i < instruction->write_count; i++) {
		unsigned reg = instruction->writes[i];

		/* Results are written in order. */
		if (ready[reg] > latency)
			wait_until(&wait, ready[reg] - latency, STALL_RC, reg);
	}
	return wait;
}

static void
write_results(struct issue_state *issue, const struct instruction *instruction, const struct uops *uops, unsigned cycle,
              struct issue_culprit self)
{
	for (unsigned i = 0; i < instruction->write_count; i++) {
		unsigned reg = instruction->writes[i];
		unsigned latency = uops->load_latency + uops->latency;

		if (uops_is_written_back(instruction, i))
			latency = 1;
		else if (uops_is_upper_half(instruction, i))
			latency = uops->load_latency + uops->upper_latency;

		issue->times.ready[reg] = cycle + latency;
		if (issue->culprits)
			issue->culprits->writer[reg] = self;
	}
}

/* 0 or, when stalls are wanted, -ENOMEM. */
static int
issue_instruction(struct issue_state *issue, uint32_t index)
{
	const struct instruction *instruction = &issue->instructions[index];
	const struct issue_culprit self = {.index = index, .address = instruction->address};
	unsigned units[UOPS_USES_MAX], unit = 0, busy_cycles = 0, cycle;
	struct issue_culprit user = self;
	enum issue_result result;
	struct operand_wait wait;
	struct uops uops;
	int err = 0;

	uops_of(issue->pipeline, instruction, NULL, &uops);
	wait = wait_for_operands(issue, instruction, &uops);
	cycle = wait.cycle;
	while ((result = cycle_try(issue, instruction, &uops, cycle, units, &unit)) != ISSUE_FITS) {
		busy_cycles += result == ISSUE_UNIT_BUSY;
		if (result == ISSUE_UNIT_BUSY && issue->culprits)
			user = issue->culprits->user[unit];
		cycle++;
	}
	if (cycle != issue->cycle) {
		issue->taken = 0;
		issue->never_with = 0;
	}
	issue->cycle = cycle;
	issue->taken++;
	issue->never_with |= pipeline_operation(issue->pipeline, instruction)->never_with;
	if (issue->culprits) {
		err = stalls_add(issue, index, &wait, busy_cycles, user);
		issue->next_half = half_cycle(issue) + 1;
		issue->schedule->lines[index].dual = issue->taken > 1;
	}
	units_occupy(issue, &uops, units, cycle, self);
	write_results(issue, instruction, &uops, cycle, self);
	return err;
}

static unsigned
cycles_behind(unsigned cycle, unsigned end)
{
	return cycle > end ? cycle - end : 0;
}

/* Make times count from `end`, the block's end. */
static void
end_times(struct schedule_times *times, unsigned end)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		times->ready[i] = cycles_behind(times->ready[i], end);
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		times->busy[i] = cycles_behind(times->busy[i], end);
}

static void
carry_in(struct issue_state *issue, const struct schedule_state *before)
{
	issue->times = before->times;
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		issue->culprits->writer[i] =
			(struct issue_culprit){.index = SCHEDULE_BEFORE, .address = before->writer[i]};
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		issue->culprits->user[i] = (struct issue_culprit){.index = SCHEDULE_BEFORE, .address = before->user[i]};
}

static void
carry_out(const struct issue_state *issue, struct schedule_state *after)
{
	after->times = issue->times;
	end_times(&after->times, issue->cycle + 1);
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		after->writer[i] = issue->culprits->writer[i].address;
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		after->user[i] = issue->culprits->user[i].address;
}

static int
issue_block(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
            const struct schedule_state *before, struct schedule_state *after, struct schedule *schedule)
{
	struct issue_culprits culprits = {0};
	struct issue_state issue = {
		.pipeline = pipeline,
		.instructions = instructions,
		.culprits = &culprits,
		.next_half = pipeline->issue_width == 1,
		.schedule = schedule,
	};
	int err = 0;

	free(schedule->stalls);
	schedule->stalls = NULL;
	schedule->stall_count = 0;
	if (before)
		carry_in(&issue, before);
	for (size_t i = 0; !err && i < count; i++) {
		const unsigned cycle = issue.cycle;

		err = issue_instruction(&issue, (uint32_t)i);
		schedule->lines[i].minimum_cycles = i ? issue.cycle - cycle : issue.cycle + 1;
	}
	schedule->best_cycles = issue.cycle + 1;
	schedule->bound = BOUND_ISSUE;
	carry_out(&issue, after);
	return err;
}

static int
schedule_in_order(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                  bool follows_itself, const struct schedule_state *before, struct schedule_state *after,
                  struct schedule *schedule)
{
	struct schedule_state states[2];
	int err = issue_block(pipeline, instructions, count, follows_itself ? NULL : before, &states[0], schedule);

	for (unsigned i = 1; !err && follows_itself && i < IN_ORDER_ITERATIONS; i++)
		err = issue_block(pipeline, instructions, count, &states[(i - 1) % 2], &states[i % 2], schedule);
	if (after)
		*after = states[follows_itself ? (IN_ORDER_ITERATIONS - 1) % 2 : 0];
	return err;
}

/*
 * Out of order: the largest of the lower bounds of schedule.h.
 */

/* The cycles of uses that only `units` can serve. */
struct port_demand {
	uint32_t units;
	double cycles;
};

struct port_demands {
	size_t count;
	struct port_demand of[PORT_DEMANDS_MAX];
};

/* `demands` begins with a count of 0. */
static void
port_demands_add(struct port_demands *demands, const struct uops *uops)
{
	for (unsigned k = 0; k < uops->use_count; k++) {
		const struct pipeline_use *use = &uops->uses[k];
		size_t at = 0;

		while (at < demands->count && demands->of[at].units != use->units)
			at++;
		if (at == PORT_DEMANDS_MAX)
			continue; /* a lower bound may leave uses out */
		if (at == demands->count)
			demands->of[demands->count++] = (struct port_demand){.units = use->units};
		demands->of[at].cycles += use->cycles;
	}
}

/* Move the demands that share units with the first, directly or by others, to the front. How many they are. */
static size_t
split_component(struct port_demand *demands, size_t count)
{
	uint32_t units = demands[0].units;
	size_t size = 1;

	for (size_t i = size; i < count; i++) {
		if (demands[i].units & units) {
			struct port_demand found = demands[i];

			demands[i] = demands[size];
			demands[size++] = found;
			units |= found.units;
			i = size - 1;
		}
	}
	return size;
}

static void
try_units(const struct port_demand *demands, size_t count, uint32_t units, double *bound, uint32_t *full)
{
	double cycles = 0;

	for (size_t i = 0; i < count; i++)
		if (!(demands[i].units & ~units))
			cycles += demands[i].cycles;
	cycles /= __builtin_popcount(units);
	if (cycles > *bound) {
		*bound = cycles;
		*full = units;
	}
}

static uint32_t
units_of(const struct port_demand *demands, uint32_t set)
{
	uint32_t units = 0;

	for (; set; set &= set - 1)
		units |= demands[__builtin_ctz(set)].units;
	return units;
}

/* The bound of the units; those that are full as *full. Reorders the demands. */
static double
port_bound(struct port_demands *demands, uint32_t *full)
{
	double bound = 0;

	*full = 0;
	for (size_t start = 0; start < demands->count;) {
		struct port_demand *component = demands->of + start;
		const size_t size = split_component(component, demands->count - start);
		const size_t joined = size < SETS_MAX ? size : SETS_MAX;

		for (uint32_t set = 1; set < UINT32_C(1) << joined; set++)
			try_units(component, size, units_of(component, set), &bound, full);
		start += size;
	}
	return bound;
}

/* The data flow of some iterations, with unlimited units and widths. A node is an instruction of an iteration. */
struct data_flow {
	size_t count, iterations;
	double *ready;     /* when a node's result is there */
	uint32_t *because; /* the node whose result it waited for last, or SCHEDULE_NOTHING */
	double register_ready[REGISTER_COUNT];
	uint32_t register_node[REGISTER_COUNT];
};

static void
data_flow_init(struct data_flow *flow, size_t count, struct workspace *space)
{
	memset(flow, 0, sizeof(*flow));
	flow->count = count;
	flow->iterations = NODES_MAX / count;
	if (flow->iterations > ITERATIONS_MAX)
		flow->iterations = ITERATIONS_MAX;
	if (flow->iterations < ITERATIONS_MIN)
		flow->iterations = ITERATIONS_MIN;
	flow->ready = workspace_array(space, count * flow->iterations, sizeof(*flow->ready));
	flow->because = workspace_array(space, count * flow->iterations, sizeof(*flow->because));
	memset(flow->register_node, 0xff, sizeof(flow->register_node));
}

static void
run_instruction(struct data_flow *flow, const struct instruction *instruction, const struct uops *uops, uint32_t node)
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
			ready += uops->load_latency;
		if (flow->register_node[reg] != SCHEDULE_NOTHING && (because == SCHEDULE_NOTHING || ready > start)) {
			start = ready;
			because = flow->register_node[reg];
		}
	}
	if (because == SCHEDULE_NOTHING)
		start = uops->load_latency;
	flow->ready[node] = start + uops->latency;
	flow->because[node] = because;
	for (unsigned i = 0; i < instruction->write_count; i++) {
		unsigned reg = instruction->writes[i];
		double ready = flow->ready[node];

		if (uops_is_written_back(instruction, i))
			ready = written_back + 1;
		else if (uops_is_upper_half(instruction, i))
			ready = start + uops->upper_latency;
		flow->register_node[reg] = node;
		flow->register_ready[reg] = ready;
	}
}

/* The instruction whose result is delayed most from iteration to iteration: its node of the last one. */
static uint32_t
find_slowest(const struct data_flow *flow)
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
 * Go back along the results that were waited for. Where an instruction comes again, iterations earlier, there is a
 * cycle of dependences. Returns the cycles an iteration of the slowest of them takes, its later end in *end, its
 * earlier in *begin.
 */
static double
find_cycle(const struct data_flow *flow, uint32_t *seen, uint32_t *begin, uint32_t *end)
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

/* The bound of the dependences; instructions on the longest cycle are marked in schedule->lines. 0 or -ENOMEM. */
static int
latency_bound(const struct instruction *instructions, const struct uops *uops, size_t count, struct schedule *schedule)
{
	struct workspace space = {0};
	uint32_t *seen = workspace_array(&space, count, sizeof(*seen)), begin = 0, end = 0;
	struct data_flow flow;

	data_flow_init(&flow, count, &space);
	if (!space.has_failed) {
		for (size_t i = 0; i < count * flow.iterations; i++)
			run_instruction(&flow, &instructions[i % count], &uops[i % count], (uint32_t)i);
		schedule->latency_cycles = find_cycle(&flow, seen, &begin, &end);
		for (uint32_t node = end; node != begin; node = flow.because[node])
			schedule->lines[node % count].critical = true;
	}
	workspace_free(&space);
	return space.has_failed ? -ENOMEM : 0;
}

/* Whether the address registers of both are equal, one by one in their order. */
static bool
is_same_address(const struct instruction *a, const struct instruction *b)
{
	return a->address_reads == b->address_reads &&
	       memcmp(a->reads + a->read_count - a->address_reads, b->reads + b->read_count - b->address_reads,
	              a->address_reads) == 0;
}

static double
store_bound(const struct pipeline *pipeline, const struct instruction *instructions, size_t count)
{
	unsigned lines = 0;

	for (size_t i = 0; i < count && pipeline->store_lines; i++) {
		bool is_known = !instructions[i].stores;

		for (size_t k = 0; k < i && !is_known; k++)
			is_known = instructions[k].stores && is_same_address(&instructions[k], &instructions[i]);
		lines += !is_known;
	}
	return pipeline->store_lines ? (double)lines / pipeline->store_lines : 0;
}

static void
take_largest(const struct pipeline *pipeline, const struct instruction *last, bool follows_itself,
             struct schedule *schedule)
{
	const struct {
		double cycles;
		enum schedule_bound bound;
	} bounds[] = {
		{schedule->front_cycles, BOUND_FRONT},
		{follows_itself || last->flow == FLOW_JUMP ? 1.0 / pipeline->taken_branches : 0, BOUND_BRANCH},
		{schedule->unit_cycles, BOUND_UNITS},
		{schedule->store_cycles, BOUND_STORES},
		{schedule->latency_cycles, BOUND_LATENCY},
	};

	for (size_t i = 0; i < ARRAY_COUNT(bounds); i++) {
		if (i > 0 && !(bounds[i].cycles > schedule->best_cycles))
			continue;
		schedule->best_cycles = bounds[i].cycles;
		schedule->bound = bounds[i].bound;
	}
}

static bool
needs_units(const struct uops *uops, uint32_t units)
{
	for (unsigned i = 0; i < uops->use_count; i++)
		if (!(uops->uses[i].units & ~units))
			return true;
	return false;
}

/* In proportion to its micro-operations, of `all`; an equal share if there are none. */
static double
share_of(double cycles, unsigned micro_operations, double all, size_t count)
{
	return all > 0 ? cycles * micro_operations / all : cycles / (double)count;
}

static void
fill_lines(const struct instruction *instructions, const struct uops *uops, size_t count, double micro_operations,
           struct schedule *schedule)
{
	for (size_t i = 0; i < count; i++) {
		struct schedule_line *line = &schedule->lines[i];

		line->minimum_cycles =
			share_of(schedule->best_cycles, uops[i].micro_operations, micro_operations, count);
		if (schedule->bound == BOUND_FRONT)
			line->critical = uops[i].micro_operations > 0;
		else if (schedule->bound == BOUND_UNITS)
			line->critical = needs_units(&uops[i], schedule->bound_units);
		else if (schedule->bound == BOUND_STORES)
			line->critical = instructions[i].stores;
		else if (schedule->bound == BOUND_BRANCH)
			line->critical = i + 1 == count;
	}
}

static int
schedule_out_of_order(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                      bool follows_itself, struct schedule *schedule)
{
	struct uops *uops = malloc(count * sizeof(*uops));
	struct port_demands demands;
	double micro_operations = 0;
	int err = 0;

	if (!uops)
		return -ENOMEM;
	demands.count = 0;
	for (size_t i = 0; i < count; i++) {
		uops_of(pipeline, &instructions[i], i + 1 < count ? &instructions[i + 1] : NULL, &uops[i]);
		port_demands_add(&demands, &uops[i]);
		micro_operations += uops[i].micro_operations;
	}
	schedule->front_cycles = micro_operations / pipeline->issue_width;
	schedule->unit_cycles = port_bound(&demands, &schedule->bound_units);
	if (follows_itself)
		schedule->store_cycles = store_bound(pipeline, instructions, count);
	if (follows_itself)
		err = latency_bound(instructions, uops, count, schedule);
	take_largest(pipeline, &instructions[count - 1], follows_itself, schedule);
	if (schedule->bound != BOUND_LATENCY)
		for (size_t i = 0; i < count; i++)
			schedule->lines[i].critical = false;
	fill_lines(instructions, uops, count, micro_operations, schedule);
	free(uops);
	return err;
}

static void
find_waits(const struct instruction *instructions, size_t count, struct schedule_line *lines)
{
	uint32_t loader[REGISTER_COUNT];

	memset(loader, 0xff, sizeof(loader)); /* SCHEDULE_NOTHING */
	for (size_t i = 0; i < count; i++) {
		const struct instruction *instruction = &instructions[i];

		lines[i].waits_for = SCHEDULE_NOTHING;
		for (unsigned k = 0; k < instruction->read_count && !instruction->clears; k++) {
			uint32_t load = loader[instruction->reads[k]];

			if (load != SCHEDULE_NOTHING &&
			    (lines[i].waits_for == SCHEDULE_NOTHING || load > lines[i].waits_for))
				lines[i].waits_for = load;
		}
		for (unsigned k = 0; k < instruction->write_count; k++)
			loader[instruction->writes[k]] = instruction->loads && !uops_is_written_back(instruction, k)
			                                         ? (uint32_t)i
			                                         : SCHEDULE_NOTHING;
	}
}

int
schedule_block(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
               bool follows_itself, const struct schedule_state *before, struct schedule_state *after,
               struct schedule *schedule)
{
	int err;

	memset(schedule, 0, sizeof(*schedule));
	if (after)
		memset(after, 0, sizeof(*after));
	if (!count || count >= SCHEDULE_BEFORE)
		return -EINVAL;
	schedule->count = count;
	schedule->lines = calloc(count, sizeof(*schedule->lines));
	if (!schedule->lines)
		return -ENOMEM;
	if (pipeline->kind == PIPELINE_KIND_IN_ORDER)
		err = schedule_in_order(pipeline, instructions, count, follows_itself, before, after, schedule);
	else
		err = schedule_out_of_order(pipeline, instructions, count, follows_itself, schedule);
	if (err) {
		schedule_fini(schedule);
		return err;
	}
	find_waits(instructions, count, schedule->lines);
	return 0;
}

void
schedule_fini(struct schedule *schedule)
{
	free(schedule->lines);
	free(schedule->stalls);
	memset(schedule, 0, sizeof(*schedule));
}

unsigned
schedule_issue(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
               struct schedule_times *times, unsigned *cycles)
{
	struct issue_state issue = {.pipeline = pipeline, .instructions = instructions, .times = *times};

	for (size_t i = 0; i < count; i++) {
		issue_instruction(&issue, (uint32_t)i); /* cannot fail: no stalls are wanted */
		cycles[i] = issue.cycle;
	}
	*times = issue.times;
	end_times(times, issue.cycle + 1);
	return issue.cycle + 1;
}

double
schedule_shares(const struct pipeline *pipeline, const struct instruction *instructions, size_t count, double *shares)
{
	struct schedule schedule = {.count = count};
	struct port_demands demands;
	double micro_operations = 0;
	struct uops uops;

	demands.count = 0;
	for (size_t i = 0; i < count; i++) {
		uops_of(pipeline, &instructions[i], i + 1 < count ? &instructions[i + 1] : NULL, &uops);
		port_demands_add(&demands, &uops);
		shares[i] = uops.micro_operations;
		micro_operations += uops.micro_operations;
	}
	schedule.front_cycles = micro_operations / pipeline->issue_width;
	schedule.unit_cycles = port_bound(&demands, &schedule.bound_units);
	take_largest(pipeline, &instructions[count - 1], false, &schedule);
	for (size_t i = 0; i < count; i++)
		shares[i] = share_of(schedule.best_cycles, (unsigned)shares[i], micro_operations, count);
	return schedule.best_cycles;
}

void
schedule_state_meet(struct schedule_state *state, const struct schedule_state *other)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++) {
		if (other->times.ready[i] < state->times.ready[i]) {
			state->times.ready[i] = other->times.ready[i];
			state->writer[i] = other->writer[i];
		}
	}
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++) {
		if (other->times.busy[i] < state->times.busy[i]) {
			state->times.busy[i] = other->times.busy[i];
			state->user[i] = other->user[i];
		}
	}
}

const char *
stall_reason_name(unsigned reason)
{
	static const char *const names[STALL_REASON_COUNT] = {
		[STALL_SLOTTING] = "slotting", [STALL_RA] = "Ra dependency",   [STALL_RB] = "Rb dependency",
		[STALL_RC] = "Rc dependency",  [STALL_UNIT] = "FU dependency",
	};

	return reason < STALL_REASON_COUNT ? names[reason] : "?";
}

const char *
schedule_bound_name(unsigned bound)
{
	static const char *const names[] = {
		[BOUND_ISSUE] = "issue", [BOUND_FRONT] = "front end", [BOUND_BRANCH] = "taken branch",
		[BOUND_UNITS] = "units", [BOUND_STORES] = "stores",   [BOUND_LATENCY] = "latency",
	};

	return bound < sizeof(names) / sizeof(names[0]) ? names[bound] : "?";
}
