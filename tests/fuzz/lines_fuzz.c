/* Any file can stand at the path of an image: asking for its line numbers must be safe. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/lines.h"
#include "image/symbols.h"
#include "tests/fuzz/image_of_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
touch_calls(const struct inlined_call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(calls[i].name) > SIZE_MAX / 2 ||
		    (calls[i].call.path && strlen(calls[i].call.path) > SIZE_MAX / 2))
			abort();
}

static void
look_up(struct image_lines *lines, const struct image_file *file, size_t size)
{
	struct inlined_call calls[INLINED_MAX];
	struct source_place place;
	size_t count;

	for (uint64_t i = 0; i < LOOKUPS; i++) {
		const uint64_t address = address_of_lookup(file, i, size);

		if (image_lines_inlined(lines, address, calls, &count) == 0)
			touch_calls(calls, count);
		if (image_lines_find(lines, address, &place))
			continue;
		if (!place.line || strlen(place.path) > SIZE_MAX / 2)
			abort();
	}
}

static void
read_file(struct image_file *file, size_t size)
{
	struct symbol_table *table = NULL;
	struct image_lines *lines;
	char *name;

	if (image_file_soname(file, &name) == 0)
		free(name);
	if (symbol_table_from_file(file, &table) == 0 && image_lines_new(file, &lines) == 0) {
		look_up(lines, file, size);
		if (image_lines_source(lines, &name) == 0)
			free(name);
		image_lines_free(lines);
	}
	symbol_table_free(table);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	with_file_of_bytes(data, size, read_file);
	return 0;
}
