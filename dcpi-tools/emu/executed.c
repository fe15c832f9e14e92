#include "dcpi-tools/emu/executed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/emu/record_read.h"
#include "dcpi-tools/emulated/run_files.h"

static int
add_blocks(const struct record_reading *reading, struct executed *executed)
{
	const struct code_read *code = &reading->code;
	uint64_t *executions = calloc(code->block_count + 1, sizeof(*executions));
	int err = executions ? record_read_executions(reading, executions) : -ENOMEM;

	for (size_t i = 1; !err && i < code->block_count; i++) {
		executed->instructions += executions[i] * code->blocks[i].instruction_count;
		executed->loads += executions[i] * code->blocks[i].loads;
		executed->stores += executions[i] * code->blocks[i].stores;
		executed->branches += executions[i] * code->blocks[i].branches;
	}
	free(executions);
	return err;
}

struct emu_summing {
	struct image_table *images;
	struct executed *executed;
};

static int
add_file(void *context, const struct run_file *file)
{
	const struct emu_summing *summing = context;
	struct record_reading reading;
	int err;

	if (file->fd < 0)
		return 0;
	err = record_reading_init(&reading, file->fd, summing->images);
	if (!err)
		err = add_blocks(&reading, summing->executed);
	record_reading_fini(&reading);
	return err == -DCPI_EDAMAGED ? 0 : err;
}

int
executed_read(const char *directory, struct executed *executed)
{
	struct emu_summing summing = {.images = image_table_new(), .executed = executed};
	int err;

	memset(executed, 0, sizeof(*executed));
	err = summing.images ? run_files_each(directory, RECORD_PREFIX, add_file, &summing) : -ENOMEM;
	image_table_free(summing.images);
	return err;
}
