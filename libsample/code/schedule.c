#include "code/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/schedule_parts.h"

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

void
schedule_fini(struct schedule *schedule)
{
	free(schedule->lines);
	free(schedule->stalls);
	memset(schedule, 0, sizeof(*schedule));
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

bool
is_written_back(const struct instruction *instruction, unsigned write)
{
	unsigned first_address = instruction->read_count - instruction->address_reads;

	if (!instruction->loads && !instruction->stores)
		return false;
	/* What is loaded is written first; of a return it is no register. */
	if (instruction->loads && write == 0 && instruction->class != CLASS_RETURN)
		return false;
	for (unsigned i = first_address; i < instruction->read_count; i++)
		if (instruction->reads[i] == instruction->writes[write])
			return true;
	return false;
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
			loader[instruction->writes[k]] =
				instruction->loads && !is_written_back(instruction, k) ? (uint32_t)i : SCHEDULE_NOTHING;
	}
}

/* Whether both have the same address registers, in the same order. */
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
	double branch = follows_itself || last->flow == FLOW_JUMP ? 1.0 / pipeline->taken_branches : 0;

	schedule->best_cycles = schedule->front_cycles;
	schedule->bound = BOUND_FRONT;
	if (branch > schedule->best_cycles) {
		schedule->best_cycles = branch;
		schedule->bound = BOUND_BRANCH;
	}
	if (schedule->unit_cycles > schedule->best_cycles) {
		schedule->best_cycles = schedule->unit_cycles;
		schedule->bound = BOUND_UNITS;
	}
	if (schedule->store_cycles > schedule->best_cycles) {
		schedule->best_cycles = schedule->store_cycles;
		schedule->bound = BOUND_STORES;
	}
	if (schedule->latency_cycles > schedule->best_cycles) {
		schedule->best_cycles = schedule->latency_cycles;
		schedule->bound = BOUND_LATENCY;
	}
}

static bool
needs_units(const struct work *work, uint32_t units)
{
	for (unsigned i = 0; i < work->use_count; i++)
		if (!(work->uses[i].units & ~units))
			return true;
	return false;
}

/* By its micro-operations, of those of all `count`; if there are none, an even one. */
static double
share_of(double cycles, unsigned micro_operations, double all, size_t count)
{
	return all > 0 ? cycles * micro_operations / all : cycles / (double)count;
}

static void
fill_lines(const struct instruction *instructions, const struct work *works, size_t count, double micro_operations,
           struct schedule *schedule)
{
	for (size_t i = 0; i < count; i++) {
		struct schedule_line *line = &schedule->lines[i];

		line->minimum_cycles =
			share_of(schedule->best_cycles, works[i].micro_operations, micro_operations, count);
		if (schedule->bound == BOUND_FRONT)
			line->critical = works[i].micro_operations > 0;
		else if (schedule->bound == BOUND_UNITS)
			line->critical = needs_units(&works[i], schedule->bound_units);
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
	struct work *works = malloc(count * sizeof(*works));
	struct unit_demands demands;
	double micro_operations = 0;
	int err = 0;

	if (!works)
		return -ENOMEM;
	demands.count = 0;
	for (size_t i = 0; i < count; i++) {
		work_of(pipeline, &instructions[i], i + 1 < count ? &instructions[i + 1] : NULL, &works[i]);
		unit_demands_add(&demands, &works[i]);
		micro_operations += works[i].micro_operations;
	}
	schedule->front_cycles = micro_operations / pipeline->issue_width;
	schedule->unit_cycles = unit_demands_bound(&demands, &schedule->bound_units);
	if (follows_itself)
		schedule->store_cycles = store_bound(pipeline, instructions, count);
	if (follows_itself)
		err = schedule_latency_bound(instructions, works, count, schedule);
	take_largest(pipeline, &instructions[count - 1], follows_itself, schedule);
	if (schedule->bound != BOUND_LATENCY)
		for (size_t i = 0; i < count; i++)
			schedule->lines[i].critical = false;
	fill_lines(instructions, works, count, micro_operations, schedule);
	free(works);
	return err;
}

double
schedule_shares(const struct pipeline *pipeline, const struct instruction *instructions, size_t count, double *shares)
{
	struct schedule schedule = {.count = count};
	struct unit_demands demands;
	double micro_operations = 0;
	struct work work;

	demands.count = 0;
	for (size_t i = 0; i < count; i++) {
		work_of(pipeline, &instructions[i], i + 1 < count ? &instructions[i + 1] : NULL, &work);
		unit_demands_add(&demands, &work);
		shares[i] = work.micro_operations;
		micro_operations += work.micro_operations;
	}
	schedule.front_cycles = micro_operations / pipeline->issue_width;
	schedule.unit_cycles = unit_demands_bound(&demands, &schedule.bound_units);
	take_largest(pipeline, &instructions[count - 1], false, &schedule);
	for (size_t i = 0; i < count; i++)
		shares[i] = share_of(schedule.best_cycles, (unsigned)shares[i], micro_operations, count);
	return schedule.best_cycles;
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
	if (err)
		schedule_fini(schedule);
	else
		find_waits(instructions, count, schedule->lines);
	return err;
}
