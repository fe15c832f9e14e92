/*
 * load_kind.h - the steps of a simple load, and what is constant in them
 *
 * Each step calls nothing but the next one, last of all, so that none has much to save; what is rare goes on by itself,
 * whatever the kind is.
 *
 * Inner header of load*.c. Thread rule: of the thread.
 */
#ifndef DCPI_EMULATOR_TIMING_LOAD_KIND_H
#define DCPI_EMULATOR_TIMING_LOAD_KIND_H

#include "emulator/model/simple.h"
#include "emulator/timing/in_order.h"
#include "emulator/timing/load.h"

#define LOAD_INLINE static inline __attribute__((always_inline))

/* A page that is a plain hit, or was translated; a line that is none. */
typedef void load_step(struct thread *thread, unsigned index, uint64_t address, uint64_t line);
typedef void load_translated_step(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                                  enum hierarchy_translation translation);

/* `there`, `page`: plain_line(), plain_page(). */
typedef void load_page_step(struct thread *thread, unsigned index, uint64_t address, struct plain_place *there,
                            struct plain_place *page);

/* What is behind level 2, for lines that it has not. */
enum load_behind {
	LOAD_BEHIND_ANY,    /* whatever it is, of any core */
	LOAD_BEHIND_THIRD,  /* level 3, with the usual prefetchers (load_third.h) */
	LOAD_BEHIND_MEMORY, /* memory, by the machine's one controller; in order, and nobody prefetches */
};

struct load_kind {
	unsigned slots; /* of a set of level 1 */
	enum load_behind behind;
	load_step *second;                   /* level 2 had the line, */
	load_translated_step *second_behind; /* and the page was translated */
	load_translated_step *unsure;        /* level 1 has the line, perhaps */
	load_page_step *page_anyhow;         /* the page must be translated, whatever the TLBs are */
	load_page_step *of;                  /* that, or the page is a plain hit: all of it */
};

#define LOAD_THIRD_SLOTS 8

/* DEFINE(name, slots, behind) of each. */
#define LOAD_KINDS(DEFINE)                                                                                             \
	DEFINE(of_four, 4, LOAD_BEHIND_ANY)                                                                            \
	DEFINE(of_eight, 8, LOAD_BEHIND_ANY)                                                                           \
	DEFINE(third_of_eight, LOAD_THIRD_SLOTS, LOAD_BEHIND_THIRD)                                                    \
	DEFINE(memory_of_four, 4, LOAD_BEHIND_MEMORY)                                                                  \
	DEFINE(memory_of_eight, 8, LOAD_BEHIND_MEMORY)

#define LOAD_KIND(name, slots, behind)                                                                                 \
	((struct load_kind){slots, behind, load_second_##name, load_second_behind_##name, load_unsure_##name,          \
	                    load_page_##name, load_of_##name})

#define LOAD_DECLARE_STEPS(name, slots, behind)                                                                        \
	load_step load_second_##name;                                                                                  \
	load_translated_step load_second_behind_##name, load_unsure_##name;                                            \
	load_page_step load_page_##name, load_of_##name;                                                               \
	void load_choose_page_##name(struct thread *thread);
LOAD_KINDS(LOAD_DECLARE_STEPS)

/* Of any kind: level 2 had the line, which somebody prefetched. */
load_translated_step load_met;

/* Of any kind: its page had to be translated, and level 1 had its line. */
void load_behind_page(struct thread *thread, unsigned index, enum hierarchy_translation translation);

/* Level 2 had not the line: whatever is behind it. */
load_translated_step load_beyond;

/* The same in order, of memory; by translation. `set`: the line's of level 2. */
typedef void load_set_step(struct thread *thread, unsigned index, uint64_t address, uint64_t line,
                           struct cache_small *set);
load_set_step load_memory_of_four_first, load_memory_of_four_second, load_memory_of_four_walked;
load_set_step load_memory_of_eight_first, load_memory_of_eight_second, load_memory_of_eight_walked;

/* Of the thread's ways, the one that prefetchers are told. */
void load_told_choose_way(struct thread *thread);

#endif
