/*
 * collect.h - the memory profile of a run in the emulator, from what the tracker and the plugin write while it runs
 *
 * The directory of the run has a record of each process (emulator/record/record_file.h), with rings of sampled
 * accesses, and a log of each process that has the tracker (memory/object_log.h). Both are read again and again, as
 * their rings have little room.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_COLLECT_H
#define DCPI_TOOLS_MEM_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "emulator/setup.h"
#include "memory/memory_profile.h"

struct collector;

/* `profile` and `setup` must outlive it. `access_max`: that are kept at most. NULL: no memory. */
struct collector *collector_new(struct memory_profile *profile, const struct setup *setup, const char *directory,
                                size_t access_max);
void collector_free(struct collector *collector); /* NULL is allowed */

/* Read what there is. 0, -ENOMEM, or -errno of the directory; what cannot be read of one process is left out. */
int collector_poll(struct collector *collector);

/* Everything has ended: read the rest, name what is in the profile, and fill in its totals but for those of time. */
int collector_finish(struct collector *collector);

/*
 * After collector_finish(): the hashes by which the tracker knows a site of the profile, at most `max` of them, which
 * several programs may have. How many.
 */
size_t collector_site_hashes(const struct collector *collector, uint32_t site, uint64_t *hashes, size_t max);

#endif
