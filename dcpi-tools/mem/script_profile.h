/*
 * script_profile.h - a memory profile as a value of Lua: what a script of `dcpimem script` reads
 *
 * dcpimem(1) describes the value, in its section SCRIPTS. Profile, groups, objects, threads and accesses are userdata
 * that hold a number; what a script reads of them is read from the report at that moment. Iterators make one value at a
 * step, so a script needs memory only for what it keeps. A group, an object and a thread is one value as long as a
 * script has it: scripts may compare these, and use them as keys of tables.
 *
 * A wrong use is an error of Lua, which names the line of the script.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_SCRIPT_PROFILE_H
#define DCPI_TOOLS_MEM_SCRIPT_PROFILE_H

#include <lua5.4/lua.h>
#include <stdint.h>

#include "dcpi-tools/mem/thread_report.h"
#include "memory/verdict.h"
#include "profile/catalog.h"

/* Indices of the report by what its arrays do not have. */
struct script_profile {
	const struct memory_report *report;
	const struct epoch_summary *epoch; /* NULL: it is of no epoch */
	struct mem_thread_row *threads;    /* counts, by thread */
	uint32_t *members;                 /* by object of the profile: of memory_report.objects; MEMORY_NOTHING */
	uint32_t *groups;                  /* by memory_report.objects: of memory_report.groups */
	uint32_t *listed;                  /* of memory_report.objects, group by group */
	uint32_t *in_time, access_count;   /* accesses that scripts see, by time */
	uint32_t *order;                   /* these, by thread, then by time */
	uint32_t *first;                   /* by thread: of `order`; one more at the end */
};

/* Both are borrowed, and must outlive it. 0 or -ENOMEM; finish it in any case. */
int script_profile_init(struct script_profile *profile, const struct memory_report *report,
                        const struct epoch_summary *epoch);
void script_profile_fini(struct script_profile *profile); /* a zeroed one is allowed */

/* Set the global variable `profile` of a state that has no other yet. Raises an error of Lua without memory. */
void script_profile_open(lua_State *state, const struct script_profile *profile);

#endif
