/*
 * A load that level 2 served, and that prefetchers are told: the usual ones straight on. Each step calls nothing but
 * the next one, so that none has much to save.
 */
#include "emulator/model/prefetch_usual.h"
#include "emulator/timing/load_kind.h"
#include "emulator/timing/load_second.h"

SLOW void
load_sampled(struct thread *thread, unsigned index)
{
	sample_event(thread, SETUP_EVENT_LEVEL1_DATA, access_number(thread, index));
	core_load_second(thread, index);
}

SLOW void
load_second_told(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	simple_tell_second(thread->hierarchy, address, line, access_number(thread, index), thread->clock);
	load_second(thread, index);
}

/* The stream of its page, of the usual ones, wants `count` lines, of which the first is not there. */
static SLOW void
load_fetching(struct thread *thread, unsigned index, unsigned count)
{
	prefetch_usual_fetch(thread->hierarchy, count, thread->clock);
	load_second(thread, index);
}

/* That is not at hand. */
static SLOW void
load_finding_stream(struct thread *thread, unsigned index, uint64_t line)
{
	prefetch_usual_find(thread->hierarchy, line, thread->clock);
	load_second(thread, index);
}

/* It is told. */
static SLOW void
load_in_stream(struct thread *thread, unsigned index, uint64_t line)
{
	struct prefetch_entry *entry = prefetch_usual_at_hand(thread->hierarchy, line);
	unsigned count;

	if (__builtin_expect(!prefetch_usual_is_of(entry, line), 0)) {
		load_finding_stream(thread, index, line);
		return;
	}
	count = prefetch_usual_follow(thread->hierarchy, entry, line);
	if (count)
		load_fetching(thread, index, count);
	else
		load_second(thread, index);
}

static void
load_told_usual(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	if (prefetch_usual_step(thread->hierarchy, simple_known(address, line), access_number(thread, index)))
		load_in_stream(thread, index, line);
	else
		load_second_told(thread, index, address, line);
}

void
load_told_choose_way(struct thread *thread)
{
	const struct hierarchy *hierarchy = thread->hierarchy;

	if (hierarchy->prefetch)
		thread->ways.load_told = prefetch_is_usual(hierarchy) ? load_told_usual : load_second_told;
}
