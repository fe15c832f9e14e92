#include "emulator/timing/load_stall.h"

/* By itself, so that who finds it at once has nothing to save for it. */
__attribute__((noinline)) void
load_stall_elsewhere(struct thread *thread, struct load_stall *load, uint64_t caching, uint64_t translating)
{
	if (caching)
		stall_anywhere(thread, &load->pair, REASON_DATA_CACHE, caching, &load->cache_at);
	if (translating)
		stall_anywhere(thread, &load->pair, REASON_DATA_TLB, translating, &load->tlb_at);
	stall_sample(thread, load->pair.stalled);
}

__attribute__((noinline)) void
load_stall_for_both(struct thread *thread, struct load_stall *load, uint64_t caching, uint64_t translating)
{
	struct record_stall *cache = stall_at(thread, &load->cache_at), *tlb = stall_at(thread, &load->tlb_at);

	stall_pass(thread, caching + translating);
	thread->record->counters.cycles[REASON_DATA_CACHE] += caching;
	thread->record->counters.cycles[REASON_DATA_TLB] += translating;
	if (thread->records_stalls) {
		if (!record_stall_is(cache, &load->pair, REASON_DATA_CACHE) ||
		    !record_stall_is(tlb, &load->pair, REASON_DATA_TLB)) {
			load_stall_elsewhere(thread, load, caching, translating);
			return;
		}
		record_stall_count(cache, caching);
		record_stall_count(tlb, translating);
	}
	stall_sample(thread, load->pair.stalled);
}

struct load_stall *
load_stalls_take(struct arena *arena, const struct block *block)
{
	struct load_stall *stalls = arena_take(arena, block->access_end * sizeof(*stalls), _Alignof(struct load_stall));

	for (unsigned i = 0; stalls && i < block->access_end; i++) {
		const struct block_instruction *instruction = &block->instructions[i];
		const uint32_t culprit = block->first + i;
		const uint32_t stalled = block->is_in_order ? block->first + instruction->use : culprit;

		if (block->is_in_order && !instruction->is_used_first)
			continue;
		stalls[i] = (struct load_stall){
			.pair = {stalled, culprit},
			.cache_at = (uint32_t)sizeof(struct record_stall) *
		                    record_stall_place(stalled, culprit, REASON_DATA_CACHE),
			.tlb_at = (uint32_t)sizeof(struct record_stall) *
		                  record_stall_place(stalled, culprit, REASON_DATA_TLB),
		};
	}
	return stalls;
}
