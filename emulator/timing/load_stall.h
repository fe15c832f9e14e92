/*
 * load_stall.h - the stall for a load, of which it is known who waits
 *
 * In order that is its first user, when it comes before any other access to memory; out of order the load itself. Which
 * instruction waits for which never changes then, and neither does the place in the record of a thread.
 * Thread rule: of the thread; those of a block are of all threads, and places are looked up and changed atomically.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_STALL_H
#define DCPI_EMULATOR_TIMING_LOAD_STALL_H

#include "emulator/timing/stall.h"

/*
 * Where the record of one thread or another had it last, as of record_stall_at(), because of the line and because of
 * the page.
 */
struct load_stall {
	struct record_pair pair;
	uint32_t cache_at, tlb_at;
};

/* Of the first access_end instructions of a block; in order, of what is no such load, it is empty. NULL: no memory. */
struct load_stall *load_stalls_take(struct arena *arena, const struct block *block);

/* Its user waits so long for the line, and then for the page. By itself: who waits for one needs fewer registers. */
void load_stall_for_both(struct thread *thread, struct load_stall *load, uint64_t caching, uint64_t translating);

/* It is in the clock and the counters, so long for the line and for the page, and one is not where it was last. */
void load_stall_elsewhere(struct thread *thread, struct load_stall *load, uint64_t caching, uint64_t translating);

/* For the line alone, or for the page. */
static inline __attribute__((always_inline)) void
load_stall_for_one(struct thread *thread, struct load_stall *load, uint64_t cycles, const bool is_page)
{
	const enum record_reason reason = is_page ? REASON_DATA_TLB : REASON_DATA_CACHE;
	struct record_stall *stall = stall_at(thread, is_page ? &load->tlb_at : &load->cache_at);

	stall_pass(thread, cycles);
	thread->record->counters.cycles[reason] += cycles;
	if (thread->records_stalls) {
		if (!record_stall_is(stall, &load->pair, reason)) {
			load_stall_elsewhere(thread, load, is_page ? 0 : cycles, is_page ? cycles : 0);
			return;
		}
		record_stall_count(stall, cycles);
	}
	stall_sample(thread, load->pair.stalled);
}

static inline __attribute__((always_inline)) void
load_stall_for_line(struct thread *thread, struct load_stall *load, uint64_t cycles)
{
	load_stall_for_one(thread, load, cycles, false);
}

static inline __attribute__((always_inline)) void
load_stall_for_page(struct thread *thread, struct load_stall *load, uint64_t cycles)
{
	load_stall_for_one(thread, load, cycles, true);
}

/* For so long, and what it is for by what they took: the line came first. */
static inline __attribute__((always_inline)) void
load_stall_split(struct thread *thread, struct load_stall *load, uint64_t cycles, const uint64_t cache_cycles,
                 const uint64_t tlb_cycles)
{
	uint64_t left, translating;

	if (tlb_cycles == 0 || cycles <= cache_cycles) {
		load_stall_for_line(thread, load, cycles);
		return;
	}
	left = cycles - cache_cycles;
	translating = left < tlb_cycles ? left : tlb_cycles;
	if (translating == cycles)
		load_stall_for_page(thread, load, cycles);
	else
		load_stall_for_both(thread, load, cycles - translating, translating);
}

#endif
