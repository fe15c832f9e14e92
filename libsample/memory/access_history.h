/*
 * access_history.h - from beginnings and ends of objects, and sampled accesses, to a memory profile
 *
 * Each source is in the order of its time; sources differ. So all is held until access_history_advance() says that
 * nothing earlier will come, and then applied in the order of time: an access belongs to the object that was at its
 * address at its time. Objects without a sampled access leave nothing behind. What comes late is applied when it
 * comes, and counted; an end that comes when another object is there is left out.
 *
 * Times are in the clock of the sources until the end; access_history_finish() makes nanoseconds of them.
 *
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_MEMORY_ACCESS_HISTORY_H
#define DCPI_MEMORY_ACCESS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/memory_profile.h"
#include "memory/object_log.h"

struct access_history;

/* An access, as sources have it. */
struct access_sample {
	uint64_t time, address;
	uint32_t tid;
	uint32_t place; /* any number of the caller's, who replaces it in the profile at the end */
	uint32_t cycles, cost, weight;
	uint8_t node, page_node, level, flags;
};

/* What is at an address where no object was logged. */
struct memory_region {
	uint64_t address, size; /* size 0: nothing is known */
	enum memory_kind kind;
	uint32_t name; /* text of the profile */
	bool is_ours;  /* of what observes the program: accesses to it are left out */
};

/* Say what is at `address`. Called once for each region, until other memory takes its place. */
typedef void access_history_find(void *context, uint32_t process, uint64_t address, struct memory_region *region);

/* `access_max`: accesses that are kept at most; when there are more, they are thinned. NULL: no memory. */
struct access_history *access_history_new(struct memory_profile *profile, size_t access_max, access_history_find *find,
                                          void *context);
void access_history_free(struct access_history *history); /* the profile stays */

/*
 * A process begins, at `time`. `parent`: a process whose objects it has at that time, or MEMORY_NOTHING. `name` is a
 * text. Its number, which is also the profile's; MEMORY_NOTHING: no memory.
 */
uint32_t access_history_add_process(struct access_history *history, uint32_t pid, uint32_t number, uint32_t name,
                                    uint32_t parent, uint64_t time);

/* 0 or -ENOMEM. `event->site` is a number of the caller's, who replaces it in the profile's objects at the end. */
int access_history_event(struct access_history *history, uint32_t process, uint32_t tid,
                         const struct object_log_event *event);
int access_history_access(struct access_history *history, uint32_t process, const struct access_sample *sample);

/* Apply what is not later than `horizon`. 0 or -ENOMEM. */
int access_history_advance(struct access_history *history, uint64_t horizon);

/* How many accesses one that is kept stands for, at least: a source may sample as rarely. */
uint32_t access_history_weight(const struct access_history *history);

/* The latest time of all that came. */
uint64_t access_history_latest(const struct access_history *history);

/* Apply the rest; times become ns, from `start` on, `khz` ticks a millisecond. 0 or -ENOMEM. */
int access_history_finish(struct access_history *history, uint64_t start, uint64_t khz);

#endif
