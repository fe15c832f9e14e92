/*
 * coherence.h - lines of several cores' caches know each other: MESI, by a directory (directory.h)
 *
 * A load makes a copy of the line that other cores have, too; if one of them has written it, it gives the line, and its
 * own copy becomes clean. A store needs the only copy: those of other cores are removed. A core that has the only copy
 * is its owner, and may write it without asking; others find out by looking into its caches. In the hit filter of a
 * core (hit_filter.h), FILTER_WRITTEN says that it owns the line and has written it. So the first store to a line
 * always comes here.
 *
 * Also the outer levels that a group of cores shares, such as the last level of a node, are caches here: copies in
 * those of other groups become clean, or are removed. Code is not tracked: nobody waits for a copy of an instruction.
 *
 * All this exists as soon as there are two threads; until then nothing of it costs anything.
 *
 * Thread rule: an access locks the directory's entry of its line, then one group of cores at a time, then sets of
 * caches. So whoever waits for one of these holds none that comes later.
 */
#ifndef DCPI_EMULATOR_MODEL_COHERENCE_H
#define DCPI_EMULATOR_MODEL_COHERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/model/contention.h"
#include "emulator/model/directory.h"

struct hierarchy;
struct memory_system;

/* The cores of one bit of the directory. */
struct coherence_group {
	_Alignas(64) uint32_t lock; /* of level 1 and of the levels that each of them has alone */
	struct hierarchy *first;    /* next: next_in_group; under the lock */
};

struct coherence {
	struct directory *directory; /* NULL: there is one thread */
	struct coherence_group *groups;
	unsigned cores_in_group;
	struct contention *contention; /* with the directory; NULL: there is no memory for it */
	struct hierarchy **owners;     /* by number, from 1 on; NULL: it is gone */
	uint32_t transfer_cycles;      /* what a line of another core of this node takes, beyond level 1 */
	uint32_t far_transfer_cycles;  /* of another node */
};

/* What caches of other cores had of a line, before an access. */
struct copies {
	bool any, dirty;
	bool far; /* one of them, or if there was a dirty one that, was another node's */
};

/* 0 or -ENOMEM; coherence_fini() also after that. */
int coherence_init(struct memory_system *system);
void coherence_fini(struct memory_system *system);

/* Before the second thread: the lines that are in caches are entered. Without memory, caches do not know each other. */
void coherence_begin(struct memory_system *system);

/* A hierarchy is made or freed, under the system's lock. */
void coherence_join(struct hierarchy *hierarchy);
void coherence_leave(struct hierarchy *hierarchy);

/* Lock what other cores may change of this hierarchy: its level 1, and the levels that are its own. */
void coherence_lock(struct hierarchy *hierarchy);
void coherence_unlock(struct hierarchy *hierarchy);

/*
 * The hierarchy gets a copy of the line to read, or the only one, to write; `entry`: what the directory has of it,
 * under its lock. Returns what others had.
 */
struct copies coherence_read(struct hierarchy *hierarchy, uint64_t line, uint64_t *entry);
struct copies coherence_write(struct hierarchy *hierarchy, uint64_t line, uint64_t *entry);

/* The line is handled by contention.h from now on: no other core has it, and nobody owns it. */
void coherence_give_up(struct hierarchy *hierarchy, uint64_t line, uint64_t *entry);

/* A core gets a copy of such a line. */
void coherence_join_contention(const struct hierarchy *hierarchy, uint64_t *entry);

/* Whether the line may be prefetched: no other core may have written it. It is then entered as one that is read. */
bool coherence_prefetch(struct hierarchy *hierarchy, uint64_t *entry);

#endif
