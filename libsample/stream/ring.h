/*
 * ring.h - one perf ring buffer, read in place
 *
 * The descriptor from which the ring was made must outlive it. Records stay in the ring until they are consumed, so the
 * kernel cannot overwrite a record that was not read; it counts records that it could not write as lost.
 * Thread rule: one reader.
 */
#ifndef DCPI_STREAM_RING_H
#define DCPI_STREAM_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

struct ring;

/*
 * Map the ring of perf descriptor `fd` with `pages` data pages (a power of two). NULL and errno: EINVAL, ENOMEM,
 * EPERM (more locked memory than RLIMIT_MEMLOCK and perf_event_mlock_kb allow).
 */
struct ring *ring_new(int fd, size_t pages);

/* A ring in memory that is laid out like the kernel's (a header page, then `pages` pages): for tests and benchmarks. */
struct ring *ring_over(void *memory, size_t pages);
void ring_free(struct ring *ring); /* NULL is allowed */

/*
 * Decode the first record that has not been consumed. Returns 1 with *record filled (its strings are valid until it is
 * consumed), 0 when the ring is empty. A damaged record is skipped and counted.
 */
int ring_peek(struct ring *ring, const struct record_layout *layout, struct record *record);

void ring_consume(struct ring *ring); /* the record that ring_peek() gave */
void ring_publish(struct ring *ring); /* free consumed records for the kernel; cheap; once a round is enough */

size_t ring_used(const struct ring *ring); /* bytes that wait */
size_t ring_size(const struct ring *ring); /* bytes it holds */

/* How many samples of the counter `id` wait in the ring. Samples must begin with their id (PERF_SAMPLE_IDENTIFIER). */
size_t ring_count(const struct ring *ring, uint64_t id);

/* What tells one file from another, of those that live at one time (struct record_mmap). */
struct ring_file {
	uint64_t device; /* major and minor, as the record has them */
	uint64_t inode;  /* 0: the mapping shows no file */
	uint64_t inode_generation;
};

/*
 * The file of the next mapping in the ring, of those that neither were consumed nor returned by this function before;
 * nothing is consumed. False: there is none.
 */
bool ring_next_file(struct ring *ring, struct ring_file *file);

uint64_t ring_take_skipped(struct ring *ring); /* damaged records since the last call */

/* ---- the auxiliary area beside a ring, into which hardware writes; RECORD_AUX says what is new there ---- */

/*
 * Map an area of `pages` (a power of two) for `fd`, from which the ring was made. 0; -EOPNOTSUPP: the event has none;
 * -EPERM and -ENOMEM as ring_new(); or another -errno.
 */
int ring_map_aux(struct ring *ring, int fd, size_t pages);

/* An area in memory, of `size` bytes (a power of two): for tests. */
void ring_over_aux(struct ring *ring, void *memory, size_t size);

size_t ring_aux_size(const struct ring *ring); /* 0: there is none */

/* Copy the `size` bytes at `offset` (since the area was made), at most ring_aux_size(). */
void ring_copy_aux(const struct ring *ring, uint64_t offset, size_t size, void *bytes);

void ring_publish_aux(struct ring *ring, uint64_t end); /* free what is before `end` for the hardware */

#endif
