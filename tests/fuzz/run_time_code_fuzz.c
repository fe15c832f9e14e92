/* Any process can write anything into the file that names its code. The first byte says which of the two it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "image/jitdump.h"
#include "image/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool holds)
{
	if (!holds)
		abort();
}

static void
look_through(const struct run_time_code *code)
{
	uint64_t end = 0;

	for (size_t i = 0; i < run_time_code_count(code); i++) {
		const struct run_time_function *function = run_time_code_at(code, i);
		const size_t length = strlen(function->name);

		require(function->size > 0 && function->address >= end);
		require(length > 0 && length <= RUN_TIME_NAME_MAX);
		end = function->address + function->size;
		require(end > function->address && end < RUN_TIME_ADDRESS_END);
		require(run_time_code_find(code, function->address) == function);
		require(run_time_code_find(code, end - 1) == function);
	}
	require(run_time_code_find(code, end) == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	struct run_time_code *code = run_time_code_new();
	struct jitdump_header header;
	int err;

	if (file < 0)
		file = memfd_create("code", MFD_CLOEXEC);
	require(file >= 0 && code);
	if (size > 0) {
		require(ftruncate(file, 0) == 0 && pwrite(file, data + 1, size - 1, 0) == (ssize_t)(size - 1));
		require(lseek(file, 0, SEEK_SET) == 0);
		err = data[0] % 2 ? jitdump_read(file, code, &header) : perf_map_read(file, code);
		require(err == 0 || err == -DCPI_EDAMAGED || err == -ENOTSUP);
		run_time_code_finish(code);
		look_through(code);
	}
	run_time_code_free(code);
	return 0;
}
