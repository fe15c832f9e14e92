/*
 * member_report.h - how dcpimem shows the types of objects: their names, and the accesses of their members
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_MEMBER_REPORT_H
#define DCPI_TOOLS_MEM_MEMBER_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/common/output.h"
#include "memory/verdict.h"

#define MEM_TYPE_SIZE 512 /* bytes of a type's name, with its end */

bool mem_has_types(const struct memory_report *report); /* whether the type of any object is known */

/*
 * The type of a group's objects, "struct counter[]" if `member`, or with NULL the first object, has several elements;
 * "" when it is not known. Returns `text`.
 */
const char *mem_type_format(const struct memory_report *report, const struct memory_group *group,
                            const struct memory_member *member, char text[MEM_TYPE_SIZE]);

/* The member at `offset` of objects of the group; NULL: none is known. */
const char *mem_member_name(const struct memory_report *report, const struct memory_group *group, uint64_t offset);

/* Print "Type: struct counter, 16 bytes"; nothing when it is not known. */
void mem_print_type(const struct memory_report *report, const struct memory_group *group,
                    const struct memory_member *member, const struct output *output);

/*
 * Accesses by member of the type, the costliest first; nothing where the type has no members. `member`: of this object
 * of the group; NULL: of all its objects. 0, -ENOMEM or the stream's error.
 */
int mem_print_members(const struct memory_report *report, const struct memory_group *group,
                      const struct memory_member *member, const struct output *output);
json_t *mem_members_json(const struct memory_report *report, const struct memory_group *group,
                         const struct memory_member *member); /* NULL: no memory */

#endif
