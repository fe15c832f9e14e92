/*
 * process_map.h - what a process has mapped, as /proc/PID/maps says it now or as a recording said it
 *
 * Mappings do not overlap. Pointers to them, and the images that they are of, are valid until the map changes.
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_PROCESS_MAP_H
#define DCPI_TOOLS_MEM_PROCESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/image_table.h"
#include "stream/record.h"

struct process_map;

struct process_mapping {
	uint64_t start, end;  /* addresses, `end` behind the last */
	uint64_t file_offset; /* of what is at `start` */
	uint32_t device_major, device_minor;
	uint64_t inode;
	uint8_t build_id[BUILD_ID_SIZE_MAX], build_id_size; /* size 0: not known, as in /proc */
	bool is_code, is_writable;
	char *path; /* "": memory without a file */
};

struct process_map *process_map_new(uint32_t pid); /* empty; NULL: no memory */
void process_map_free(struct process_map *map);    /* NULL is allowed */

/*
 * Read /proc/PID/maps again. `base` is subtracted from its addresses, and what is below it is left out: a program that
 * QEMU emulates is mapped that far above the addresses that it has itself. When the process has ended, what was known
 * before stays. 0, -ENOMEM, or -errno.
 */
int process_map_refresh(struct process_map *map, uint64_t base);

/* Take in a mapping that was made, in place of what is there; an empty one is ignored. 0 or -ENOMEM. */
int process_map_add(struct process_map *map, const struct record_mmap *mmap);

/* Replace what is known by what another process has, as fork() does. 0 or -ENOMEM. */
int process_map_copy(struct process_map *map, const struct process_map *from);

size_t process_map_count(const struct process_map *map); /* mappings */

/* The mapping that has an address. NULL: none. */
const struct process_mapping *process_map_find(const struct process_map *map, uint64_t address);
bool process_map_has(const struct process_map *map, uint64_t address);

/* The file of a mapping; its path is the mapping's. */
struct image process_map_image(const struct process_mapping *mapping);

/* The file at an address, as process_map_image(), and the offset in it. False: none. */
bool process_map_file(const struct process_map *map, uint64_t address, struct image *image, uint64_t *offset);

/*
 * The mapping of a program or a library that `mapping` of the map belongs to: itself, or the one of the file that it
 * directly follows, because variables that begin as zeros are in memory without a file. NULL: it belongs to none.
 */
const struct process_mapping *process_map_program(const struct process_map *map, const struct process_mapping *mapping);

/*
 * The mapping with which a program begins that `mapping` is part of: of the same file, at or below `mapping`, the
 * nearest with file offset 0; where none has it, the lowest.
 */
const struct process_mapping *process_map_first(const struct process_map *map, const struct process_mapping *mapping);

#endif
