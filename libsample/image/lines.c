#include "image/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "image/elf_file.h"

struct image_lines {
	Dwarf *dwarf;
	Dwarf_Die unit; /* the one that held the last address */
	bool has_unit;
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
begin_dwarf(const struct elf_file *file, Dwarf **dwarf)
{
	GElf_Shdr header;

	if (!file || !elf_file_next_section(file, NULL, ".debug_line", &header))
		return -ENOENT;
	*dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (*dwarf && strings_end(file, ".debug_str") && strings_end(file, ".debug_line_str"))
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
	err = begin_dwarf(image_file_elf(file), &(*lines)->dwarf);
	if (err == -ENOENT) /* a stripped image has no line table */
		err = begin_dwarf(image_file_debug(file), &(*lines)->dwarf);
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

/* By .debug_aranges; where a compiler does not write it, as clang, by the ranges of every unit. */
static bool
find_unit(struct image_lines *lines, uint64_t address)
{
	Dwarf_CU *unit = NULL;

	if (lines->has_unit && dwarf_haspc(&lines->unit, address) > 0)
		return true;
	lines->has_unit = false;
	if (dwarf_addrdie(lines->dwarf, address, &lines->unit) && dwarf_haspc(&lines->unit, address) > 0) {
		lines->has_unit = true;
		return true;
	}
	while (!lines->has_unit && dwarf_get_units(lines->dwarf, unit, &unit, NULL, NULL, &lines->unit, NULL) == 0)
		lines->has_unit = dwarf_haspc(&lines->unit, address) > 0;
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
