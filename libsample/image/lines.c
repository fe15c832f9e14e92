#include "image/lines.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "image/debug_info.h"

struct image_lines {
	struct debug_info info;
};

int
image_lines_new(struct image_file *file, struct image_lines **lines)
{
	int err;

	*lines = calloc(1, sizeof(**lines));
	if (!*lines)
		return -ENOMEM;
	err = debug_info_open(&(*lines)->info, file);
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
	debug_info_close(&lines->info);
	free(lines);
}

struct debug_info *
image_lines_info(struct image_lines *lines)
{
	return &lines->info;
}

int
image_lines_find(struct image_lines *lines, uint64_t address, struct source_place *place)
{
	Dwarf_Lines *of_unit;
	Dwarf_Line *line;
	size_t count;
	int number;

	if (!debug_info_find_unit(&lines->info, address))
		return -ENOENT;
	if (dwarf_getsrclines(&lines->info.unit, &of_unit, &count))
		return dwarf_hasattr(&lines->info.unit, DW_AT_stmt_list) ? -DCPI_EDAMAGED : -ENOENT;
	line = dwarf_getsrc_die(&lines->info.unit, address);
	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return -ENOENT;
	place->path = dwarf_linesrc(line, NULL, NULL);
	place->line = (unsigned)number;
	return place->path ? 0 : -ENOENT;
}

/* ---- inlined subroutines ---- */

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
	uint64_t budget = lines->info.budget_max;
	Dwarf_Die die;
	int err;

	*count = 0;
	if (!lines->info.has_names)
		return 0;
	err = debug_info_function(&lines->info, address, &die);
	if (err)
		return err == -ENOMEM ? err : 0;
	for (unsigned depth = 0;
	     depth < DEBUG_INFO_DEPTH_MAX && *count < INLINED_MAX && debug_info_descend(&die, address, &budget);
	     depth++) {
		const struct inlined_call call = dwarf_tag(&die) == DW_TAG_inlined_subroutine
		                                         ? read_call(&lines->info.unit, &die)
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
	while (err == -ENOENT && dwarf_get_units(lines->info.dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		err = unit_source(&die, source);
	return err;
}
