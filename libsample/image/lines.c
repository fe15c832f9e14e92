#include "image/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/image_file_private.h"

struct image_lines {
	Dwarf *dwarf;
	Dwarf_Die unit; /* the one that held the last address */
	bool has_unit;
};

/* The next section of this name; NULL when there is none. */
static Elf_Scn *
next_section(Elf *elf, Elf_Scn *section, const char *name)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *is_called = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (is_called && strcmp(is_called, name) == 0)
			return section;
	}
	return NULL;
}

/* Does the section, if it is there, end with the end of a string? It has been decompressed by now. */
static bool
strings_end(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;

	while ((section = next_section(elf, section, name))) {
		const Elf_Data *data = elf_rawdata(section, NULL);

		if (data && data->d_size > 0 && (!data->d_buf || ((const char *)data->d_buf)[data->d_size - 1]))
			return false;
	}
	return true;
}

/* libdw 0.188 reads on behind sections of strings that do not end with one. */
static int
begin_elf(Elf *elf, Dwarf **dwarf)
{
	if (!elf || !next_section(elf, NULL, ".debug_line"))
		return -ENOENT;
	*dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (*dwarf && strings_end(elf, ".debug_str") && strings_end(elf, ".debug_line_str"))
		return 0;
	if (*dwarf)
		dwarf_end(*dwarf);
	*dwarf = NULL;
	return -DCPI_EDAMAGED;
}

int
image_lines_new(struct image_file *file, struct image_lines **lines)
{
	int err;

	*lines = calloc(1, sizeof(**lines));
	if (!*lines)
		return -ENOMEM;
	err = begin_elf(file->main.elf, &(*lines)->dwarf);
	if (err == -ENOENT) /* a stripped image has no line table */
		err = begin_elf(file->debug.elf, &(*lines)->dwarf);
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
