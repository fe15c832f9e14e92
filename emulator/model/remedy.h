/*
 * remedy.h - what would be if objects of the program were placed or laid out otherwise
 *
 * dcpimem --try runs a program again, and the tracker in it (tracker/) names the objects that it makes which have a
 * remedy. The program and its addresses stay as they are: the model serves accesses to such an object as if the remedy
 * had been applied.
 *
 * Thread rule: any thread, under a lock of their own.
 */
#ifndef DCPI_EMULATOR_MODEL_REMEDY_H
#define DCPI_EMULATOR_MODEL_REMEDY_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/object_log.h"

struct remedies;

/* For machines of so many nodes, with pages and lines of 1 << shift bytes. NULL: no memory. */
struct remedies *remedies_new(unsigned nodes, unsigned page_shift, unsigned line_shift);
void remedies_free(struct remedies *remedies); /* NULL is allowed */

/*
 * From now on the `size` bytes at `address` have the remedy `kind`; OBJECT_REMEDY_NONE: what is there as a
 * whole, or begins there if size is 0, has none. False: there is no room for it, 65,536 have one, and it is left as it
 * is.
 */
bool remedies_set(struct remedies *remedies, uint64_t address, uint64_t size, enum object_remedy kind);

/*
 * Where the byte at `address` is: itself, or, in an object whose threads are to have lines of their own, where it would
 * be if each word had a line.
 */
uint64_t remedies_address(struct remedies *remedies, uint64_t address);

/*
 * The node whose memory serves an access to `address` from `toucher`; `home`: without a remedy.
 *
 * OBJECT_REMEDY_REPLICATE: all accesses are local; what making the copies takes is not modelled, and neither is what
 * moving pages takes. OBJECT_REMEDY_LOCAL: a page stays with the first other node than its home that accesses it.
 * OBJECT_REMEDY_MIGRATE: it goes to each node that accesses it some times in a row.
 */
unsigned remedies_node(struct remedies *remedies, uint64_t address, unsigned toucher, unsigned home);

#endif
