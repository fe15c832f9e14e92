/*
 * shared_bytes.h - which bytes of an object threads wait for, as other cores have their line: truly or falsely shared
 *
 * A line is shared falsely if it goes from thread to thread again and again, and the bytes that a thread asked for were
 * written by no other one: cores take the line from each other for data that they do not share. Bytes of a line that a
 * thread asks for together with truly shared ones are not: it would wait for those wherever the bytes were.
 *
 * Thread rule: any number of threads may read one profile.
 */
#ifndef DCPI_MEMORY_SHARED_BYTES_H
#define DCPI_MEMORY_SHARED_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/memory_profile.h"

/* The accesses to one byte of an object. */
struct shared_byte {
	uint64_t offset;           /* in the object */
	uint32_t readers, writers; /* threads: 0, 1, or 2 for "several" */
	uint32_t thread;           /* the only writer, else the only reader */
	uint64_t cycles;           /* of accesses that waited for a line of another core */
	bool is_false;             /* they waited for a line that is shared falsely */
};

/*
 * The bytes of one object that were accessed, ascending, of which those that nobody waited for have 0 cycles. `numbers`
 * are accesses of the profile, all of the object. *bytes is the caller's to free. 0 or -ENOMEM.
 */
int shared_bytes_list(const struct memory_profile *profile, const uint32_t *numbers, size_t access_count,
                      struct shared_byte **bytes, size_t *count);

#endif
