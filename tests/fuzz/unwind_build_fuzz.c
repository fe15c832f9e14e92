/* Any file may be mapped as a program: making its unwind table must be safe, and what is made can be loaded. */
#include <stdlib.h>
#include <string.h>

#include "image/elf_file.h"
#include "code/unwind_build.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table *table;
	struct elf_file file;
	uint8_t *copy = malloc(size + 1), *bytes;
	size_t table_size;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (elf_file_open_memory(&file, copy, size))
		return 0;
	if (unwind_build(&file, NULL, &bytes, &table_size) == 0) {
		if (unwind_table_load(bytes, table_size, &table))
			abort();
		unwind_table_free(table);
		free(bytes);
	}
	elf_file_close(&file);
	return 0;
}
