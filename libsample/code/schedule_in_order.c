#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/schedule_parts.h"

#define ITERATIONS 8 /* of a loop, until each takes as long as the last */

/* Who made a register or a unit so: an instruction of this block, or by address one before. */
struct source {
	uint32_t index;
	uint64_t address;
};

/* The instructions of a block as they issue. */
struct issue {
	const struct pipeline *pipeline;
	const struct instruction *instructions;
	unsigned cycle, taken; /* where the last one issued, and how many issued there */
	uint64_t never_with;   /* what does not issue behind those */
	unsigned next_half;    /* the half-cycle in which the next one could issue, if nothing held it up */
	unsigned ready[REGISTER_COUNT], busy[PIPELINE_UNITS_MAX];
	unsigned used[PIPELINE_UNITS_MAX];  /* the cycle in which a unit was taken last, plus one */
	uint32_t could[PIPELINE_UNITS_MAX]; /* the units that would have done as well */
	struct source writer[REGISTER_COUNT], user[PIPELINE_UNITS_MAX];
	struct schedule *schedule;
	size_t capacity;
};

/* What holds an instruction up, before units are looked at. */
struct wait {
	unsigned cycle;
	enum stall_reason reason;
	struct source culprit;
};

enum verdict {
	ISSUES,
	TOGETHER, /* not in the same cycle with those that are there */
	BUSY,     /* a unit works on something of an earlier cycle */
};

static int
add_stall(struct issue *issue, uint32_t index, enum stall_reason reason, unsigned half_cycles, struct source culprit)
{
	struct schedule *schedule = issue->schedule;

	if (!half_cycles)
		return 0;
	if (schedule->stall_count == issue->capacity) {
		size_t capacity = issue->capacity ? 2 * issue->capacity : 16;
		struct static_stall *grown = reallocarray(schedule->stalls, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		schedule->stalls = grown;
		issue->capacity = capacity;
	}
	schedule->stalls[schedule->stall_count++] = (struct static_stall){
		.instruction = index,
		.reason = reason,
		.half_cycles = half_cycles,
		.culprit = culprit.index,
		.culprit_address = culprit.address,
	};
	return 0;
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
wait_until(struct wait *wait, unsigned cycle, enum stall_reason reason, struct source culprit)
{
	if (cycle > wait->cycle)
		*wait = (struct wait){.cycle = cycle, .reason = reason, .culprit = culprit};
}

static struct wait
wait_for_operands(const struct issue *issue, const struct instruction *instruction, const struct work *work)
{
	struct wait wait = {.cycle = issue->cycle};
	unsigned latency = work->load_latency + work->latency;

	for (unsigned i = 0; i < instruction->read_count && !instruction->clears; i++) {
		unsigned reg = instruction->reads[i];

		wait_until(&wait, issue->ready[reg], operand_reason(instruction, i), issue->writer[reg]);
	}
	for (unsigned i = 0; i < instruction->write_count; i++) {
		unsigned reg = instruction->writes[i];

		/* Results are written in order. */
		if (issue->ready[reg] > latency)
			wait_until(&wait, issue->ready[reg] - latency, STALL_RC, issue->writer[reg]);
	}
	return wait;
}

/* Let what took `unit` in this cycle take another one that it can have. */
static bool
move_away(struct issue *issue, unsigned unit, unsigned cycle, uint32_t chosen)
{
	if (issue->used[unit] != cycle + 1)
		return false;
	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (!((issue->could[unit] & ~chosen) >> u & 1))
			continue;
		if (issue->busy[u] > cycle)
			continue;
		issue->busy[u] = issue->busy[unit];
		issue->used[u] = issue->used[unit];
		issue->user[u] = issue->user[unit];
		issue->could[u] = issue->could[unit];
		issue->busy[unit] = issue->used[unit] = 0;
		return true;
	}
	return false;
}

/* One of `wanted` that is free, as *unit; or what is in the way, and the unit that is. */
static enum verdict
choose_unit(struct issue *issue, uint32_t wanted, unsigned cycle, uint32_t chosen, unsigned *unit)
{
	enum verdict verdict = BUSY;

	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (!(wanted >> u & 1))
			continue;
		*unit = u;
		if (issue->busy[u] <= cycle)
			return ISSUES;
		if (issue->used[u] == cycle + 1 && issue->busy[u] == cycle + 1)
			verdict = TOGETHER;
	}
	for (unsigned u = 0; u < issue->pipeline->unit_count; u++) {
		if (wanted >> u & 1 && move_away(issue, u, cycle, chosen)) {
			*unit = u;
			return ISSUES;
		}
	}
	return verdict;
}

/* A unit for each use, in `units`: the same one twice only when there is no other. */
static enum verdict
choose_units(struct issue *issue, const struct work *work, unsigned cycle, unsigned *units, unsigned *unit)
{
	uint32_t chosen = 0;

	for (unsigned i = 0; i < work->use_count; i++) {
		uint32_t wanted = work->uses[i].units;
		enum verdict verdict = choose_unit(issue, wanted & ~chosen, cycle, chosen, unit);

		if (verdict != ISSUES && wanted & chosen) {
			*unit = (unsigned)__builtin_ctz(wanted & chosen);
			verdict = ISSUES;
		}
		if (verdict != ISSUES)
			return verdict;
		units[i] = *unit;
		chosen |= UINT32_C(1) << *unit;
	}
	return ISSUES;
}

static enum verdict
try_cycle(struct issue *issue, const struct instruction *instruction, const struct work *work, unsigned cycle,
          unsigned *units, unsigned *unit)
{
	if (cycle == issue->cycle && issue->taken &&
	    (issue->taken >= issue->pipeline->issue_width || issue->never_with >> instruction->class & 1))
		return TOGETHER;
	return choose_units(issue, work, cycle, units, unit);
}

static void
occupy(struct issue *issue, const struct work *work, const unsigned *units, unsigned cycle, struct source self)
{
	for (unsigned i = 0; i < work->use_count; i++) {
		unsigned unit = units[i];

		if (issue->busy[unit] < cycle)
			issue->busy[unit] = cycle;
		issue->busy[unit] += (unsigned)ceil(work->uses[i].cycles);
		issue->used[unit] = cycle + 1;
		issue->could[unit] = work->uses[i].units;
		issue->user[unit] = self;
	}
}

static void
write_results(struct issue *issue, const struct instruction *instruction, const struct work *work, unsigned cycle,
              struct source self)
{
	for (unsigned i = 0; i < instruction->write_count; i++) {
		unsigned reg = instruction->writes[i];
		unsigned latency = is_written_back(instruction, i) ? 1 : work->load_latency + work->latency;

		issue->ready[reg] = cycle + latency;
		issue->writer[reg] = self;
	}
}

/* Where the instruction stands in the listing: the first or a further one of its cycle. */
static unsigned
half_cycle(const struct issue *issue)
{
	return 2 * issue->cycle + (issue->taken > 1 || issue->pipeline->issue_width == 1);
}

/* What was lost since it could have issued: first for operands, then for units; the rest for the slots. */
static int
tell_stalls(struct issue *issue, uint32_t index, const struct wait *wait, unsigned busy_cycles, struct source user)
{
	const struct source before = {.index = index ? index - 1 : SCHEDULE_BEFORE,
	                              .address = index ? issue->instructions[index - 1].address : 0};
	unsigned half = half_cycle(issue), next = issue->next_half;
	unsigned lost = half > next ? half - next : 0;
	unsigned waited = 2 * wait->cycle > next ? 2 * wait->cycle - next : 0;
	int err;

	if (waited > lost)
		waited = lost;
	err = add_stall(issue, index, wait->reason, waited, wait->culprit);
	lost -= waited;
	waited = 2 * busy_cycles < lost ? 2 * busy_cycles : lost;
	if (!err)
		err = add_stall(issue, index, STALL_UNIT, waited, user);
	lost -= waited;
	return err ? err : add_stall(issue, index, STALL_SLOTTING, lost, before);
}

static int
issue_instruction(struct issue *issue, uint32_t index)
{
	const struct instruction *instruction = &issue->instructions[index];
	const struct source self = {.index = index, .address = instruction->address};
	const struct pipeline_operation *operation = pipeline_operation(issue->pipeline, instruction);
	unsigned units[WORK_USES_MAX], unit = 0, busy_cycles = 0;
	struct source user = self;
	unsigned before = issue->cycle, cycle;
	enum verdict verdict;
	struct wait wait;
	struct work work;
	int err;

	work_of(issue->pipeline, instruction, NULL, &work);
	wait = wait_for_operands(issue, instruction, &work);
	cycle = wait.cycle;
	while ((verdict = try_cycle(issue, instruction, &work, cycle, units, &unit)) != ISSUES) {
		busy_cycles += verdict == BUSY;
		if (verdict == BUSY)
			user = issue->user[unit];
		cycle++;
	}
	if (cycle != issue->cycle) {
		issue->taken = 0;
		issue->never_with = 0;
	}
	issue->cycle = cycle;
	issue->taken++;
	issue->never_with |= operation->never_with;
	err = tell_stalls(issue, index, &wait, busy_cycles, user);
	issue->next_half = half_cycle(issue) + 1;
	issue->schedule->lines[index].dual = issue->taken > 1;
	issue->schedule->lines[index].minimum_cycles = index ? cycle - before : cycle + 1;
	occupy(issue, &work, units, cycle, self);
	write_results(issue, instruction, &work, cycle, self);
	return err;
}

static void
carry_in(struct issue *issue, const struct schedule_state *before)
{
	for (unsigned i = 0; before && i < REGISTER_COUNT; i++) {
		issue->ready[i] = before->ready[i];
		issue->writer[i] = (struct source){.index = SCHEDULE_BEFORE, .address = before->writer[i]};
	}
	for (unsigned i = 0; before && i < PIPELINE_UNITS_MAX; i++) {
		issue->busy[i] = before->busy[i];
		issue->user[i] = (struct source){.index = SCHEDULE_BEFORE, .address = before->user[i]};
	}
}

static void
carry_out(const struct issue *issue, struct schedule_state *after)
{
	unsigned end = issue->cycle + 1;

	memset(after, 0, sizeof(*after));
	for (unsigned i = 0; i < REGISTER_COUNT; i++) {
		after->ready[i] = issue->ready[i] > end ? issue->ready[i] - end : 0;
		after->writer[i] = issue->writer[i].address;
	}
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++) {
		after->busy[i] = issue->busy[i] > end ? issue->busy[i] - end : 0;
		after->user[i] = issue->user[i].address;
	}
}

static int
issue_block(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
            const struct schedule_state *before, struct schedule_state *after, struct schedule *schedule)
{
	struct issue issue = {.pipeline = pipeline, .instructions = instructions, .schedule = schedule};
	int err = 0;

	free(schedule->stalls);
	schedule->stalls = NULL;
	schedule->stall_count = 0;
	issue.next_half = pipeline->issue_width == 1;
	carry_in(&issue, before);
	for (size_t i = 0; !err && i < count; i++)
		err = issue_instruction(&issue, (uint32_t)i);
	schedule->best_cycles = issue.cycle + 1;
	schedule->bound = BOUND_ISSUE;
	carry_out(&issue, after);
	return err;
}

int
schedule_in_order(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
                  bool follows_itself, const struct schedule_state *before, struct schedule_state *after,
                  struct schedule *schedule)
{
	struct schedule_state states[2];
	int err = issue_block(pipeline, instructions, count, follows_itself ? NULL : before, &states[0], schedule);

	for (unsigned i = 1; !err && follows_itself && i < ITERATIONS; i++)
		err = issue_block(pipeline, instructions, count, &states[(i - 1) % 2], &states[i % 2], schedule);
	if (after)
		*after = states[follows_itself ? (ITERATIONS - 1) % 2 : 0];
	return err;
}
