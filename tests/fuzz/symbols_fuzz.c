/* Any file can stand at the path of an image: opening it, reading its symbols and asking for them must be safe. */
#include <stdint.h>
#include <stdlib.h>

#include "image/symbols.h"
#include "tests/fuzz/image_of_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
look_up(const struct symbol_table *table, size_t size)
{
	for (uint64_t i = 0; i < LOOKUPS; i++) {
		uint64_t offset = i * size / LOOKUPS;
		const struct symbol *symbol = symbol_table_find(table, offset);

		if (!symbol)
			continue;
		if (offset < symbol->offset || (symbol->size && offset - symbol->offset >= symbol->size))
			abort();
		if (symbol->name)
			free(symbol_demangle(symbol->name));
	}
}

static void
read_file(struct image_file *file, size_t size)
{
	struct symbol_table *table;
	uint64_t address;

	image_file_address(file, size / 2, &address);
	if (symbol_table_from_file(file, &table) == 0) {
		look_up(table, size);
		symbol_table_free(table);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	with_file_of_bytes(data, size, read_file);
	return 0;
}
