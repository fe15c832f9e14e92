#include "image/lines.h"

#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "image/image_file_private.h"

struct image_lines {
	Dwarf *dwarf;
	Dwarf_Die unit; /* the one that held the last address */
	bool has_unit;
};

/* The debug file, if there is one; a stripped image has no line table. */
static Dwarf *
begin(const struct image_file *file)
{
	Dwarf *dwarf = NULL;

	if (file->main.elf)
		dwarf = dwarf_begin_elf(file->main.elf, DWARF_C_READ, NULL);
	if (!dwarf && file->debug.elf)
		dwarf = dwarf_begin_elf(file->debug.elf, DWARF_C_READ, NULL);
	return dwarf;
}

int
image_lines_new(struct image_file *file, struct image_lines **lines)
{
	*lines = calloc(1, sizeof(**lines));
	if (!*lines)
		return -ENOMEM;
	(*lines)->dwarf = begin(file);
	if ((*lines)->dwarf)
		return 0;
	image_lines_free(*lines);
	*lines = NULL;
	return -ENOENT;
}

void
image_lines_free(struct image_lines *lines)
{
	if (!lines)
		return;
	if (lines->dwarf)
		dwarf_end(lines->dwarf);
	free(lines);
}

static bool
unit_holds(Dwarf_Die *unit, uint64_t address)
{
	return dwarf_haspc(unit, address) > 0;
}

/* Without .debug_aranges, which clang does not write, every unit is asked. */
static bool
find_unit(struct image_lines *lines, uint64_t address)
{
	Dwarf_CU *unit = NULL;

	if (lines->has_unit && unit_holds(&lines->unit, address))
		return true;
	lines->has_unit = false;
	if (dwarf_addrdie(lines->dwarf, address, &lines->unit) && unit_holds(&lines->unit, address)) {
		lines->has_unit = true;
		return true;
	}
	while (!lines->has_unit && dwarf_get_units(lines->dwarf, unit, &unit, NULL, NULL, &lines->unit, NULL) == 0)
		lines->has_unit = unit_holds(&lines->unit, address);
	return lines->has_unit;
}

int
image_lines_find(struct image_lines *lines, uint64_t address, struct source_place *place)
{
	Dwarf_Line *line;
	int number;

	if (!find_unit(lines, address))
		return -ENOENT;
	line = dwarf_getsrc_die(&lines->unit, address);
	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return -ENOENT;
	place->path = dwarf_linesrc(line, NULL, NULL);
	place->line = (unsigned)number;
	return place->path ? 0 : -ENOENT;
}
