/*
 * tally.h - counts that have not been written to the database yet
 *
 * One tally belongs to one thread at a time. It grows to its limit and then returns -ENOSPC, so that its owner flushes;
 * it never drops a count. Killing the process loses what is in it.
 */
#ifndef DCPI_TALLY_TALLY_H
#define DCPI_TALLY_TALLY_H

#include <stddef.h>
#include <stdint.h>

struct tally;

struct sample_key {
	uint64_t offset;  /* as process/image_table.h defines it for the image's kind */
	uint32_t image;   /* number in the session's image table */
	uint32_t context; /* number in the session's context table */
	uint16_t event;   /* index into the epoch's events */
};

struct tally_entry {
	uint64_t offset;
	uint64_t count; /* samples; never 0 in use */
	uint32_t image;
	uint32_t context;
	uint16_t event;
};

/* Make an empty tally that holds at most `limit` distinct keys (at least 1); NULL and errno (ENOMEM, EINVAL). */
struct tally *tally_new(size_t limit);
void tally_free(struct tally *tally); /* NULL is allowed */

/* Add `count` samples to `key`. 0; -ENOSPC when a new key does not fit, -ENOMEM when the table cannot grow: flush. */
int tally_add(struct tally *tally, const struct sample_key *key, uint64_t count);

/*
 * Add `count` samples to `key`, and `sum` to this key with event `sum_event`: both or neither. Errors of tally_add();
 * -ENOSPC also when two new keys would not fit, even if fewer are needed.
 */
int tally_add_with_sum(struct tally *tally, const struct sample_key *key, uint64_t count, uint16_t sum_event,
                       uint64_t sum);

size_t tally_size(struct tally *tally);         /* distinct keys */
size_t tally_limit(const struct tally *tally);  /* distinct keys at most */
size_t tally_memory(const struct tally *tally); /* bytes allocated */

/*
 * Sort the entries by event, image, context and offset - the order of the database's keys - and return them; the array
 * belongs to the tally and is valid until tally_clear() or tally_free(). After tally_sort() only these two functions
 * may be called.
 */
const struct tally_entry *tally_sort(struct tally *tally, size_t *count);

/*
 * Sort `count` entries, whose keys are distinct, as tally_sort() does: in place and without memory of its own, so that
 * a flush under memory pressure still works. Thread rule: stateless.
 */
void tally_entries_sort(struct tally_entry *entries, size_t count);

/* Empty the tally and keep its memory; only half of it when a sixteenth of the slots would have been enough. */
void tally_clear(struct tally *tally);

#endif
