/* Any file can stand at the path of an image: asking what its instructions access must be safe. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "code/access_type.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "tests/fuzz/image_of_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
touch_layout(struct data_types *types, uint32_t type)
{
	struct data_layout layout;

	if (data_types_layout(types, type, &layout) == 0) {
		for (size_t i = 0; i < layout.count; i++) {
			if (!layout.members[i].size || !layout.members[i].stride || !layout.members[i].count ||
			    strlen(layout.members[i].name) > SIZE_MAX / 2)
				abort();
		}
		if (strlen(layout.name) > SIZE_MAX / 2)
			abort();
	}
	data_layout_fini(&layout);
}

static void
look_up(struct access_types *types, const struct image_file *file, size_t size)
{
	struct access_type access;
	struct data_place place;

	for (uint64_t i = 0; i < LOOKUPS; i++) {
		const uint64_t address = address_of_lookup(file, i, size);

		if (access_types_find(types, address, &access) == 0)
			touch_layout(access_types_data(types), access.type);
		if (data_types_returned(access_types_data(types), address, &place) == RETURNED_POINTER ||
		    data_types_named(access_types_data(types), address, "main", &place))
			touch_layout(access_types_data(types), place.type);
	}
}

static void
read_file(struct image_file *file, size_t size)
{
	struct symbol_table *functions = NULL, *variables = NULL;
	struct image_lines *lines = NULL;
	struct access_types *types;

	if (symbol_table_from_file(file, &functions) == 0 && symbol_table_of_variables(file, &variables) == 0 &&
	    image_lines_new(file, &lines) == 0 && access_types_new(file, lines, functions, variables, &types) == 0) {
		look_up(types, file, size);
		access_types_free(types);
	}
	image_lines_free(lines);
	symbol_table_free(variables);
	symbol_table_free(functions);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	with_file_of_bytes(data, size, read_file);
	return 0;
}
