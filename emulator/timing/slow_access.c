#include "emulator/model/simple.h"
#include "emulator/timing/callback_data.h"
#include "emulator/timing/core.h"
#include "emulator/timing/missed.h"
#include "emulator/timing/slow.h"

/* Of an instruction of the block that runs. */
static inline uint32_t
number_of(const struct thread *thread, unsigned index)
{
	return thread->code->block->first + index;
}

static inline bool
is_timed(const struct thread *thread)
{
	return thread->timing->parts & SETUP_CLOCK;
}

static inline void
load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	if (missed_nothing(result))
		return;
	missed_count_read(thread, number_of(thread, index), result, false);
	core_load_missed(thread, index, result);
}

/* Nothing is known of it but that it is within a line. */
static SLOW void
load_any(struct thread *thread, unsigned index, uint64_t address)
{
	struct access_result result;

	hierarchy_load(thread->hierarchy, address, number_of(thread, index), thread->clock, &result);
	load_missed(thread, index, &result);
}

/* It is no plain hit, and not simple. */
static SLOW void
load_anyhow(struct thread *thread, unsigned index, uint64_t address, struct hierarchy_translation translation)
{
	struct access_result result;

	hierarchy_load_line(thread->hierarchy, address, number_of(thread, index), thread->clock, translation, &result);
	load_missed(thread, index, &result);
}

/* Its line was not simply in level 2. */
static inline __attribute__((always_inline)) void
load_rest(struct thread *thread, unsigned index, struct hierarchy_translation translation, struct simple_load load)
{
	const uint32_t number = number_of(thread, index);
	struct access_result result = hierarchy_result_of(translation);

	simple_load_rest(thread->hierarchy, load, number, thread->clock, &result);
	missed_count_read(thread, number, &result, false);
	core_load_missed(thread, index, &result);
}

/* The same of a page that was a plain hit. */
static SLOW void
load_beyond(struct thread *thread, unsigned index, uint64_t address, uint64_t line, uint64_t left,
            enum simple_found found)
{
	load_rest(thread, index, (struct hierarchy_translation){.missed = false},
	          (struct simple_load){address, line, left, found});
}

/* Its page had to be translated, and its line was a plain hit, or in level 2. */
static SLOW void
load_translated(struct thread *thread, unsigned index, struct hierarchy_translation translation, bool is_second)
{
	const uint32_t number = number_of(thread, index);

	missed_count_translation(thread, number, translation.walked, false);
	if (is_second)
		missed_count_second(thread, number);
	core_load_simply(thread, index, is_second ? thread->second_cycles : 0, translation.cycles);
}

/* Its line was in level 2, which is sampled. */
static SLOW void
load_sampled(struct thread *thread, unsigned index)
{
	sample_event(thread, SETUP_EVENT_LEVEL1_DATA, number_of(thread, index));
	core_load_second(thread, index);
}

/* Its line was in level 2. */
static inline __attribute__((always_inline)) void
load_second(struct thread *thread, unsigned index, const struct hierarchy_translation translation)
{
	if (translation.missed) {
		load_translated(thread, index, translation, true);
		return;
	}
	thread->record->counters.loads_missed[0]++;
	if (__builtin_expect(sample_is_due(thread, SETUP_EVENT_LEVEL1_DATA), 0))
		load_sampled(thread, index);
	else
		core_load_second(thread, index);
}

/* The same, and a line leaves for it, or prefetchers are told. */
static SLOW void
load_second_rest(struct thread *thread, unsigned index, uint64_t address, uint64_t line, uint64_t left,
                 struct hierarchy_translation translation)
{
	simple_load_second_rest(thread->hierarchy, (struct simple_load){address, line, left, SIMPLE_SECOND},
	                        number_of(thread, index), thread->clock);
	load_second(thread, index, translation);
}

/* Its line is no plain hit. Who calls nothing saves nothing: what is not the usual goes on elsewhere. */
static inline __attribute__((always_inline)) void
load_simply(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
            const struct hierarchy_translation translation, const unsigned slots)
{
	struct hierarchy *hierarchy = thread->hierarchy;
	const struct simple_load load = simple_load_line(hierarchy, address, line, slots);

	if (load.found == SIMPLE_NOT)
		load_anyhow(thread, index, address, translation);
	else if (load.found != SIMPLE_SECOND && translation.missed)
		load_rest(thread, index, translation, load);
	else if (load.found != SIMPLE_SECOND)
		load_beyond(thread, index, address, line, load.left, load.found);
	else if (__builtin_expect(load.left != CACHE_NO_LINE, 0) || hierarchy->prefetcher_count)
		load_second_rest(thread, index, address, line, load.left, translation);
	else
		load_second(thread, index, translation);
}

/* Its page is no plain hit. */
static inline __attribute__((always_inline)) void
load_page(struct thread *thread, unsigned index, uint64_t address, uint64_t line, const unsigned slots)
{
	const struct hierarchy_translation translation = simple_translate(thread->hierarchy, address, line);

	if (!simple_use_plainly(thread->hierarchy, address))
		load_simply(thread, index, address, line, translation, slots);
	else if (translation.missed)
		load_translated(thread, index, translation, false);
}

static SLOW void
load_page_of_four(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_page(thread, index, address, line, 4);
}

static SLOW void
load_page_of_eight(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_page(thread, index, address, line, 8);
}

static inline __attribute__((always_inline)) void
load_of(struct thread *thread, unsigned index, uint64_t address, const unsigned slots)
{
	uint64_t line;

	if (!__builtin_expect(simple_find_line(thread->hierarchy, address, &line), 1))
		load_any(thread, index, address);
	else if (simple_use_page(thread->hierarchy, address))
		load_simply(thread, index, address, line, (struct hierarchy_translation){.missed = false}, slots);
	else if (slots == 4)
		load_page_of_four(thread, index, address, line);
	else
		load_page_of_eight(thread, index, address, line);
}

static SLOW void
load_line_of_eight(struct thread *thread, unsigned index, uint64_t address)
{
	load_of(thread, index, address, 8);
}

static SLOW void
load_line(struct thread *thread, unsigned index, uint64_t address)
{
	const unsigned slots = thread->hierarchy->simple_slots;

	if (slots == 4)
		load_of(thread, index, address, 4);
	else if (slots == 8)
		load_line_of_eight(thread, index, address);
	else
		load_any(thread, index, address);
}

static SLOW void
store_line(struct thread *thread, unsigned index, uint64_t address)
{
	const uint64_t begins = is_timed(thread) ? core_store_begins(thread, index) : thread->clock;
	const uint32_t number = number_of(thread, index);
	struct access_result result;

	hierarchy_store(thread->hierarchy, address, number, begins, &result);
	if (missed_nothing(&result))
		return;
	missed_count_store(thread, number, &result);
	if (is_timed(thread))
		core_store_missed(thread, index, &result);
}

static void
access_line(struct thread *thread, unsigned index, uint64_t address, bool is_store)
{
	if (is_store)
		store_line(thread, index, address);
	else
		load_line(thread, index, address);
}

/* Each line of it that is no plain hit. */
static void
access_bytes(struct thread *thread, unsigned index, uint64_t first, uint64_t end, bool is_store)
{
	const uint64_t line_bytes = thread->timing->setup->machine.line_bytes;

	for (uint64_t address = first; address < end; address = (address | (line_bytes - 1)) + 1) {
		if (!plain_hits_use_address(thread->data_plain, is_store, address))
			access_line(thread, index, address, is_store);
	}
}

static void
access_member(struct thread *thread, const struct block *block, unsigned index, uint64_t address,
              const struct block_instruction *leader)
{
	const struct block_instruction *member = &block->instructions[index];
	const uint64_t from = address + (uint64_t)(int64_t)leader->group_from;
	const uint64_t to = address + (uint64_t)(int64_t)leader->group_to;
	uint64_t first = address + (uint64_t)(int64_t)member->displacement, end = first + member->access_size;

	first = first < from ? from : first;
	end = end > to ? to : end;
	if (member->loads)
		access_bytes(thread, index, first, end, false);
	if (member->stores)
		access_bytes(thread, index, first, end, true);
}

static bool
is_plain_group(const struct thread *thread, const struct access *access, uint64_t first, uint64_t last)
{
	return plain_hits_use_address(thread->data_plain, access->may_store, first) &&
	       plain_hits_use_address(thread->data_plain, access->may_store, last);
}

/* A handler may return to the middle of a block that was left. */
static inline bool
is_left(const struct thread *thread, const struct access *access)
{
	return thread->code != access->code;
}

void
slow_access(struct thread *thread, const struct access *access, uint64_t address, unsigned size, bool is_store)
{
	if (is_left(thread, access))
		return;
	if ((address ^ (address + size - 1)) >> thread->data_plain->line_shift == 0)
		access_line(thread, access->index, address, is_store);
	else
		access_bytes(thread, access->index, address, address + size, is_store);
}

void
slow_load(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	slow_access(thread, callback_access(data), address, callback_last(data) + 1u, false);
}

void
slow_store(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	slow_access(thread, callback_access(data), address, callback_last(data) + 1u, true);
}

void
slow_group(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const struct access *access = callback_access(data);
	const struct block *block = access->code->block;
	const struct block_instruction *leader = &block->instructions[access->index];

	(void)info;
	if (is_left(thread, access))
		return;
	for (unsigned i = access->index; i != BLOCK_NOT_USED; i = block->instructions[i].next_member) {
		access_member(thread, block, i, address, leader);
		if (is_plain_group(thread, access, address + (uint64_t)(int64_t)leader->group_from,
		                   address + (uint64_t)(int64_t)leader->group_to - 1))
			return; /* and so are those that follow */
	}
}
