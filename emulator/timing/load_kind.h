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

struct load_kind {
	unsigned slots;                      /* of a set of level 1 */
	bool is_in_order;                    /* the core is, and nobody prefetches */
	load_step *second;                   /* level 2 had the line, */
	load_translated_step *second_behind; /* and the page was translated */
	load_translated_step *unsure;        /* level 1 has the line, perhaps */
	load_page_step *page_anyhow;         /* the page must be translated, whatever the TLBs are */
};

/* DEFINE(name, slots, is_in_order) of each. */
#define LOAD_KINDS(DEFINE)                                                                                             \
	DEFINE(of_four, 4, false)                                                                                      \
	DEFINE(of_eight, 8, false)                                                                                     \
	DEFINE(in_order_of_four, 4, true)                                                                              \
	DEFINE(in_order_of_eight, 8, true)

#define LOAD_KIND(name, slots, is_in_order)                                                                            \
	((struct load_kind){slots, is_in_order, load_second_##name, load_second_behind_##name, load_unsure_##name,     \
	                    load_page_##name})

#define LOAD_DECLARE_STEPS(name, slots, is_in_order)                                                                   \
	load_step load_second_##name;                                                                                  \
	load_translated_step load_second_behind_##name, load_unsure_##name;                                            \
	load_page_step load_page_##name;                                                                               \
	void load_choose_page_##name(struct thread *thread);
LOAD_KINDS(LOAD_DECLARE_STEPS)

/* Of any kind: level 2 had the line, which somebody prefetched. */
load_translated_step load_met;

/* Level 2 had not the line: whatever is behind it. */
load_translated_step load_beyond;

/* The same of level 3 and what is behind it, with the usual prefetchers; and when that had served it. */
load_translated_step load_third_of_four, load_third_of_eight, load_third_usual;

/* Of the thread's ways, the one that prefetchers are told; those of what level 2 had not, in order. */
void load_told_choose_way(struct thread *thread);
void load_beyond_choose_ways(struct thread *thread);

#endif
