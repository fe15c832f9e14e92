#include "emulator/timing/load.h"

#include "emulator/model/simple.h"
#include "emulator/timing/callback_data.h"
#include "emulator/timing/load_second.h"

static inline void
load_missed(struct thread *thread, unsigned index, const struct access_result *result)
{
	if (missed_nothing(result))
		return;
	missed_count_read(thread, access_number(thread, index), result, false);
	core_load_missed(thread, index, result);
}

/* Nothing is known of it but that it is within a line. */
static void
load_any(struct thread *thread, unsigned index, uint64_t address)
{
	struct access_result result;

	hierarchy_load(thread->hierarchy, address, access_number(thread, index), thread->clock, &result);
	load_missed(thread, index, &result);
}

/* It is no plain hit, and not simple. */
static SLOW void
load_anyhow(struct thread *thread, unsigned index, uint64_t address, enum hierarchy_translation translation)
{
	struct access_result result;

	hierarchy_load_line(thread->hierarchy, address, access_number(thread, index), thread->clock, translation,
	                    &result);
	load_missed(thread, index, &result);
}

/* Level 2 had not its line. */
static SLOW void
load_beyond(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
            enum hierarchy_translation translation)
{
	const uint32_t number = access_number(thread, index);
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&thread->hierarchy->data_pages, translation);
	simple_load_beyond(thread->hierarchy, address, line, number, thread->clock, result);
	missed_count_beyond(thread, number, result, thread->hierarchy->level_count);
	core_load_missed(thread, index, result);
}

/* Its line was in level 2, and somebody prefetched it. */
static SLOW void
load_met(struct thread *thread, unsigned index, uint64_t address, uint64_t line, enum hierarchy_translation translation)
{
	const uint32_t number = access_number(thread, index);
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&thread->hierarchy->data_pages, translation);
	simple_load_met(thread->hierarchy, address, line, number, thread->clock, result);
	missed_count_read(thread, number, result, false);
	core_load_missed(thread, index, result);
}

/* Its page had to be translated, and its line was in level 2. */
static SLOW void
load_translated_second(struct thread *thread, unsigned index, enum hierarchy_translation translation)
{
	const uint32_t number = access_number(thread, index);

	missed_count_translation(thread, number, translation == TRANSLATION_WALKED, false);
	missed_count_second(thread, number);
	core_load_simply(thread, index, thread->second_cycles,
	                 simple_translation_cycles(thread->hierarchy, translation));
}

/* Its line was in level 2, and its page a plain hit; what left level 1 is not there yet where it goes. */
static SLOW void
load_second_leaving(struct thread *thread, unsigned index, uint64_t address, uint64_t line, uint64_t left)
{
	simple_leave(thread->hierarchy, left, thread->clock);
	load_second_told(thread, index, address, line);
}

/* The same, and its line is to be brought. */
static inline __attribute__((always_inline)) void
load_second_by(struct thread *thread, unsigned index, uint64_t address, uint64_t line, const unsigned slots)
{
	const uint64_t left = simple_bring(&thread->hierarchy->data, address, line, slots);

	if (__builtin_expect(left != CACHE_NO_LINE, 0))
		load_second_leaving(thread, index, address, line, left);
	else if (thread->ways.load_told)
		thread->ways.load_told(thread, index, address, line);
	else
		load_second(thread, index);
}

static SLOW void
load_second_of_four(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_second_by(thread, index, address, line, 4);
}

static SLOW void
load_second_of_eight(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_second_by(thread, index, address, line, 8);
}

/* The same, and its page had to be translated. */
static SLOW void
load_second_behind(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                   enum hierarchy_translation translation)
{
	simple_load_second(thread->hierarchy, address, line, access_number(thread, index), thread->clock);
	load_translated_second(thread, index, translation);
}

/* Its line is no plain hit. Who calls nothing, and does a part of it, saves nothing: it goes on elsewhere. */
static inline __attribute__((always_inline)) void
load_simply(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
            const enum hierarchy_translation translation, const unsigned slots)
{
	const enum simple_found found = simple_load_look(thread->hierarchy, line, slots);

	if (found == SIMPLE_NOT)
		load_anyhow(thread, index, address, translation);
	else if (found == SIMPLE_BEYOND)
		load_beyond(thread, index, address, line, translation);
	else if (found == SIMPLE_MET)
		load_met(thread, index, address, line, translation);
	else if (translation != TRANSLATION_FIRST)
		load_second_behind(thread, index, address, line, translation);
	else if (slots == 4)
		load_second_of_four(thread, index, address, line);
	else
		load_second_of_eight(thread, index, address, line);
}

/* Its page was translated, and its line is no plain hit. */
static SLOW void
load_line_of_four(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                  enum hierarchy_translation translation)
{
	load_simply(thread, index, address, line, translation, 4);
}

static SLOW void
load_line_of_eight(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                   enum hierarchy_translation translation)
{
	load_simply(thread, index, address, line, translation, 8);
}

/* The same of a page that is a plain hit: by itself, so that who goes to another page has nothing to save for it. */
static SLOW void
load_first_of_four(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_simply(thread, index, address, line, TRANSLATION_FIRST, 4);
}

static SLOW void
load_first_of_eight(struct thread *thread, unsigned index, uint64_t address, uint64_t line)
{
	load_simply(thread, index, address, line, TRANSLATION_FIRST, 8);
}

static inline __attribute__((always_inline)) void
load_of(struct thread *thread, unsigned index, uint64_t address, const unsigned slots)
{
	uint64_t line;

	if (!simple_use_page(thread->hierarchy, address, &line))
		thread->ways.load_page(thread, index, address);
	else if (slots == 4)
		load_first_of_four(thread, index, address, line);
	else
		load_first_of_eight(thread, index, address, line);
}

static void
load_of_four(struct thread *thread, unsigned index, uint64_t address)
{
	load_of(thread, index, address, 4);
}

static void
load_of_eight(struct thread *thread, unsigned index, uint64_t address)
{
	load_of(thread, index, address, 8);
}

/* As its callback was given it: of one line, or of two. */
static inline __attribute__((always_inline)) void
load_given(struct thread *thread, uint64_t address, const void *data, const unsigned slots)
{
	const struct access *access = callback_access(data);
	const uint64_t last = address + (unsigned)callback_last(data);

	if (access_is_left(thread, access))
		return;
	if (__builtin_expect((address ^ last) >> HIERARCHY_LINE_SHIFT == 0, 1))
		load_of(thread, access->index, address, slots);
	else
		slow_access(thread, access, address, (unsigned)callback_last(data) + 1, false);
}

static void
load_given_of_four(struct thread *thread, const void *data, uint64_t address)
{
	load_given(thread, address, data, 4);
}

static void
load_given_of_eight(struct thread *thread, const void *data, uint64_t address)
{
	load_given(thread, address, data, 8);
}

static void
load_given_anyhow(struct thread *thread, const void *data, uint64_t address)
{
	slow_access(thread, callback_access(data), address, (unsigned)callback_last(data) + 1, false);
}

void
load_choose_ways(struct access_ways *ways, const struct hierarchy *hierarchy)
{
	ways->load = load_given_anyhow;
	ways->load_line = load_any;
	load_told_choose_way(ways, hierarchy);
	load_page_choose_ways(ways, hierarchy);
	ways->load_translated = hierarchy->simple_slots == 4 ? load_line_of_four : load_line_of_eight;
	if (hierarchy->simple_slots == 4) {
		ways->load = load_given_of_four;
		ways->load_line = load_of_four;
	} else if (hierarchy->simple_slots == 8) {
		ways->load = load_given_of_eight;
		ways->load_line = load_of_eight;
	}
}
