#include "emulator/timing/dependence.h"

#include "emulator/timing/thread.h"

void
dependence_reset(struct dependence *dependence, uint32_t sequence)
{
	dependence->until = 0;
	dependence->registers = 0;
	dependence->followed = sequence;
	dependence->first = dependence->count;
}

static inline const struct missing_load *
missing_at(const struct dependence *dependence, uint32_t at)
{
	return &dependence->missing[at % DEPENDENCE_MISSING];
}

static inline void
set_ready(struct dependence *dependence, uint64_t registers, uint64_t ready)
{
	for (; registers; registers &= registers - 1)
		dependence->ready[__builtin_ctzll(registers)] = ready;
}

static inline const struct block *
block_at(const struct thread *thread, uint32_t sequence)
{
	return thread->history[sequence % THREAD_HISTORY]->block;
}

/* The registers that wait behind a block, of which `registers` waited before it. It reads only one that did. */
static inline uint64_t
pass_one(struct dependence *dependence, const struct block *block, uint64_t registers, uint64_t waiting, uint64_t issue)
{
	const unsigned reg = (unsigned)__builtin_ctzll(waiting);
	const uint64_t until = dependence->ready[reg];

	registers &= ~block->writes;
	if (until <= issue)
		return registers;
	set_ready(dependence, block->reaches[reg] & ~waiting, until);
	return registers | block->reaches[reg];
}

/* The same behind one whose load missed; it reads one at most that waited. */
static inline uint64_t
pass_load(struct dependence *dependence, const struct block *block, uint64_t registers, uint64_t waiting,
          const struct missing_load *load, uint64_t issue)
{
	const unsigned reg = (unsigned)__builtin_ctzll(waiting | UINT64_C(1) << 63);
	const uint64_t until = waiting ? dependence->ready[reg] : 0;
	uint64_t loaded = load->ready > issue ? load->reaches : 0;
	uint64_t reached = until > issue ? block->reaches[reg] : 0;

	registers = (registers & ~block->writes) | reached | loaded;
	if (until > load->ready)
		loaded &= ~reached;
	reached &= ~(loaded | waiting);
	set_ready(dependence, reached, until);
	set_ready(dependence, loaded, load->ready);
	return registers;
}

/*
 * The usual: one load missed, in the first of the blocks that are to be followed, and each reads one register at most
 * that waits. False: it is another, or from `followed` on it is.
 */
static inline bool
follow_usual(struct thread *thread, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;
	const struct missing_load *load = missing_at(dependence, dependence->first);
	const uint32_t end = thread->sequence;
	uint32_t sequence = dependence->followed;
	const struct block *block = block_at(thread, sequence);
	uint64_t registers = dependence->registers, waiting = registers & block->live_in;

	if (dependence->count - dependence->first != 1 || load->sequence != sequence ||
	    end - sequence - 1 >= THREAD_HISTORY - 1 || waiting & (waiting - 1))
		return false;
	if (waiting | load->reaches)
		registers = pass_load(dependence, block, registers, waiting, load, issue);
	else
		registers &= ~block->writes;
	dependence->first = dependence->count;
	while (++sequence != end) {
		block = block_at(thread, sequence);
		waiting = registers & block->live_in;
		if (!waiting)
			registers &= ~block->writes;
		else if (waiting & (waiting - 1))
			break;
		else
			registers = pass_one(dependence, block, registers, waiting, issue);
	}
	dependence->registers = registers;
	dependence->followed = sequence;
	return sequence == end;
}

/* Something that is there at `ready`, and the registers that are made of it. */
struct source {
	uint64_t ready, reaches;
};

/* `behind`: those that were reached by another. */
static uint64_t
reach(struct dependence *dependence, uint64_t behind, struct source source, uint64_t issue)
{
	if (source.ready <= issue)
		return behind;
	for (uint64_t left = source.reaches; left; left &= left - 1) {
		const unsigned reg = (unsigned)__builtin_ctzll(left);

		if (!(behind >> reg & 1) || dependence->ready[reg] < source.ready)
			dependence->ready[reg] = source.ready;
	}
	return behind | source.reaches;
}

/* Block `followed`, whatever it is. */
static void
pass_any(struct dependence *dependence, const struct block *block, uint64_t issue)
{
	const uint32_t sequence = dependence->followed++;
	struct source before[DEPENDENCE_REGISTERS];
	uint64_t behind = 0;
	unsigned count = 0;

	for (uint64_t left = dependence->registers & block->live_in; left; left &= left - 1) {
		const unsigned reg = (unsigned)__builtin_ctzll(left);

		before[count++] = (struct source){dependence->ready[reg], block->reaches[reg]};
	}
	while (count)
		behind = reach(dependence, behind, before[--count], issue);
	for (; dependence->first != dependence->count; dependence->first++) {
		const struct missing_load *load = missing_at(dependence, dependence->first);

		if (load->sequence != sequence)
			break;
		behind = reach(dependence, behind, (struct source){load->ready, load->reaches}, issue);
	}
	dependence->registers = (dependence->registers & ~block->writes) | behind;
}

/* What is not known any more is ready. */
static void
forget_lost(struct dependence *dependence, uint32_t sequence)
{
	const uint64_t until = dependence->until;

	if (sequence - dependence->followed < THREAD_HISTORY &&
	    dependence->count - dependence->first <= DEPENDENCE_MISSING)
		return;
	dependence_reset(dependence, sequence);
	dependence->until = until;
}

/* When all is there that an address of the block that runs is made of, as far as it was followed. */
static inline uint64_t
address_made(const struct dependence *dependence, const struct block_instruction *instruction)
{
	uint64_t ready = 0;

	for (uint64_t left = instruction->address_live & dependence->registers; left; left &= left - 1) {
		const uint64_t until = dependence->ready[__builtin_ctzll(left)];

		ready = until > ready ? until : ready;
	}
	for (uint32_t i = dependence->first; instruction->address_loads && i != dependence->count; i++) {
		const struct missing_load *load = missing_at(dependence, i);

		if (instruction->address_loads & load->bit && load->ready > ready)
			ready = load->ready;
	}
	return ready;
}

/* By itself, as the next one: who calls nobody, and who need not look, has nothing to save for it. */
static __attribute__((noinline)) uint64_t
address_ready_any(struct thread *thread, const struct block_instruction *instruction, uint64_t issue)
{
	struct dependence *dependence = &thread->dependence;

	forget_lost(dependence, thread->sequence);
	while (dependence->followed != thread->sequence)
		pass_any(dependence, block_at(thread, dependence->followed), issue);
	return address_made(dependence, instruction);
}

static __attribute__((noinline)) uint64_t
address_ready(struct thread *thread, const struct block_instruction *instruction, uint64_t issue)
{
	if (!follow_usual(thread, issue))
		return address_ready_any(thread, instruction, issue);
	return address_made(&thread->dependence, instruction);
}

uint64_t
dependence_ready(struct thread *thread, unsigned index, uint64_t issue)
{
	const struct block_instruction *instruction = &thread->variant->block->instructions[index];

	if (thread->dependence.until <= issue) {
		dependence_reset(&thread->dependence, thread->sequence);
		return 0;
	}
	if (!(instruction->address_loads | instruction->address_live))
		return 0;
	return address_ready(thread, instruction, issue);
}

void
dependence_add(struct thread *thread, unsigned index, uint64_t ready)
{
	const struct block_instruction *instruction = &thread->variant->block->instructions[index];
	const uint32_t load = instruction->load;
	struct dependence *dependence = &thread->dependence;

	dependence->until = ready > dependence->until ? ready : dependence->until;
	dependence->missing[dependence->count++ % DEPENDENCE_MISSING] = (struct missing_load){
		.ready = ready,
		.bit = load < 64 ? UINT64_C(1) << load : 0,
		.sequence = thread->sequence,
		.reaches = instruction->reaches,
	};
}
