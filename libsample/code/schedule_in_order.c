#include "code/schedule_in_order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "code/uops.h"

#define ITERATIONS 8 /* of a loop, until each takes as long as the last */

/* The instruction that made a register ready or a unit busy: of this block, or by address one before. */
struct issue_culprit {
	uint32_t index;
	uint64_t address;
};

/* Of all registers and units, for static stalls. */
struct issue_culprits {
	struct issue_culprit writer[REGISTER_COUNT], user[PIPELINE_UNITS_MAX];
};

/* The instructions of a block as they issue. */
struct issue_state {
	const struct pipeline *pipeline;
	const struct instruction *instructions;
	unsigned cycle, taken; /* where the last one issued, and how many issued there */
	uint64_t never_with;   /* classes that do not issue behind those in the same cycle */
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
	ISSUE_NO_SLOT,   /* not in the same cycle with those that issued in it */
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
 * `uops` has uses; else the one in the way as *unit. Instructions of the same cycle may be moved to other units.
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
