#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/kallsyms.h"
#include "process/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every string that is handed out is looked at to its end. */
static int
see_symbol(void *context, const struct kallsyms_symbol *symbol)
{
	size_t *bytes = context;

	if (symbol->address == 0)
		abort();
	*bytes += strlen(symbol->name) + strlen(symbol->module);
	return 0;
}

static int
see_module(void *context, const struct kernel_module *module)
{
	size_t *bytes = context;

	if (module->address == 0)
		abort();
	*bytes += strlen(module->name);
	return 0;
}

static char directory[] = "/tmp/dcpi-fuzz-XXXXXX";
static int memory = -1;

static void
remove_directory(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/kallsyms", directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/modules", directory);
	unlink(path);
	rmdir(directory);
}

/* A directory whose files are links to memory: disks are slow. */
static void
make_directory(void)
{
	char path[64], target[64];

	memory = memfd_create("proc", MFD_CLOEXEC);
	if (memory < 0 || !mkdtemp(directory))
		abort();
	snprintf(target, sizeof(target), "/proc/self/fd/%d", memory);
	snprintf(path, sizeof(path), "%s/kallsyms", directory);
	if (symlink(target, path) != 0)
		abort();
	snprintf(path, sizeof(path), "%s/modules", directory);
	if (symlink(target, path) != 0)
		abort();
	atexit(remove_directory);
}

static void
write_memory(const uint8_t *data, size_t size)
{
	if (memory < 0)
		make_directory();
	if (ftruncate(memory, 0) != 0 || pwrite(memory, data, size, 0) != (ssize_t)size)
		abort();
}

static void
read_lines(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line, *next;
	struct record_mmap mmap;
	size_t length;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		length = strlen(line);
		if (!proc_maps_parse(line, &mmap))
			continue;
		if (mmap.length == 0 || mmap.start + mmap.length < mmap.start)
			abort();
		if (mmap.path < line || mmap.path + strlen(mmap.path) > line + length)
			abort();
	}
	free(text);
}

/* The first byte says which of the files of /proc the rest is. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bytes = 0;

	if (size == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_lines(data + 1, size - 1);
		break;
	case 1:
		write_memory(data + 1, size - 1);
		(void)kallsyms_read(directory, see_symbol, &bytes);
		break;
	default:
		write_memory(data + 1, size - 1);
		(void)kernel_modules_read(directory, see_module, &bytes);
	}
	return 0;
}
