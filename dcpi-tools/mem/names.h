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

#include "memory/access_history.h"
#include "memory/memory_profile.h"
#include "process/image_table.h"
#include "stream/record.h"

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

/* ---- what a process has mapped ---- */

struct process_map;

struct process_map *process_map_new(uint32_t pid); /* empty; NULL: no memory */
void process_map_free(struct process_map *map);    /* NULL is allowed */

/*
 * Read /proc/PID/maps again. `base`: added to the process's addresses for those in there. When the process has ended,
 * what was known before stays. 0, -ENOMEM, or -errno.
 */
int process_map_refresh(struct process_map *map, uint64_t base);

/* Take in a mapping that was made: it takes the place of what is there. 0 or -ENOMEM. */
int process_map_add(struct process_map *map, const struct record_mmap *mmap);

/* Replace what is known by what another process has, as fork() does. 0 or -ENOMEM. */
int process_map_copy(struct process_map *map, const struct process_map *from);

size_t process_map_count(const struct process_map *map); /* mappings */

/* The file at an address, which `map` keeps, and the offset there. False: none. */
bool process_map_file(const struct process_map *map, uint64_t address, struct image *image, uint64_t *offset);

/* Whether something is known of the address. */
bool process_map_has(const struct process_map *map, uint64_t address);

/* names_place() of an address. `is_return`: of the call before it. */
uint32_t names_address(struct names *names, const struct process_map *map, uint64_t address, bool is_return);

/* The variable, or the mapping, at an address. size 0: nothing is known. */
void names_region(struct names *names, const struct process_map *map, uint64_t address, struct memory_region *region);

#endif
