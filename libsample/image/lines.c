#include "image/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "image/elf_file.h"
#include "process/hash.h"

#define SCOPES_MAX 64 /* namespaces, classes and blocks within each other that are followed */

/* Code that an entry of DWARF (DIE) is about. */
struct die_range {
	uint64_t start, end; /* `start` first, for array_compare_u64() */
	Dwarf_Off die;
};

/* Ranges, ascending by start. */
struct die_index {
	struct die_range *ranges;
	size_t count, capacity;
};

/* The functions of a unit. */
struct unit_functions {
	Dwarf_Off unit;
	struct die_index functions;
	UT_hash_handle hh;
};

struct image_lines {
	Dwarf *dwarf;
	Dwarf_Die unit; /* the one that held the last address */
	bool has_unit;
	bool has_units;         /* they are in `units` */
	bool has_inlined;       /* whether names in .debug_info end there */
	struct die_index units; /* for addresses that .debug_aranges does not have */
	struct unit_functions *functions;
	uint64_t budget_max; /* entries and ranges of one index: a damaged file may have them in circles */
};

/* Does each section of this name end with the end of a string? libdw has decompressed them by now. */
static bool
strings_end(const struct elf_file *file, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_file_next_section(file, section, name, &header))) {
		const Elf_Data *data = elf_rawdata(section, NULL);

		if (data && data->d_size > 0 && (!data->d_buf || ((const char *)data->d_buf)[data->d_size - 1]))
			return false;
	}
	return true;
}

/* `file` may be NULL. libdw 0.188 reads past the end of string sections that do not end with a NUL: refuse these. */
static int
begin_dwarf(const struct elf_file *file, struct image_lines *lines)
{
	GElf_Shdr header;

	if (!file || !elf_file_next_section(file, NULL, ".debug_line", &header))
		return -ENOENT;
	lines->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (lines->dwarf && strings_end(file, ".debug_str") && strings_end(file, ".debug_line_str")) {
		lines->has_inlined = strings_end(file, ".debug_info");
		lines->budget_max = file->size;
		return 0;
	}
	if (lines->dwarf)
		dwarf_end(lines->dwarf);
	lines->dwarf = NULL;
	return -DCPI_EDAMAGED;
}

int
image_lines_new(struct image_file *file, struct image_lines **lines)
{
	int err;

	*lines = calloc(1, sizeof(**lines));
	if (!*lines)
		return -ENOMEM;
	err = begin_dwarf(image_file_elf(file), *lines);
	if (err == -ENOENT) /* a stripped image has no line table */
		err = begin_dwarf(image_file_debug(file), *lines);
	if (!err)
		return 0;
	image_lines_free(*lines);
	*lines = NULL;
	return err;
}

void
image_lines_free(struct image_lines *lines)
{
	if (!lines)
		return;
	for (struct unit_functions *at = lines->functions; at; at = at->hh.next)
		free(at->functions.ranges);
	HASH_FREE_ALL(lines->functions);
	free(lines->units.ranges);
	if (lines->dwarf)
		dwarf_end(lines->dwarf);
	free(lines);
}

/* ---- which entry an address belongs to ---- */

static int
add_ranges(struct die_index *index, Dwarf_Die *die, uint64_t *budget)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (*budget > 0 && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct die_range *added;

		(*budget)--;
		if (start >= end)
			continue;
		added = ARRAY_APPEND(index->ranges, index->count, index->capacity);
		if (!added)
			return -ENOMEM;
		*added = (struct die_range){start, end, dwarf_dieoffset(die)};
	}
	return 0;
}

static void
sort_ranges(struct die_index *index)
{
	if (index->count > 0)
		qsort(index->ranges, index->count, sizeof(*index->ranges), array_compare_u64);
}

/* The last range that begins at or before `address`, if it holds it. */
static const struct die_range *
find_range(const struct die_index *index, uint64_t address)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (index->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < index->ranges[low - 1].end ? &index->ranges[low - 1] : NULL;
}

static int
index_units(struct image_lines *lines)
{
	uint64_t budget = lines->budget_max;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int err = 0;

	while (!err && dwarf_get_units(lines->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		err = add_ranges(&lines->units, &die, &budget);
	sort_ranges(&lines->units);
	lines->has_units = !err;
	return err;
}

/* By .debug_aranges; where a compiler does not write it, as clang, by the ranges of every unit. */
static bool
find_unit(struct image_lines *lines, uint64_t address)
{
	const struct die_range *range;

	if (lines->has_unit && dwarf_haspc(&lines->unit, address) > 0)
		return true;
	lines->has_unit = dwarf_addrdie(lines->dwarf, address, &lines->unit) && dwarf_haspc(&lines->unit, address) > 0;
	if (lines->has_unit || (!lines->has_units && index_units(lines)))
		return lines->has_unit;
	range = find_range(&lines->units, address);
	lines->has_unit = range && dwarf_offdie(lines->dwarf, range->die, &lines->unit);
	return lines->has_unit;
}

int
image_lines_find(struct image_lines *lines, uint64_t address, struct source_place *place)
{
	Dwarf_Lines *of_unit;
	Dwarf_Line *line;
	size_t count;
	int number;

	if (!find_unit(lines, address))
		return -ENOENT;
	if (dwarf_getsrclines(&lines->unit, &of_unit, &count))
		return dwarf_hasattr(&lines->unit, DW_AT_stmt_list) ? -DCPI_EDAMAGED : -ENOENT;
	line = dwarf_getsrc_die(&lines->unit, address);
	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return -ENOENT;
	place->path = dwarf_linesrc(line, NULL, NULL);
	place->line = (unsigned)number;
	return place->path ? 0 : -ENOENT;
}

/* ---- inlined subroutines ---- */

/* The next entry beside *die; false when there is none. A damaged one may be the present one, or one before it. */
static bool
next_sibling(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(die))
		return false;
	*die = next;
	return true;
}

static bool
has_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Functions that are defined below an entry, but not within each other. */
static int
add_functions(struct die_index *index, Dwarf_Die *parent, unsigned depth, uint64_t *budget)
{
	Dwarf_Die die;
	int err = 0;

	if (depth == SCOPES_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		const int tag = dwarf_tag(&die);

		if (*budget == 0)
			break;
		(*budget)--;
		if (tag == DW_TAG_subprogram)
			err = add_ranges(index, &die, budget);
		else if (has_functions(tag))
			err = add_functions(index, &die, depth + 1, budget);
	} while (!err && next_sibling(&die));
	return err;
}

/* The functions of the present unit. 0 or -ENOMEM. */
static int
find_functions(struct image_lines *lines, const struct die_index **functions)
{
	const Dwarf_Off unit = dwarf_dieoffset(&lines->unit);
	uint64_t budget = lines->budget_max;
	struct unit_functions *entry;
	int err;

	HASH_FIND(hh, lines->functions, &unit, sizeof(unit), entry);
	if (entry) {
		*functions = &entry->functions;
		return 0;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->unit = unit;
	err = add_functions(&entry->functions, &lines->unit, 0, &budget);
	sort_ranges(&entry->functions);
	if (!err) {
		HASH_ADD(hh, lines->functions, unit, sizeof(entry->unit), entry);
		err = hash_added(entry) ? 0 : -ENOMEM;
	}
	if (err) {
		free(entry->functions.ranges);
		free(entry);
		return err;
	}
	*functions = &entry->functions;
	return 0;
}

/* From an entry to the one below it that has the address, and may be inlined or contain what is. False: none. */
static bool
descend(Dwarf_Die *die, uint64_t address, uint64_t *budget)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	do {
		const int tag = dwarf_tag(&child);

		if (*budget == 0)
			return false;
		(*budget)--;
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
		     tag == DW_TAG_catch_block) &&
		    dwarf_haspc(&child, address) > 0) {
			*die = child;
			return true;
		}
	} while (next_sibling(&child));
	return false;
}

static unsigned
unsigned_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 && value <= INT_MAX ? (unsigned)value
	                                                                                           : 0;
}

static struct inlined_call
read_call(Dwarf_Die *unit, Dwarf_Die *die)
{
	const unsigned file = unsigned_of(die, DW_AT_call_file);
	struct inlined_call call = {.call.line = unsigned_of(die, DW_AT_call_line)};
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	size_t count;

	call.name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	if (!call.name)
		call.name = dwarf_diename(die);
	if (call.call.line > 0 && file > 0 && dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
		call.call.path = dwarf_filesrc(files, file, NULL, NULL);
	return call;
}

int
image_lines_inlined(struct image_lines *lines, uint64_t address, struct inlined_call calls[INLINED_MAX], size_t *count)
{
	uint64_t budget = lines->budget_max;
	const struct die_index *functions;
	const struct die_range *range;
	Dwarf_Die die;
	int err;

	*count = 0;
	if (!lines->has_inlined || !find_unit(lines, address))
		return 0;
	err = find_functions(lines, &functions);
	if (err)
		return err;
	range = find_range(functions, address);
	if (!range || !dwarf_offdie(lines->dwarf, range->die, &die))
		return 0;
	for (unsigned depth = 0; depth < 2 * SCOPES_MAX && *count < INLINED_MAX && descend(&die, address, &budget);
	     depth++) {
		const struct inlined_call call = dwarf_tag(&die) == DW_TAG_inlined_subroutine
		                                         ? read_call(&lines->unit, &die)
		                                         : (struct inlined_call){0};

		if (call.name)
			calls[(*count)++] = call;
	}
	for (size_t i = 0; i < *count / 2; i++) { /* they were found from the outermost on */
		const struct inlined_call outer = calls[i];

		calls[i] = calls[*count - 1 - i];
		calls[*count - 1 - i] = outer;
	}
	return 0;
}

/* ---- source files ---- */

static int
unit_source(Dwarf_Die *unit, char **source)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr(unit, DW_AT_name, &attribute));
	const char *directory;
	int length;

	if (!name)
		return -ENOENT;
	directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	length = asprintf(source, "%s%s%s", directory && name[0] != '/' ? directory : "",
	                  directory && name[0] != '/' ? "/" : "", name);
	if (length >= 0)
		return 0;
	*source = NULL;
	return -ENOMEM;
}

int
image_lines_source(struct image_lines *lines, char **source)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int err = -ENOENT;

	*source = NULL;
	while (err == -ENOENT && dwarf_get_units(lines->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		err = unit_source(&die, source);
	return err;
}
