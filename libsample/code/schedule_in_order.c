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

		issue->ready[reg] = cycle + latency;
		issue->writer[reg] = self;
	}
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
	while ((verdict = issue_try_cycle(issue, instruction, &work, cycle, units, &unit)) != ISSUES) {
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
	err = issue_tell_stalls(issue, index, &wait, busy_cycles, user);
	issue->next_half = issue_half_cycle(issue) + 1;
	issue->schedule->lines[index].dual = issue->taken > 1;
	issue->schedule->lines[index].minimum_cycles = index ? cycle - before : cycle + 1;
	issue_occupy(issue, &work, units, cycle, self);
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
