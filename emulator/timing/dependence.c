#include <string.h>

#include "emulator/timing/dependence_usual.h"

void
dependence_reset(struct dependence *dependence, uint32_t sequence)
{
	dependence->until = 0;
	dependence->one = DEPENDENCE_NOT_ONE;
	dependence->registers = 0;
	dependence->followed = sequence;
	dependence->count = 0;
}

/* Something that is there at `ready`, and the registers that are made of it. */
struct dependence_source {
	uint64_t ready;
	uint32_t reaches;
};

/* `behind`: those that were reached by another. */
static uint32_t
reach(struct dependence *dependence, uint32_t behind, struct dependence_source source, uint64_t issue)
{
	if (source.ready <= issue)
		return behind;
	for (uint32_t left = source.reaches; left; left &= left - 1) {
		const unsigned reg = (unsigned)__builtin_ctz(left);

		if (!(behind >> reg & 1) || dependence->ready[reg] < source.ready)
			dependence->ready[reg] = source.ready;
	}
	return behind | source.reaches;
}

static inline struct dependence_source
source_of(const struct missing_load *load)
{
	return (struct dependence_source){load->ready, load->load->reaches};
}

/* The first `count` of those that are missing were followed. */
static void
forget_first(struct dependence *dependence, unsigned count)
{
	dependence->count -= count;
	memmove(dependence->missing, dependence->missing + count, dependence->count * sizeof(*dependence->missing));
}

/* Block `followed`, whatever it is. */
static void
pass_any(struct dependence *dependence, const struct block *block, uint64_t issue)
{
	const uint32_t sequence = dependence->followed++;
	struct dependence_source before[DEPENDENCE_REGISTERS];
	uint32_t behind = 0;
	unsigned count = 0, first = 0;

	for (uint32_t left = dependence->registers & (uint32_t)block->live_in; left; left &= left - 1) {
		const unsigned reg = (unsigned)__builtin_ctz(left);

		before[count++] = (struct dependence_source){dependence->ready[reg], block->reaches[reg]};
	}
	while (count)
		behind = reach(dependence, behind, before[--count], issue);
	for (; first < dependence->count && dependence->missing[first].sequence == sequence; first++)
		behind = reach(dependence, behind, source_of(&dependence->missing[first]), issue);
	forget_first(dependence, first);
	dependence->registers = (dependence->registers & block->keeps) | behind;
}

/* One that alone is missing is one of any. */
static void
tell_one(struct dependence *dependence)
{
	if (dependence->one == DEPENDENCE_NOT_ONE)
		return;
	dependence->followed = dependence->missing[0].sequence = (uint32_t)dependence->one - 1;
	dependence->count = 1;
	dependence->one = DEPENDENCE_NOT_ONE;
}

/* What is not known any more is ready. */
static void
forget_lost(struct dependence *dependence, uint32_t sequence)
{
	const uint64_t until = dependence->until;

	if (sequence - dependence->followed < THREAD_HISTORY && dependence->count <= DEPENDENCE_MISSING)
		return;
	dependence_reset(dependence, sequence);
	dependence->until = until;
}

/* Whether the address is behind a load of its block that missed. */
static inline bool
is_behind(const struct block_dependence *load, const struct missing_load *missing)
{
	const unsigned place = missing->load->load;

	return place < 64 && load->address_loads >> place & 1;
}

uint64_t
dependence_ready(struct thread *thread, const struct block_dependence *load, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;
	uint64_t ready;

	if (dependence->until <= issue)
		dependence_reset(dependence, thread->sequence);
	if (dependence->until <= issue || !dependence_may_wait(load))
		return 0;
	tell_one(dependence);
	forget_lost(dependence, thread->sequence);
	while (dependence->followed != thread->sequence)
		pass_any(dependence, dependence_block(thread, dependence->followed), issue);
	ready = dependence_made(dependence, dependence->registers, load);
	for (uint32_t i = 0; i < dependence->count; i++) {
		if (is_behind(load, &dependence->missing[i]) && dependence->missing[i].ready > ready)
			ready = dependence->missing[i].ready;
	}
	return ready;
}

void
dependence_add(struct thread *thread, const struct block_dependence *load, uint64_t ready)
{
	struct dependence *dependence = &thread->dependence;

	tell_one(dependence);
	if (dependence->count == 0) {
		dependence_add_one(thread, load, dependence->registers, ready);
		return;
	}
	dependence->until = ready > dependence->until ? ready : dependence->until;
	dependence->missing[dependence->count++ % DEPENDENCE_MISSING] = (struct missing_load){
		.ready = ready,
		.load = load,
		.sequence = thread->sequence,
	};
}
