/*
 * object_report.h - what dcpimem prints of one memory object: who accesses it, when, from where, who made it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_OBJECT_REPORT_H
#define DCPI_TOOLS_MEM_OBJECT_REPORT_H

#include "dcpi-tools/mem/report.h"

/*
 * The group that `name` ("makeMatrix+0x60", or "makeMatrix", if that is one group) names; with a number behind it
 * ("makeMatrix+0x60#3") also the object, in *member; else NULL there. NULL, and *similar, a group's name or NULL: there
 * is none.
 */
const struct memory_group *mem_find(const struct memory_report *report, const char *name,
                                    const struct memory_member **member, const char **similar);

/* `member` NULL: all of the group; time lines and bytes are then those of its costliest object. As mem_objects_text().
 */
int mem_object_text(const struct memory_report *report, const struct memory_group *group,
                    const struct memory_member *member, bool header, const struct output *output);
int mem_object_json(const struct memory_report *report, const struct memory_group *group,
                    const struct memory_member *member, FILE *stream);

#endif
