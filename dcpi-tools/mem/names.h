/*
 * names.h - what is at an address of a process: an instruction of a function, a variable, a mapped file
 *
 * Files are read when they are first asked for, with the rights of the user, and kept open. What cannot be read has no
 * names: a place is then called by its file and offset.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_NAMES_H
#define DCPI_TOOLS_MEM_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "dcpi-tools/mem/process_map.h"
#include "memory/access_history.h"
#include "memory/memory_profile.h"
#include "process/image_table.h"

/* Names go into `profile`, which must outlive it. NULL: no memory. */
struct names *names_new(struct memory_profile *profile);
void names_free(struct names *names); /* NULL is allowed */

/*
 * The profile's number of the place at `offset` of an image (NULL: none), which is called by what is at `lookup`: a
 * return address is called by the call before it. MEMORY_NOTHING: no memory.
 */
uint32_t names_place(struct names *names, const struct image *image, uint64_t offset, uint64_t lookup);

/*
 * Whether the instruction at `offset` of an image writes memory, or reads what one soon behind it writes: a page's
 * fault is that of the first of them. False: also where the file cannot be read.
 */
bool names_writes(struct names *names, const struct image *image, uint64_t offset);

/*
 * Add the types of what is accessed to the profile's places, and those of variables to its objects: for each
 * instruction that has an access, where its file has debug information. Call it once, when accesses have their places.
 * 0 or -ENOMEM.
 */
int names_add_types(struct names *names);

/* names_place() of an address of a process. `is_return`: it is a return address. */
uint32_t names_address(struct names *names, const struct process_map *map, uint64_t address, bool is_return);

/*
 * The variable, or the mapping, at an address of a process; between two variables, the bytes between them, with the
 * name of the file. region->size 0: nothing is mapped there.
 */
void names_region(struct names *names, const struct process_map *map, uint64_t address, struct memory_region *region);

#endif
