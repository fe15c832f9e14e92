/* Any process can write anything into the file that names its code. The first byte says which of the two it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "image/jit_code.h"
#include "process/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool holds)
{
	if (!holds)
		abort();
}

static void
look_through(const struct jit_code *code)
{
	uint64_t end = 0;

	for (size_t i = 0; i < jit_code_count(code); i++) {
		const struct jit_function *function = jit_code_at(code, i);
		const size_t length = strlen(function->name);

		require(function->size > 0 && function->address >= end);
		require(length > 0 && length <= JIT_CODE_NAME_MAX);
		end = function->address + function->size;
		require(end > function->address && end < JIT_CODE_ADDRESS_END);
		require(jit_code_find(code, function->address) == function);
		require(jit_code_find(code, end - 1) == function);
	}
	require(jit_code_find(code, end) == NULL);
}

/* Some blocks around a base that functions of the corpus lie on both sides of. */
static void
capture(int file)
{
	static const uint32_t sampled[] = {0, 1, 2, 17, UINT32_MAX - 1, UINT32_MAX};
	const struct jit_capture_request request = {0x1800, sampled, sizeof(sampled) / sizeof(sampled[0]), 100};
	struct jit_capture made;
	uint64_t end = 0;

	require(jit_capture_make(file, &request, &made) == 0);
	for (size_t i = 0; i < made.symbol_count; i++) {
		require(made.symbols[i].offset < JIT_SPAN && strlen(made.symbols[i].name) > 0);
		require(i == 0 || made.symbols[i].offset >= made.symbols[i - 1].offset);
	}
	for (size_t i = 0; i < made.block_count; i++) {
		require(made.blocks[i].number >= end);
		end = (uint64_t)made.blocks[i].number + 1;
	}
	require(made.block_count <= JIT_CAPTURE_BLOCKS_MAX && made.layout.section_count <= made.block_count);
	jit_capture_fini(&made);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	struct jit_code *code = jit_code_new();
	struct jitdump_header header;
	int err;

	if (file < 0)
		file = memfd_create("code", MFD_CLOEXEC);
	require(file >= 0 && code);
	if (size > 0) {
		require(ftruncate(file, 0) == 0 && pwrite(file, data + 1, size - 1, 0) == (ssize_t)(size - 1));
		require(lseek(file, 0, SEEK_SET) == 0);
		err = data[0] % 2 ? jit_code_read_jitdump(file, code, &header) : jit_code_read_perf_map(file, code);
		require(err == 0 || err == -DCPI_EDAMAGED || err == -ENOTSUP);
		jit_code_finish(code, size / 2);
		look_through(code);
		capture(file);
	}
	jit_code_free(code);
	return 0;
}
