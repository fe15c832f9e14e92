#include "image/debug_info.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "image/elf_file.h"
#include "process/hash.h"

#define SCOPES_MAX 64 /* namespaces, classes and blocks within each other that are followed */

/* The functions of a unit, by their ranges. */
struct unit_functions {
	Dwarf_Off unit;
	struct die_index functions;
	UT_hash_handle hh;
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
begin_dwarf(const struct elf_file *file, struct debug_info *info)
{
	GElf_Shdr header;

	if (!file || !elf_file_next_section(file, NULL, ".debug_line", &header))
		return -ENOENT;
	info->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (info->dwarf && strings_end(file, ".debug_str") && strings_end(file, ".debug_line_str")) {
		info->has_names = strings_end(file, ".debug_info") && strings_end(file, ".debug_types");
		info->budget_max = file->size;
		return 0;
	}
	if (info->dwarf)
		dwarf_end(info->dwarf);
	info->dwarf = NULL;
	return -DCPI_EDAMAGED;
}

int
debug_info_open(struct debug_info *info, struct image_file *file)
{
	int err;

	*info = (struct debug_info){0};
	err = begin_dwarf(image_file_elf(file), info);
	if (err == -ENOENT) /* a stripped image has no line table */
		err = begin_dwarf(image_file_debug(file), info);
	return err;
}

void
debug_info_close(struct debug_info *info)
{
	for (struct unit_functions *at = info->functions; at; at = at->hh.next)
		free(at->functions.ranges);
	HASH_FREE_ALL(info->functions);
	free(info->units.ranges);
	if (info->dwarf)
		dwarf_end(info->dwarf);
	*info = (struct debug_info){0};
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
	const size_t behind = address < UINT64_MAX ? ARRAY_LOWER_BOUND(index->ranges, index->count, start, address + 1)
	                                           : index->count;

	return behind > 0 && address < index->ranges[behind - 1].end ? &index->ranges[behind - 1] : NULL;
}

static int
index_units(struct debug_info *info)
{
	uint64_t budget = info->budget_max;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int err = 0;

	while (!err && dwarf_get_units(info->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		err = add_ranges(&info->units, &die, &budget);
	sort_ranges(&info->units);
	info->has_units = !err;
	return err;
}

/* By .debug_aranges; clang does not write it: then by the ranges that every unit has itself. */
bool
debug_info_find_unit(struct debug_info *info, uint64_t address)
{
	const struct die_range *range;

	if (info->has_unit && dwarf_haspc(&info->unit, address) > 0)
		return true;
	info->has_unit = dwarf_addrdie(info->dwarf, address, &info->unit) && dwarf_haspc(&info->unit, address) > 0;
	if (info->has_unit || (!info->has_units && index_units(info)))
		return info->has_unit;
	range = find_range(&info->units, address);
	info->has_unit = range && dwarf_offdie(info->dwarf, range->die, &info->unit);
	return info->has_unit;
}

/* Offsets must ascend, or a damaged DW_AT_sibling would lead in a circle. */
bool
debug_info_next_sibling(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(die))
		return false;
	*die = next;
	return true;
}

bool
debug_info_is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

static int
visit_scope(Dwarf_Die *scope, int tag, debug_info_visit *visit, void *context, unsigned depth, uint64_t *budget)
{
	Dwarf_Die die;
	int err = 0;

	if (depth == SCOPES_MAX || dwarf_child(scope, &die) != 0)
		return 0;
	do {
		const int found = dwarf_tag(&die);

		if (*budget == 0)
			break;
		(*budget)--;
		if (found == tag)
			err = visit(context, &die);
		else if (debug_info_is_scope(found))
			err = visit_scope(&die, tag, visit, context, depth + 1, budget);
	} while (!err && debug_info_next_sibling(&die));
	return err;
}

int
debug_info_visit_unit(struct debug_info *info, int tag, debug_info_visit *visit, void *context)
{
	uint64_t budget = info->budget_max;

	return visit_scope(&info->unit, tag, visit, context, 0, &budget);
}

/* Functions whose ranges are being added to an index. */
struct function_search {
	struct die_index *index;
	uint64_t budget; /* ranges */
};

static int
add_function(void *context, Dwarf_Die *function)
{
	struct function_search *search = context;

	return add_ranges(search->index, function, &search->budget);
}

/* The functions of info->unit. 0 or -ENOMEM. */
static int
find_functions(struct debug_info *info, const struct die_index **functions)
{
	const Dwarf_Off unit = dwarf_dieoffset(&info->unit);
	struct function_search search = {.budget = info->budget_max};
	struct unit_functions *entry;
	int err;

	HASH_FIND(hh, info->functions, &unit, sizeof(unit), entry);
	if (entry) {
		*functions = &entry->functions;
		return 0;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->unit = unit;
	search.index = &entry->functions;
	err = debug_info_visit_unit(info, DW_TAG_subprogram, add_function, &search);
	sort_ranges(&entry->functions);
	if (!err) {
		HASH_ADD(hh, info->functions, unit, sizeof(entry->unit), entry);
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

int
debug_info_function(struct debug_info *info, uint64_t address, Dwarf_Die *function)
{
	const struct die_index *functions;
	const struct die_range *range;
	int err;

	if (!debug_info_find_unit(info, address))
		return -ENOENT;
	err = find_functions(info, &functions);
	if (err)
		return err;
	range = find_range(functions, address);
	return range && dwarf_offdie(info->dwarf, range->die, function) ? 0 : -ENOENT;
}

bool
debug_info_descend(Dwarf_Die *die, uint64_t address, uint64_t *budget)
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
	} while (debug_info_next_sibling(&child));
	return false;
}
