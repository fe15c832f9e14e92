/*
 * debug_info.h - the DWARF of an image, and which of its entries (DIEs) an address belongs to (private to this room)
 *
 * DWARF comes from the image or its separate debug file. libdw may fault on a damaged file: the caller must guard
 * against that (base/guard.h). Indexes are made per unit, when an address of it is first asked for. Thread rule: one
 * thread per debug_info.
 */
#ifndef DCPI_IMAGE_DEBUG_INFO_H
#define DCPI_IMAGE_DEBUG_INFO_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_file.h"

#define DEBUG_INFO_DEPTH_MAX 128 /* blocks and inlined subroutines within each other that are followed */

/* A range of code of an entry; a function in two sections has two. */
struct die_range {
	uint64_t start, end; /* `start` first, for array_compare_u64() */
	Dwarf_Off die;
};

/* Ranges, ascending by start. */
struct die_index {
	struct die_range *ranges;
	size_t count, capacity;
};

struct unit_functions;

struct debug_info {
	Dwarf *dwarf;
	Dwarf_Die unit; /* the one that held the last address */
	bool has_unit;
	bool has_units;         /* `units` has been made */
	bool has_names;         /* names in .debug_info and .debug_types end there, so that they can be read */
	struct die_index units; /* by their ranges, for addresses that .debug_aranges does not have */
	struct unit_functions *functions;
	uint64_t budget_max; /* entries of one walk, ranges of one index: a damaged file may have more than bytes */
};

/* 0; -ENOENT when there is none; -DCPI_EDAMAGED. On failure there is nothing to close. */
int debug_info_open(struct debug_info *info, struct image_file *file);
void debug_info_close(struct debug_info *info); /* a zeroed one is allowed */

/* Make `unit` the one that has code at ELF virtual address `address`. False: none has. */
bool debug_info_find_unit(struct debug_info *info, uint64_t address);

/* The function that has code at `address`; `unit` becomes its unit. 0, -ENOENT, -ENOMEM. */
int debug_info_function(struct debug_info *info, uint64_t address, Dwarf_Die *function);

/*
 * Go from *die to the inlined subroutine or the block in it that has code at `address`. *budget: entries that may still
 * be looked at. False: there is none.
 */
bool debug_info_descend(Dwarf_Die *die, uint64_t address, uint64_t *budget);

/* Go to the next entry beside *die. False: there is none, or the file is damaged and has an earlier one as the next. */
bool debug_info_next_sibling(Dwarf_Die *die);

/* Whether functions and variables of the program may be below an entry with this tag: a namespace, a class. */
bool debug_info_is_scope(int tag);

/* Anything but 0 ends the walk. */
typedef int debug_info_visit(void *context, Dwarf_Die *die);

/*
 * All entries of `unit` with this tag, in namespaces and classes, too, but not in functions: DW_TAG_subprogram,
 * DW_TAG_variable. What `visit` returned last, or 0.
 */
int debug_info_visit_unit(struct debug_info *info, int tag, debug_info_visit *visit, void *context);

#endif
