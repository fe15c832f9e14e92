#include "emulator/timing/load.h"

#include "emulator/model/prefetch_usual.h"
#include "emulator/timing/callback_data.h"
#include "emulator/timing/load_look.h"
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
static void
load_any(struct thread *thread, unsigned index, uint64_t address)
{
	struct access_result result;

	hierarchy_load(thread->hierarchy, address, access_number(thread, index), thread_clock(thread), &result);
	load_missed(thread, index, &result);
}

SLOW void
load_beyond(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
            enum hierarchy_translation translation)
{
	const uint32_t number = access_number(thread, index);
	struct access_result *result = &thread->beyond;

	*result = hierarchy_result_of(&thread->hierarchy->data_pages, translation);
	simple_load_beyond(thread->hierarchy, address, line, number, thread_clock(thread), result);
	missed_count_beyond(thread, number, result, thread->hierarchy->level_count);
	core_load_missed(thread, index, result);
}

LOAD_INLINE void
load_unsure(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
            enum hierarchy_translation translation, const struct load_kind kind)
{
	if (!simple_use_hidden(&thread->hierarchy->data, address, line, kind.slots))
		load_from_second(thread, index, address, line, translation, kind, NULL);
	else if (translation != TRANSLATION_FIRST)
		load_behind_page(thread, index, translation);
}

/* Its page is no plain hit, or its line is none. */
LOAD_INLINE void
load_of(struct thread *thread, unsigned index, uint64_t address, struct plain_place *there, struct plain_place *page,
        const struct load_kind kind)
{
	if (simple_use_page(thread->hierarchy, page, address))
		load_look(thread, index, address, simple_line(address, plain_page_of(page)->offset), TRANSLATION_FIRST,
		          there, kind, NULL);
	else
		thread->ways.load_page(thread, index, address, there, page);
}

LOAD_INLINE bool
load_is_of_one_line(uint64_t address, const void *data)
{
	return __builtin_expect((address ^ callback_last_byte(address, data)) < 1u << HIERARCHY_LINE_SHIFT, 1);
}

/* As its callback was given it: of one line, or of two. */
LOAD_INLINE void
load_given(struct thread *thread, struct plain_place *there, uint64_t address, const void *data,
           struct plain_place *page, const struct load_kind kind)
{
	const struct access *access = callback_access(data);

	if (access_is_left(thread, access))
		return;
	if (load_is_of_one_line(address, data))
		load_of(thread, access->index, address, there, page, kind);
	else
		slow_access(thread, access, address, (unsigned)callback_last(data) + 1, false);
}

static SLOW void
load_update_anyhow(struct thread *thread, struct plain_place *there, uint64_t address, const void *data,
                   struct plain_place *page)
{
	thread->ways.load(thread, there, address, data, page);
	thread->ways.store(thread, (unsigned)callback_last(data) + 1, address, data);
}

/* The same with a store behind it, by which what was loaded is written. */
LOAD_INLINE void
load_update(struct thread *thread, struct plain_place *there, uint64_t address, const void *data,
            struct plain_place *page, const struct load_kind kind)
{
	const struct access *access = callback_access(data);
	struct plain_hits *plain = thread->data_plain;

	if (access_is_left(thread, access))
		return;
	if (load_is_of_one_line(address, data)) {
		kind.of(thread, access->index, address, there, page);
		plain_line(plain, address >> HIERARCHY_LINE_SHIFT)->key |= PLAIN_WRITTEN;
	} else {
		load_update_anyhow(thread, there, address, data, page);
	}
}

static void
load_given_anyhow(struct thread *thread, struct plain_place *there, uint64_t address, const void *data,
                  struct plain_place *page)
{
	(void)there;
	(void)page;
	slow_access(thread, callback_access(data), address, (unsigned)callback_last(data) + 1, false);
}

#define LOAD_DEFINE(name, slots, behind)                                                                               \
	SLOW void load_unsure_##name(struct thread *thread, unsigned index, uint64_t address, uint64_t line,           \
	                             enum hierarchy_translation translation)                                           \
	{                                                                                                              \
		load_unsure(thread, index, address, line, translation, LOAD_KIND(name, slots, behind));                \
	}                                                                                                              \
	SLOW void load_of_##name(struct thread *thread, unsigned index, uint64_t address, struct plain_place *there,   \
	                         struct plain_place *page)                                                             \
	{                                                                                                              \
		load_of(thread, index, address, there, page, LOAD_KIND(name, slots, behind));                          \
	}                                                                                                              \
	static void load_line_##name(struct thread *thread, unsigned index, uint64_t address)                          \
	{                                                                                                              \
		struct plain_hits *plain = thread->data_plain;                                                         \
                                                                                                                       \
		load_of_##name(thread, index, address, plain_line(plain, address >> HIERARCHY_LINE_SHIFT),             \
		               plain_page(plain, address >> HIERARCHY_PAGE_SHIFT));                                    \
	}                                                                                                              \
	static void load_given_##name(struct thread *thread, struct plain_place *there, uint64_t address,              \
	                              const void *data, struct plain_place *page)                                      \
	{                                                                                                              \
		load_given(thread, there, address, data, page, LOAD_KIND(name, slots, behind));                        \
	}                                                                                                              \
	static void load_update_##name(struct thread *thread, struct plain_place *there, uint64_t address,             \
	                               const void *data, struct plain_place *page)                                     \
	{                                                                                                              \
		load_update(thread, there, address, data, page, LOAD_KIND(name, slots, behind));                       \
	}

LOAD_KINDS(LOAD_DEFINE)

static enum load_behind
load_behind_of(const struct thread *thread)
{
	const struct hierarchy *hierarchy = thread->hierarchy;
	const struct machine *machine = &hierarchy->system->machine;

	if (hierarchy->level_count > 2 && hierarchy->simple_slots == LOAD_THIRD_SLOTS && prefetch_is_usual(hierarchy))
		return LOAD_BEHIND_THIRD;
	if (hierarchy->level_count == 2 && machine->nodes * machine->controllers == 1 && !hierarchy->prefetch &&
	    thread->core == &core_in_order)
		return LOAD_BEHIND_MEMORY;
	return LOAD_BEHIND_ANY;
}

#define LOAD_CHOOSE(name, kind_slots, kind_behind)                                                                     \
	if (hierarchy->simple_slots == (kind_slots) && behind == (kind_behind)) {                                      \
		ways->load = load_given_##name;                                                                        \
		ways->update = load_update_##name;                                                                     \
		ways->load_line = load_line_##name;                                                                    \
		load_choose_page_##name(thread);                                                                       \
	}

void
load_choose_ways(struct thread *thread)
{
	const struct hierarchy *hierarchy = thread->hierarchy;
	const enum load_behind behind = load_behind_of(thread);
	struct access_ways *ways = &thread->ways;

	ways->load = load_given_anyhow;
	ways->update = load_update_anyhow;
	ways->load_line = load_any;
	LOAD_KINDS(LOAD_CHOOSE)
	load_told_choose_way(thread);
}
