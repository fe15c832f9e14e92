/*
 * coherence.h - lines of several cores' caches know each other: MESI, by a directory (line_directory.h)
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
#include "emulator/model/line_directory.h"
#include "machine/machine.h"

struct cache;
struct coherence;
struct l1;

/* The caches of a core that a thread runs on; several of them may be of one core, whose threads take turns. */
struct coherent_core {
	struct coherence *coherence;
	bool is_on; /* there is a directory: here, because each miss asks */
	unsigned core, node;
	struct l1 *data;
	struct cache *levels[MACHINE_LEVELS_MAX]; /* but for the first; some it has alone */
	unsigned number;                          /* as an owner of lines; 0: there are too many */
	struct coherent_core *next_in_group;
	uint64_t with_all_levels, with_any_level; /* groups that have its shared levels, too: all of them, or some */
};

/* The cores of one bit of the directory. */
struct coherence_group {
	_Alignas(64) uint32_t lock; /* of level 1 and of the levels that each of them has alone */
	struct coherent_core *first;
};

/* What the cores of the target share for this. Constant when there are two threads, but for what is locked. */
struct coherence {
	struct line_directory *directory; /* NULL: there is one thread */
	const struct machine *machine;
	struct cache **shared; /* of each level that cores share, one for each group of them; NULL: none was made yet */
	struct coherence_group *groups;
	unsigned cores_in_group;
	uint64_t quantum_cycles;
	struct contention *contention; /* with the directory; NULL: there is no memory for it */
	struct coherent_core **owners; /* by number, from 1 on; NULL: it is gone */
	uint32_t transfer_cycles;      /* what a line of another core of this node takes, beyond level 1 */
	uint32_t far_transfer_cycles;  /* of another node */
};

/* What caches of other cores had of a line, before an access. */
struct copies {
	bool any, dirty;
	bool far; /* one of them, or if there was a dirty one that, was another node's */
};

/*
 * 0 or -ENOMEM; coherence_fini() also after that. `machine` and `shared` stay the caller's. `memory_cycles`: the
 * latency of memory, from which that of transfers follows if the machine does not say it.
 */
int coherence_init(struct coherence *coherence, const struct machine *machine, struct cache **shared,
                   uint32_t memory_cycles, uint64_t quantum_cycles);
void coherence_fini(struct coherence *coherence);

/* Before the second thread: the lines that are in caches are entered. Without memory, caches do not know each other. */
void coherence_begin(struct coherence *coherence);

/* A core's caches are made, or freed; one call at a time. */
void coherence_join(struct coherent_core *core);
void coherence_leave(struct coherent_core *core);

/* Lock what other cores may change of this one: its level 1, and the levels that it has alone. */
void coherence_lock(struct coherent_core *core);
void coherence_unlock(struct coherent_core *core);

/*
 * The core gets a copy of the line to read, or the only one, to write; `entry`: what the directory has of it, under its
 * lock. Returns what others had.
 */
struct copies coherence_read(struct coherent_core *core, uint64_t line, uint64_t *entry);
struct copies coherence_write(struct coherent_core *core, uint64_t line, uint64_t *entry);

/* The line is handled by contention.h from now on: no other core has it, and nobody owns it. */
void coherence_give_up(struct coherent_core *core, uint64_t line, uint64_t *entry);

/* A core gets a copy of such a line. */
void coherence_join_contention(const struct coherent_core *core, uint64_t *entry);

/* Whether the line may be prefetched: no other core may have written it. It is then entered as one that is read. */
bool coherence_prefetch(struct coherent_core *core, uint64_t *entry);

#endif
