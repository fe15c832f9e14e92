#include "emulator/model/coherence.h"
#include "emulator/model/hierarchy_internal.h"

#define CYCLES_MOST (UINT32_C(1) << 28) /* that one thing takes: THREAD_LIMIT of emulator/timing/thread.h is more */

#define INLINE static inline __attribute__((always_inline))
#define APART  static __attribute__((noinline)) /* rare: its caller has no registers to save for it */

/* ---- numbers of addresses ---- */

/* The number that an address has until pages are moved. */
INLINE uint64_t
number_of(struct hierarchy *hierarchy, uint64_t address)
{
	return page_map_recent_number(&hierarchy->regions, hierarchy->system->pages, address);
}

/* What that is since pages were moved. */
INLINE uint64_t
follow(const struct hierarchy *hierarchy, uint64_t number)
{
	if (__builtin_expect(!__atomic_load_n(&hierarchy->system->moves, __ATOMIC_RELAXED), 1))
		return number;
	return page_map_follow(hierarchy->system->pages, number);
}

/* ---- memory ---- */

/* Consecutive lines lie on controllers in turn, shifted from page to page so that no stride stays on one. */
static unsigned
controller_of(unsigned count, uint64_t line)
{
	const uint64_t shifted = line + (line >> 6) * 7 + (line >> 13);

	return (unsigned)((count & (count - 1)) == 0 ? shifted & (count - 1) : shifted % count);
}

static unsigned
node_of(const struct hierarchy *hierarchy, uint64_t line)
{
	struct page_map *pages = hierarchy->system->pages;
	struct remedies *remedies;
	uint64_t address;
	unsigned home;

	if (hierarchy->system->machine.nodes == 1)
		return 0;
	address = page_map_address(pages, line, hierarchy->line_shift) << hierarchy->line_shift;
	home = page_map_node(pages, (uint32_t)(line >> (PAGE_MAP_REGION_SHIFT - hierarchy->line_shift)), address,
	                     hierarchy->node);
	remedies = __atomic_load_n(&hierarchy->system->remedies, __ATOMIC_ACQUIRE);
	return __builtin_expect(!remedies, 1) ? home : remedies_node(remedies, address, hierarchy->node, home);
}

/* A line goes between the core and the memory of `node`: how long that waits; *user: the core's of the controller. */
static uint64_t
transfer_line(struct hierarchy *hierarchy, uint64_t line, unsigned node, uint64_t now, bool writes,
              struct memory_path_user **user)
{
	const struct machine *machine = &hierarchy->system->machine;
	const unsigned from = writes ? hierarchy->node : node, to = writes ? node : hierarchy->node;
	uint64_t wait;

	*user = &hierarchy->users[node * machine->controllers + controller_of(machine->controllers, line)];
	wait = memory_path_transfer(*user, now);
	memory_path_count(*user, now, &hierarchy->system->curve);
	if (from != to)
		wait += memory_path_transfer(
			&hierarchy->users[machine->nodes * machine->controllers + from * machine->nodes + to],
			now + wait);
	return wait;
}

static uint32_t
clamp(uint64_t cycles)
{
	return cycles < CYCLES_MOST ? (uint32_t)cycles : CYCLES_MOST;
}

/* A line comes from memory. */
APART void
read_memory(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
            struct access_result *result)
{
	const unsigned node = node_of(hierarchy, line);
	struct memory_path_user *user;
	const uint64_t wait = transfer_line(hierarchy, line, node, now, false, &user);

	result->level = HIERARCHY_MEMORY;
	result->node = (uint8_t)node;
	result->cycles = latencies[HIERARCHY_MEMORY] + (node != hierarchy->node ? hierarchy->system->remote_cycles : 0);
	result->load_cycles = user->load_cycles;
	result->wait_cycles = clamp(wait > user->load_cycles ? wait : user->load_cycles);
}

/*
 * The level before `level` evicted a dirty line. The nearest level from `level` on that holds the line marks it dirty;
 * no level brings it in. Where none holds it, it is written to memory, which takes bandwidth, and no core waits.
 */
static void
write_back(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	struct memory_path_user *user;

	for (; level < hierarchy->level_count; level++) {
		if (cache_mark_written(hierarchy->levels[level], line))
			return;
	}
	hierarchy->traffic.written_back++;
	transfer_line(hierarchy, line, node_of(hierarchy, line), now, true, &user);
}

/* ---- prefetchers ---- */

/* First use of a prefetched line: it may still be on its way. */
APART void
use_prefetched_line(struct hierarchy *hierarchy, uint64_t line, uint64_t now, struct access_result *result)
{
	const struct arrival *arrival = &hierarchy->arrivals[line % ARRIVALS];
	const uint64_t late = arrival->line == line && arrival->ready > now ? arrival->ready - now : 0;

	result->used_prefetch = true;
	result->cycles = late > result->cycles ? clamp(late) : result->cycles;
	hierarchy->traffic.prefetched_used++;
}

/* Fill a prefetched line into level 1, which does not hold it; a dirty victim is written back. */
static void
prefetch_fill_l1(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct l1 *level = &hierarchy->data;
	const struct l1_found found = l1_use_any(level, line, level->filter->use += FILTER_USE);
	const bool was_written = found.entry->key & FILTER_WRITTEN;

	found.entry->key = FILTER_PREFETCHED;
	if (was_written)
		write_back(hierarchy, l1_victim_line(level, line, found.victim_tag), 1, now);
}

/* Fill a prefetched line into an outer level, which does not hold it; a dirty victim is written back. */
static void
prefetch_fill_outer(struct hierarchy *hierarchy, unsigned level, uint64_t line, uint64_t now)
{
	struct cache *cache = hierarchy->levels[level];
	struct cache_found found;

	if (cache->is_simple)
		found = cache_small_replace(cache, cache_small_set(cache, line), line, CACHE_WAS_PREFETCHED);
	else
		found = cache_prefetch(cache, line);
	if (cache_found_evicts_dirty(found))
		write_back(hierarchy, found.victim, level + 1, now);
}

static uint64_t
prefetch_from_memory(struct hierarchy *hierarchy, uint64_t line, uint64_t now)
{
	struct access_result result;

	read_memory(hierarchy, line, hierarchy->system->data_cycles, now, &result);
	return now + result.cycles + result.wait_cycles;
}

/* Fill a prefetched line into the levels outside `level`, up to the one that holds it: when it arrives. */
static uint64_t
prefetch_through_outer_levels(struct hierarchy *hierarchy, uint64_t line, unsigned level, uint64_t now)
{
	while (++level < hierarchy->level_count) {
		const struct cache_found found = cache_access(hierarchy->levels[level], line, false);

		if (found.flags & CACHE_HIT)
			return now + hierarchy->system->data_cycles[level];
		if (cache_found_evicts_dirty(found))
			write_back(hierarchy, found.victim, level + 1, now);
	}
	return prefetch_from_memory(hierarchy, line, now);
}

/* An inaccurate prefetch: it costs bandwidth and fills no cache. */
static void
prefetch_useless_line(struct hierarchy *hierarchy, const struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	for (unsigned level = prefetcher->level + 1; level < hierarchy->level_count; level++) {
		if (cache_has(hierarchy->levels[level], line))
			return;
	}
	prefetch_from_memory(hierarchy, line, now);
}

/* A line that the prefetcher's level does not have. */
APART void
prefetch_line(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	const bool is_accurate = prefetcher_next_is_accurate(prefetcher);

	prefetcher_count(prefetcher, is_accurate);
	hierarchy->traffic.prefetched++;
	if (!is_accurate) {
		prefetch_useless_line(hierarchy, prefetcher, line, now);
		return;
	}
	if (prefetcher->level == 0)
		prefetch_fill_l1(hierarchy, line, now);
	else
		prefetch_fill_outer(hierarchy, prefetcher->level, line, now);
	hierarchy->arrivals[line % ARRIVALS] =
		(struct arrival){line, prefetch_through_outer_levels(hierarchy, line, prefetcher->level, now)};
}

/* A line that another core may have written is not prefetched. */
APART void
prefetch_coherent_line(struct hierarchy *hierarchy, struct prefetcher *prefetcher, uint64_t line, uint64_t now)
{
	uint64_t entry, *place = line_directory_lock(hierarchy->system->coherence.directory, line, &entry);

	if (!place)
		return;
	if (coherence_prefetch(&hierarchy->coherent, &entry)) {
		coherence_lock(&hierarchy->coherent);
		prefetch_line(hierarchy, prefetcher, line, now);
		coherence_unlock(&hierarchy->coherent);
	}
	line_directory_unlock(place, entry);
}

INLINE bool
is_in_level(const struct hierarchy *hierarchy, unsigned level, uint64_t line)
{
	struct cache *cache = hierarchy->levels[level];

	if (level == 0)
		return l1_has(&hierarchy->data, line);
	return cache->is_simple ? cache_small_has(cache, line) : cache_has(cache, line);
}

/* Prefetchers see an access that reached levels up to result->level, of code without `instruction`. */
static void
run_prefetchers(struct hierarchy *hierarchy, uint64_t physical, uint64_t instruction, uint64_t now,
                const struct access_result *result)
{
	const unsigned reached = result->level;
	const bool used_prefetch = result->used_prefetch;

	for (unsigned i = 0; i < hierarchy->prefetcher_count; i++) {
		struct prefetcher *prefetcher = &hierarchy->prefetchers[i];
		const unsigned level = prefetcher->level;
		unsigned count;

		if (reached < level || (level == 0 && !instruction))
			continue;
		count = prefetcher_train(prefetcher, physical, instruction, reached > level || used_prefetch);
		for (unsigned k = 0; k < count; k++) {
			const uint64_t line = prefetcher_line(prefetcher, k);

			if (is_in_level(hierarchy, level, line))
				continue;
			if (hierarchy->coherent.is_on)
				prefetch_coherent_line(hierarchy, prefetcher, line, now);
			else
				prefetch_line(hierarchy, prefetcher, line, now);
		}
	}
}

/* ---- an access: the filter, TLBs, level 1, the levels behind it, memory, prefetchers ---- */

/*
 * TLB lookup for a page that is not in the filter; enters it there. A new page often misses the last level too, so its
 * set is fetched into the host's cache meanwhile.
 */
APART void
translate(struct hierarchy *hierarchy, struct first_tlb *pages, uint64_t address, struct access_result *result)
{
	const uint64_t page = address >> hierarchy->page_shift, numbered = number_of(hierarchy, address);
	const uint64_t number = numbered >> hierarchy->page_shift;
	struct l1 *level = &pages->level;
	struct l1_found found;

	if (hierarchy->far)
		cache_fetch_set(hierarchy->far, numbered >> hierarchy->line_shift);
	found = l1_use(level, number, level->filter->use += FILTER_USE);
	l1_put_page(level, found.entry, page);
	if (found.hit)
		return;
	result->tlb_missed = true;
	result->walked =
		!hierarchy->system->machine.shared_tlb.entries || !tlb_access(&hierarchy->shared_tlb, (uint32_t)number);
	result->tlb_cycles = result->walked ? pages->walk_cycles : pages->second_cycles;
}

/* The host's caches do not hold the sets of a large last level: one is fetched while something else is done. */
INLINE void
fetch_far_set(const struct hierarchy *hierarchy, unsigned level, uint64_t line)
{
	if (level < hierarchy->level_count && hierarchy->levels[level] == hierarchy->far)
		cache_fetch_set(hierarchy->far, line);
}

/*
 * A miss of level 1: look the line up in the outer levels, fill those that miss, write back their dirty victims. With
 * `is_elsewhere` another core gives the line if no level has it, and memory need not.
 */
INLINE void
access_outer_levels(struct hierarchy *hierarchy, uint64_t line, const uint32_t *latencies, uint64_t now,
                    const bool is_elsewhere, struct access_result *result)
{
	for (unsigned level = 1; level < hierarchy->level_count; level++) {
		const struct cache_found found = cache_access(hierarchy->levels[level], line, false);

		if (found.flags & CACHE_HIT) {
			result->level = (uint8_t)level;
			result->cycles = latencies[level];
			if (__builtin_expect(found.flags & CACHE_WAS_PREFETCHED, 0))
				use_prefetched_line(hierarchy, line, now, result);
			return;
		}
		fetch_far_set(hierarchy, level + 1, line);
		if (cache_found_evicts_dirty(found))
			write_back(hierarchy, found.victim, level + 1, now);
	}
	if (is_elsewhere)
		result->level = (uint8_t)(hierarchy->level_count - 1);
	else
		read_memory(hierarchy, line, latencies, now, result);
}

/* ---- an access, when other cores may have the line ---- */

static void
wait_for_transfer(const struct hierarchy *hierarchy, const struct copies *copies, struct access_result *result)
{
	const struct coherence *coherence = &hierarchy->system->coherence;
	const uint32_t cycles = copies->far ? coherence->far_transfer_cycles : coherence->transfer_cycles;

	result->transfer = copies->far ? TRANSFER_FAR : TRANSFER_NODE;
	if (cycles > result->cycles)
		result->cycles = cycles;
}

/* A line that another core had written was read: the level that both share has it dirty now, or memory has it. */
static void
keep_what_was_written(struct hierarchy *hierarchy, uint64_t line, bool is_far, uint64_t now)
{
	unsigned level = is_far ? hierarchy->level_count : 1;

	while (level < hierarchy->level_count && hierarchy->levels[level] == &hierarchy->own[level])
		level++;
	write_back(hierarchy, line, level, now);
}

/*
 * Level 1 has the line, or gets it: from the levels behind it, from memory or, with `is_elsewhere`, from a core. Under
 * the lock of the core's group, if there are several threads.
 */
INLINE struct filter_entry *
use_line(struct hierarchy *hierarchy, uint64_t guest_line, uint64_t line, bool writes, uint64_t now, bool is_elsewhere,
         struct access_result *result)
{
	struct l1 *level = &hierarchy->data;
	const struct l1_found found = l1_use(level, line, hierarchy->data_filter->use += FILTER_USE);
	const uint64_t key = found.entry->key;

	l1_put_line(level, found.entry, guest_line, writes || (found.hit && key & FILTER_WRITTEN));
	if (!found.hit) {
		if (key & FILTER_WRITTEN)
			write_back(hierarchy, l1_victim_line(level, line, found.victim_tag), 1, now);
		access_outer_levels(hierarchy, line, hierarchy->system->data_cycles, now, is_elsewhere, result);
	} else if (key == FILTER_PREFETCHED) {
		use_prefetched_line(hierarchy, line, now, result);
	}
	return found.entry;
}

/* Under its lock: whether the hierarchy has what it needs of the line, so that no other core need be asked. */
static bool
has_line(const struct hierarchy *hierarchy, uint64_t line, bool writes)
{
	const struct filter_entry *entry = l1_find(&hierarchy->data, line);

	if (entry || writes)
		return entry && (!writes || entry->key & FILTER_WRITTEN);
	for (unsigned level = 1; level < hierarchy->level_count; level++) {
		if (hierarchy->levels[level] == &hierarchy->own[level] && cache_has(hierarchy->levels[level], line))
			return true;
	}
	return false;
}

/* What an access that may concern other cores is: of a line, by its numbers here and in the guest. */
struct coherent_access {
	uint64_t guest_line, line;
	uint64_t asked, now; /* when the core executes it, and when it begins */
	bool writes;
};

static bool
use_own_line(struct hierarchy *hierarchy, const struct coherent_access *access, struct access_result *result)
{
	bool has;

	coherence_lock(&hierarchy->coherent);
	has = has_line(hierarchy, access->line, access->writes);
	if (has)
		use_line(hierarchy, access->guest_line, access->line, access->writes, access->now, false, result);
	coherence_unlock(&hierarchy->coherent);
	return has;
}

/* No filter knows the line, and nobody owns it: all cores that access it have a copy. */
static void
use_contended_line(struct hierarchy *hierarchy, const struct coherent_access *access, struct contended_line *contended,
                   struct access_result *result)
{
	struct coherence *coherence = &hierarchy->system->coherence;
	const struct contender contender = {.core = hierarchy->core,
	                                    .node = hierarchy->node,
	                                    .asked = access->asked,
	                                    .now = access->now,
	                                    .writes = access->writes};
	uint64_t known = 0, *place;
	bool is_far = false;
	uint32_t wait;

	coherence_lock(&hierarchy->coherent);
	if (has_line(hierarchy, access->line, false)) {
		use_line(hierarchy, access->guest_line, access->line, false, access->now, false, result)->key =
			FILTER_NOTHING;
		coherence_unlock(&hierarchy->coherent);
	} else {
		coherence_unlock(&hierarchy->coherent);
		place = line_directory_lock(coherence->directory, access->line, &known);
		coherence_lock(&hierarchy->coherent);
		use_line(hierarchy, access->guest_line, access->line, false, access->now, true, result)->key =
			FILTER_NOTHING;
		coherence_unlock(&hierarchy->coherent);
		if (place) {
			coherence_join_contention(&hierarchy->coherent, &known);
			line_directory_unlock(place, known);
		}
	}
	wait = contention_access(coherence->contention, contended, &contender, &is_far);
	if (wait) {
		result->transfer = is_far ? TRANSFER_FAR : TRANSFER_NODE;
		result->cycles = wait > result->cycles ? wait : result->cycles;
	}
}

/* The directory says what other cores have of the line. */
static void
use_shared_line(struct hierarchy *hierarchy, const struct coherent_access *access, struct access_result *result)
{
	struct coherence *coherence = &hierarchy->system->coherence;
	const uint64_t line = access->line, now = access->now;
	struct copies copies = {.any = false};
	struct contended_line *contended;
	uint64_t known = 0, *place = line_directory_lock(coherence->directory, line, &known);
	bool waits, is_contended = false;
	struct filter_entry *entry;

	contended = coherence->contention ? contention_find(coherence->contention, line) : NULL;
	if (contended) { /* since this moment */
		if (place)
			line_directory_unlock(place, known);
		use_contended_line(hierarchy, access, contended, result);
		return;
	}
	if (place)
		copies = access->writes ? coherence_write(&hierarchy->coherent, line, &known)
		                        : coherence_read(&hierarchy->coherent, line, &known);
	waits = copies.dirty || (access->writes && copies.any);
	if (waits && place && coherence->contention)
		is_contended = contention_handed_over(coherence->contention, line, now);
	if (is_contended)
		coherence_give_up(&hierarchy->coherent, line, &known);
	coherence_lock(&hierarchy->coherent);
	entry = use_line(hierarchy, access->guest_line, line, access->writes, now, copies.dirty, result);
	if (is_contended)
		entry->key = FILTER_NOTHING;
	result->first_write = access->writes && result->level == 0;
	if (waits)
		wait_for_transfer(hierarchy, &copies, result);
	if (copies.dirty && !access->writes)
		keep_what_was_written(hierarchy, line, copies.far, now);
	coherence_unlock(&hierarchy->coherent);
	if (place)
		line_directory_unlock(place, known);
}

APART void
use_coherent_line(struct hierarchy *hierarchy, const struct coherent_access *access, struct access_result *result)
{
	struct contention *contention = hierarchy->system->coherence.contention;
	struct contended_line *contended = contention ? contention_find(contention, access->line) : NULL;

	if (contended)
		use_contended_line(hierarchy, access, contended, result);
	else if (!use_own_line(hierarchy, access, result))
		use_shared_line(hierarchy, access, result);
}

/* ---- an access ---- */

INLINE bool
access_data(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t asked, uint64_t now,
            const bool writes, struct access_result *result)
{
	struct hit_filter *filter = hierarchy->data_filter;
	const uint64_t guest_line = address >> filter->line_shift;
	const bool is_coherent = hierarchy->coherent.is_on;
	uint64_t physical, line;

	*result = (struct access_result){.level = 0};
	if (!filter_use_page(filter, address >> filter->page_shift))
		translate(hierarchy, &hierarchy->data_tlb, address, result);
	if (is_coherent ? filter_use_line_as_it_is(filter, guest_line, writes)
	                : filter_use_line(filter, guest_line, writes))
		return result->tlb_missed;

	physical = follow(hierarchy, number_of(hierarchy, address));
	line = physical >> hierarchy->line_shift;
	if (is_coherent)
		use_coherent_line(hierarchy, &(struct coherent_access){guest_line, line, asked, now, writes}, result);
	else
		use_line(hierarchy, guest_line, line, writes, now, false, result);
	if (hierarchy->prefetcher_count && (result->level || result->used_prefetch))
		run_prefetchers(hierarchy, physical, instruction, now, result);
	return result->level || result->tlb_missed || result->cycles;
}

unsigned
hierarchy_page_node(struct hierarchy *hierarchy, uint64_t address)
{
	return node_of(hierarchy, follow(hierarchy, number_of(hierarchy, address)) >> hierarchy->line_shift);
}

/* Where the byte is: itself, but for an object whose words are to have lines of their own. */
INLINE uint64_t
place_of(const struct hierarchy *hierarchy, uint64_t address)
{
	struct remedies *remedies = __atomic_load_n(&hierarchy->system->remedies, __ATOMIC_ACQUIRE);

	return __builtin_expect(!remedies, 1) ? address : remedies_address(remedies, address);
}

bool
hierarchy_load(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now,
               struct access_result *result)
{
	return access_data(hierarchy, place_of(hierarchy, address), instruction, now, now, false, result);
}

bool
hierarchy_store(struct hierarchy *hierarchy, uint64_t address, uint64_t instruction, uint64_t now, uint64_t begins,
                struct access_result *result)
{
	return access_data(hierarchy, place_of(hierarchy, address), instruction, now, begins, true, result);
}

bool
hierarchy_fetch(struct hierarchy *hierarchy, uint64_t address, uint64_t now, struct access_result *result)
{
	struct hit_filter *filter = hierarchy->code_filter;
	const uint64_t guest_line = address >> filter->line_shift;
	struct l1_found found;
	uint64_t physical;

	*result = (struct access_result){.level = 0};
	if (!filter_use_page(filter, address >> filter->page_shift))
		translate(hierarchy, &hierarchy->code_tlb, address, result);
	if (filter_use_line(filter, guest_line, false))
		return result->tlb_missed;

	physical = follow(hierarchy, number_of(hierarchy, address));
	found = l1_use(&hierarchy->code, physical >> hierarchy->line_shift, filter->use += FILTER_USE);
	l1_put_line(&hierarchy->code, found.entry, guest_line, false);
	if (found.hit)
		return result->tlb_missed;
	if (hierarchy->coherent.is_on)
		coherence_lock(&hierarchy->coherent);
	access_outer_levels(hierarchy, physical >> hierarchy->line_shift, hierarchy->system->code_cycles, now, false,
	                    result);
	if (hierarchy->coherent.is_on)
		coherence_unlock(&hierarchy->coherent);
	if (hierarchy->prefetcher_count)
		run_prefetchers(hierarchy, physical, 0, now, result);
	return true;
}

void
hierarchy_move_pages(struct hierarchy *hierarchy, uint64_t from, uint64_t to, uint64_t bytes)
{
	if (!hierarchy->system->has_caches ||
	    hierarchy->data.set_mask >= 1u << (hierarchy->page_shift - hierarchy->line_shift))
		return;
	page_map_move(hierarchy->system->pages, from, to, bytes);
	__atomic_fetch_add(&hierarchy->system->moves, 1, __ATOMIC_RELEASE);
	if (hierarchy->coherent.is_on)
		coherence_lock(&hierarchy->coherent);
	l1_forget(&hierarchy->data);
	if (hierarchy->coherent.is_on)
		coherence_unlock(&hierarchy->coherent);
}
