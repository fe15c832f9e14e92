#include "process/kernel_modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/lines.h"

#define MODULES_MAX 16384

void
kernel_modules_fini(struct kernel_modules *modules)
{
	free(modules->modules);
	memset(modules, 0, sizeof(*modules));
}

/* Behind the next space, or NULL. */
static const char *
next_field(const char *at)
{
	const char *space = strchr(at, ' ');

	return space ? space + 1 : NULL;
}

/* "ext4 1048576 1 mbcache,jbd2, Live 0xffffffffc0200000 (E)". False for another form or a hidden address. */
static bool
parse_module(const char *line, struct kernel_module *module)
{
	const char *at = next_field(line);
	size_t length = at ? (size_t)(at - line) - 1 : 0;

	if (length == 0 || length >= sizeof(module->name))
		return false;
	memset(module, 0, sizeof(*module)); /* lists are compared as bytes */
	memcpy(module->name, line, length);
	if (!parse_decimal(&at, &module->size) || *at != ' ' || module->size == 0)
		return false;
	for (unsigned skipped = 0; at && skipped < 4; skipped++)
		at = next_field(at);
	if (!at || at[0] != '0' || at[1] != 'x')
		return false;
	at += 2;
	return parse_hex(&at, &module->start) && module->start != 0 && module->size <= UINT64_MAX - module->start;
}

static int
append(struct kernel_modules *modules, const struct kernel_module *module)
{
	size_t capacity = modules->capacity ? modules->capacity * 2 : 64;
	struct kernel_module *more;

	if (modules->count == MODULES_MAX)
		return 0;
	if (modules->count == modules->capacity) {
		more = realloc(modules->modules, capacity * sizeof(*more));
		if (!more)
			return -ENOMEM;
		modules->modules = more;
		modules->capacity = capacity;
	}
	modules->modules[modules->count++] = *module;
	return 0;
}

static int
compare_start(const void *left, const void *right)
{
	const struct kernel_module *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int
read_modules(struct line_reader *reader, struct kernel_modules *modules)
{
	struct kernel_module module;
	char *line;
	int result;

	while ((result = lines_next(reader, &line)) > 0) {
		if (!parse_module(line, &module))
			continue;
		result = append(modules, &module);
		if (result)
			break;
	}
	if (modules->count > 1)
		qsort(modules->modules, modules->count, sizeof(module), compare_start);
	return result;
}

int
kernel_modules_read(const char *procfs, struct kernel_modules *modules)
{
	struct line_reader *reader;
	char path[PATH_MAX];
	int fd, err = -ENOMEM;

	if (snprintf(path, sizeof(path), "%s/modules", procfs) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	reader = malloc(sizeof(*reader));
	if (reader) {
		lines_init(reader, fd);
		err = read_modules(reader, modules);
		free(reader);
	}
	close(fd);
	return err;
}
