#include "emulator/timing/load.h"

#include "emulator/model/simple.h"
#include "emulator/timing/core.h"
#include "emulator/timing/missed.h"

static inline void
load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	if (missed_nothing(result))
		return;
	missed_count_read(thread, access_number(thread, index), result, false);
	core_load_missed(thread, index, result);
}

/* Nothing is known of it but that it is within a line. */
static SLOW void
load_any(struct thread *thread, unsigned index, uint64_t address)
{
	struct access_result result;

	hierarchy_load(thread->hierarchy, address, access_number(thread, index), thread->clock, &result);
	load_missed(thread, index, &result);
}

/* It is no plain hit, and not simple. */
static SLOW void
load_anyhow(struct thread *thread, unsigned index, uint64_t address, struct hierarchy_translation translation)
{
	struct access_result result;

	hierarchy_load_line(thread->hierarchy, address, access_number(thread, index), thread->clock, translation,
	                    &result);
	load_missed(thread, index, &result);
}

/* Level 2 had not its line. */
static SLOW void
load_beyond(struct thread *thread, unsigned index, uint64_t address, uint64_t line, uint64_t left,
            struct hierarchy_translation translation)
{
	const uint32_t number = access_number(thread, index);
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(translation);
	simple_load_rest(thread->hierarchy, (struct simple_load){address, line, left, SIMPLE_BEYOND}, number,
	                 thread->clock, result);
	missed_count_beyond(thread, number, result);
	core_load_missed(thread, index, result);
}

/* Its line was in level 2, and somebody prefetched it. */
static SLOW void
load_met(struct thread *thread, unsigned index, uint64_t address, uint64_t line, uint64_t left,
         struct hierarchy_translation translation)
{
	const uint32_t number = access_number(thread, index);
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(translation);
	simple_load_rest(thread->hierarchy, (struct simple_load){address, line, left, SIMPLE_MET}, number,
	                 thread->clock, result);
	missed_count_read(thread, number, result, false);
	core_load_missed(thread, index, result);
}

/* Its page had to be translated, and its line was a plain hit, or in level 2. */
static SLOW void
load_translated(struct thread *thread, unsigned index, struct hierarchy_translation translation, bool is_second)
{
	const uint32_t number = access_number(thread, index);

	missed_count_translation(thread, number, translation.walked, false);
	if (is_second)
		missed_count_second(thread, number);
	core_load_simply(thread, index, is_second ? thread->second_cycles : 0, translation.cycles);
}

/* Its line was in level 2, which is sampled. */
static SLOW void
load_sampled(struct thread *thread, unsigned index)
{
	sample_event(thread, SETUP_EVENT_LEVEL1_DATA, access_number(thread, index));
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
	                        access_number(thread, index), thread->clock);
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
	else if (load.found == SIMPLE_BEYOND)
		load_beyond(thread, index, address, line, load.left, translation);
	else if (load.found == SIMPLE_MET)
		load_met(thread, index, address, line, load.left, translation);
	else if (__builtin_expect(load.left != CACHE_NO_LINE, 0) || hierarchy->prefetch)
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

void
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
