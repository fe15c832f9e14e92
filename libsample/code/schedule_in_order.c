#include <stdlib.h>
#include <string.h>

#include "code/schedule_issue.h"

#define ITERATIONS 8 /* of a loop, until each takes as long as the last */

static enum stall_reason
operand_reason(const struct instruction *instruction, unsigned read)
{
	unsigned data = instruction->read_count - instruction->address_reads;

	if (read >= data)
		return STALL_RB;
	return read == 0 ? STALL_RA : read == 1 ? STALL_RB : STALL_RC;
}

static void
wait_until(struct wait *wait, unsigned cycle, enum stall_reason reason, unsigned reg)
{
	if (cycle > wait->cycle)
		*wait = (struct wait){.cycle = cycle, .reason = reason, .reg = reg};
}

static struct wait
wait_for_operands(const struct issue *issue, const struct instruction *instruction, const struct work *work)
{
	const unsigned *ready = issue->times.ready;
	struct wait wait = {.cycle = issue->cycle};
	unsigned latency = work->load_latency + work->latency;

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
write_results(struct issue *issue, const struct instruction *instruction, const struct work *work, unsigned cycle,
              struct source self)
{
	for (unsigned i = 0; i < instruction->write_count; i++) {
		unsigned reg = instruction->writes[i];
		unsigned latency = work->load_latency + work->latency;

		if (is_written_back(instruction, i))
			latency = 1;
		else if (is_upper_half(instruction, i))
			latency = work->load_latency + work->upper_latency;

		issue->times.ready[reg] = cycle + latency;
		if (issue->sources)
			issue->sources->writer[reg] = self;
	}
}

static int
tell(struct issue *issue, uint32_t index, const struct wait *wait, unsigned busy_cycles, struct source user)
{
	int err = issue_tell_stalls(issue, index, wait, busy_cycles, user);

	issue->next_half = issue_half_cycle(issue) + 1;
	issue->schedule->lines[index].dual = issue->taken > 1;
	return err;
}

static int
issue_instruction(struct issue *issue, uint32_t index)
{
	const struct instruction *instruction = &issue->instructions[index];
	const struct source self = {.index = index, .address = instruction->address};
	unsigned units[WORK_USES_MAX], unit = 0, busy_cycles = 0, cycle;
	struct source user = self;
	enum verdict verdict;
	struct wait wait;
	struct work work;
	int err = 0;

	work_of(issue->pipeline, instruction, NULL, &work);
	wait = wait_for_operands(issue, instruction, &work);
	cycle = wait.cycle;
	while ((verdict = issue_try_cycle(issue, instruction, &work, cycle, units, &unit)) != ISSUES) {
		busy_cycles += verdict == BUSY;
		if (verdict == BUSY && issue->sources)
			user = issue->sources->user[unit];
		cycle++;
	}
	if (cycle != issue->cycle) {
		issue->taken = 0;
		issue->never_with = 0;
	}
	issue->cycle = cycle;
	issue->taken++;
	issue->never_with |= pipeline_operation(issue->pipeline, instruction)->never_with;
	if (issue->sources)
		err = tell(issue, index, &wait, busy_cycles, user);
	issue_occupy(issue, &work, units, cycle, self);
	write_results(issue, instruction, &work, cycle, self);
	return err;
}

static unsigned
cycles_behind(unsigned cycle, unsigned end)
{
	return cycle > end ? cycle - end : 0;
}

/* What is left of them behind the block. */
static void
end_times(struct schedule_times *times, unsigned end)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		times->ready[i] = cycles_behind(times->ready[i], end);
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		times->busy[i] = cycles_behind(times->busy[i], end);
}

static void
carry_in(struct issue *issue, const struct schedule_state *before)
{
	issue->times = before->times;
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		issue->sources->writer[i] = (struct source){.index = SCHEDULE_BEFORE, .address = before->writer[i]};
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		issue->sources->user[i] = (struct source){.index = SCHEDULE_BEFORE, .address = before->user[i]};
}

static void
carry_out(const struct issue *issue, struct schedule_state *after)
{
	after->times = issue->times;
	end_times(&after->times, issue->cycle + 1);
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		after->writer[i] = issue->sources->writer[i].address;
	for (unsigned i = 0; i < PIPELINE_UNITS_MAX; i++)
		after->user[i] = issue->sources->user[i].address;
}

static int
issue_block(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
            const struct schedule_state *before, struct schedule_state *after, struct schedule *schedule)
{
	struct issue_sources sources = {0};
	struct issue issue = {
		.pipeline = pipeline,
		.instructions = instructions,
		.sources = &sources,
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

unsigned
schedule_issue(const struct pipeline *pipeline, const struct instruction *instructions, size_t count,
               struct schedule_times *times, unsigned *cycles)
{
	struct issue issue = {.pipeline = pipeline, .instructions = instructions, .times = *times};

	for (size_t i = 0; i < count; i++) {
		issue_instruction(&issue, (uint32_t)i); /* who does not ask has no errors */
		cycles[i] = issue.cycle;
	}
	*times = issue.times;
	end_times(times, issue.cycle + 1);
	return issue.cycle + 1;
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
