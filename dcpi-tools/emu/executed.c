#include "dcpi-tools/emu/executed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/emu/record_read.h"

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

static int
add_file(int fd, struct image_table *images, struct executed *executed)
{
	struct record_reading reading;
	int err = record_reading_init(&reading, fd, images);

	if (!err)
		err = add_blocks(&reading, executed);
	record_reading_fini(&reading);
	return err == -DCPI_EDAMAGED ? 0 : err;
}

int
executed_read(const char *directory, struct executed *executed)
{
	struct image_table *images = image_table_new();
	DIR *files = images ? opendir(directory) : NULL;
	const struct dirent *entry;
	int err = files ? 0 : -errno;

	memset(executed, 0, sizeof(*executed));
	while (!err && (entry = readdir(files))) {
		int fd, pid, number;

		if (!code_read_name(entry->d_name, RECORD_PREFIX, &pid, &number))
			continue;
		fd = openat(dirfd(files), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		err = add_file(fd, images, executed);
		close(fd);
	}
	if (files)
		closedir(files);
	image_table_free(images);
	return err;
}
