/*
 * recent.h - a cache of attributed samples, with counts of how often they came again
 *
 * A loop is sampled at a few instructions again and again. So there is a small direct-mapped table in front of
 * attribution and tally, as DCPI's driver had one in its interrupt handler (TOCS 15(4), 4.2). Its owner looks a sample
 * up here first. On a miss it attributes the sample, adds it to the tally, and replaces the slot's content. A key that
 * is here is in the tally, so adding to it later never fails for lack of room.
 * Records about a process change what its samples mean (recent_invalidate()). Anything else that changes it must happen
 * while the table is empty: after recent_flush(), at the end of a drain.
 * Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_RECENT_H
#define DCPI_COLLECTORD_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/record.h"
#include "tally/tally.h"

#define RECENT_SLOTS 1024u /* 64 KiB: fits into an L2 cache */
#define RECENT_PIDS  256u

struct recent_slot {
	uint64_t address, cgroup;
	uint32_t pid; /* 0: the slot is free */
	uint32_t changes;
	uint32_t mode;
	uint32_t count; /* not yet added to the tally */
	struct sample_key key;
};

struct recent {
	struct recent_slot slots[RECENT_SLOTS];
	uint32_t changes[RECENT_PIDS]; /* records about processes whose ids end alike */
};

/* The slot of the sample, whether it has it or another one. */
static inline struct recent_slot *
recent_slot(struct recent *recent, const struct record *sample, uint16_t event)
{
	const uint64_t mixed = (sample->sample.address ^ (uint64_t)sample->pid << 20 ^ (uint64_t)event << 8) *
	                       UINT64_C(0x9e3779b97f4a7c15);

	return &recent->slots[mixed >> 54];
}

/* Is `sample` the one that `slot` has, and has no record changed what it means? */
static inline bool
recent_matches(const struct recent *recent, const struct recent_slot *slot, const struct record *sample, uint16_t event)
{
	return slot->address == sample->sample.address && slot->pid == sample->pid && slot->key.event == event &&
	       slot->mode == sample->mode && slot->cgroup == sample->sample.cgroup &&
	       slot->changes == recent->changes[sample->pid % RECENT_PIDS] && slot->pid != 0;
}

/* Take the place of what is there, which goes to the tally: `key` has just been added to that for this sample. */
static inline void
recent_put(const struct recent *recent, struct recent_slot *slot, const struct record *sample,
           const struct sample_key *key, struct tally *tally)
{
	if (slot->count)
		(void)tally_add(tally, &slot->key, slot->count); /* it has the key */
	*slot = (struct recent_slot){
		.address = sample->sample.address,
		.cgroup = sample->sample.cgroup,
		.pid = sample->pid,
		.changes = recent->changes[sample->pid % RECENT_PIDS],
		.mode = sample->mode,
		.key = *key,
	};
}

/* A record about this process was applied. */
static inline void
recent_invalidate(struct recent *recent, uint32_t pid)
{
	recent->changes[pid % RECENT_PIDS]++;
}

/* Add what is left to the tally, and empty all slots. */
static inline void
recent_flush(struct recent *recent, struct tally *tally)
{
	for (uint32_t i = 0; i < RECENT_SLOTS; i++) {
		struct recent_slot *slot = &recent->slots[i];

		if (slot->count)
			(void)tally_add(tally, &slot->key, slot->count);
		slot->count = 0;
		slot->pid = 0;
	}
}

#endif
