/*
 * logs.h - the logs of trackers (memory/object_log.h) in a directory, as events of a history
 *
 * Until logs_name_sites(), call chains that made objects have numbers of this module in the history: to look up their
 * names takes time, and most of the objects are never accessed.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_LOGS_H
#define DCPI_TOOLS_MEM_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/mem/names.h"
#include "memory/access_history.h"
#include "memory/object_log.h"

/* What the logs need to know of processes. */
struct log_processes {
	/* The history's number of the process that `pid` was at `time`. MEMORY_NOTHING: not known yet. */
	uint32_t (*find)(void *context, int32_t pid, uint64_t time);
	const struct process_map *(*map)(void *context, uint32_t process);
	/* Who forked it, if it executes that one's program; MEMORY_NOTHING: it has executed one itself. */
	uint32_t (*parent)(void *context, uint32_t process);
	void *context;
};

/* `is_target`: read the logs of emulated programs, whose times are the target's; else of others (CLOCK_MONOTONIC). */
struct logs *logs_new(struct access_history *history, struct memory_profile *profile, const char *directory,
                      bool is_target, const struct log_processes *processes); /* NULL: no memory */
void logs_free(struct logs *logs);                                            /* NULL is allowed */

/* Look for new ones, and take which objects their processes have kept. 0, -ENOMEM, or -errno of the directory. */
int logs_look(struct logs *logs);

/* Say which were left out because another reader has them, or are damaged and read no further. */
void logs_say_faults(const struct logs *logs);

/* Events up to `horizon`, as object_log_reader_take(). 0 or -ENOMEM; a log that is damaged is read no further. */
int logs_take(struct logs *logs, uint64_t horizon, bool is_ended);

/*
 * Whether the process has the tracker: it has a log, or was forked by one that has. A child of fork() begins a log when
 * it makes an object, which it may never do.
 */
bool logs_has(const struct logs *logs, uint32_t process);

/* After access_history_finish(): name the sites of the profile's objects. 0 or -ENOMEM. */
int logs_name_sites(struct logs *logs, struct names *names);

void logs_add_totals(const struct logs *logs, struct memory_totals *totals);

/*
 * After logs_name_sites(): the hashes by which the tracker knows a site of the profile, at most `max` of them, which
 * several programs may have. How many.
 */
size_t logs_site_hashes(const struct logs *logs, uint32_t site, uint64_t *hashes, size_t max);

#endif
