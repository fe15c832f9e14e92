/* Any file may be mapped as a program: making its unwind table must be safe, and what is made can be loaded. */
#include <stdlib.h>
#include <string.h>

#include "code/frames.h"
#include "code/unwind_build.h"
#include "image/elf_file.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ascent {
	size_t last, size;
};

static int
check_ascent(void *context, size_t offset, const struct frame_place *place)
{
	struct ascent *ascent = context;

	if (offset < ascent->last || offset > ascent->size || place->kind > FRAME_LINKED)
		abort();
	ascent->last = offset;
	return 0;
}

/* The bytes as code. */
static void
find_frames(enum unwind_machine machine, const uint8_t *data, size_t size)
{
	static struct frames *frames[UNWIND_AARCH64 + 1];
	struct ascent ascent = {0, size};

	if (!frames[machine])
		frames[machine] = frames_new(machine);
	if (!frames[machine] || frames_each(frames[machine], data, size, 0, check_ascent, &ascent))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table *table;
	struct elf_file file;
	uint8_t *copy = malloc(size + 1), *bytes;
	size_t table_size;

	if (!copy)
		return 0;
	find_frames(UNWIND_X86_64, data, size);
	find_frames(UNWIND_AARCH64, data, size);
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
