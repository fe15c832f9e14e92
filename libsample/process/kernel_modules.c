#include "process/kernel_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 16384

void
kernel_modules_fini(struct kernel_modules *modules)
{
	free(modules->modules);
	memset(modules, 0, sizeof(*modules));
}

static int
add_module(void *context, const struct module *module)
{
	struct kernel_modules *modules = context;
	size_t capacity = modules->capacity ? modules->capacity * 2 : 64, length = strlen(module->name);
	struct kernel_module *more;

	if (module->size == 0 || module->size > UINT64_MAX - module->address || length >= MODULE_NAME_SIZE)
		return 0;
	if (modules->count == MODULES_MAX)
		return 0;
	if (modules->count == modules->capacity) {
		more = realloc(modules->modules, capacity * sizeof(*more));
		if (!more)
			return -ENOMEM;
		modules->modules = more;
		modules->capacity = capacity;
	}
	more = &modules->modules[modules->count++];
	*more = (struct kernel_module){.start = module->address, .size = module->size};
	memcpy(more->name, module->name, length);
	return 0;
}

static int
compare_start(const void *left, const void *right)
{
	const struct kernel_module *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

int
kernel_modules_read(const char *procfs, struct kernel_modules *modules)
{
	int err = modules_read(procfs, add_module, modules);

	if (modules->count > 1)
		qsort(modules->modules, modules->count, sizeof(*modules->modules), compare_start);
	return err;
}

bool
kernel_modules_equal(const struct kernel_modules *left, const struct kernel_modules *right)
{
	if (left->count != right->count)
		return false;
	for (size_t i = 0; i < left->count; i++) {
		const struct kernel_module *a = &left->modules[i], *b = &right->modules[i];

		if (a->start != b->start || a->size != b->size || strcmp(a->name, b->name) != 0)
			return false;
	}
	return true;
}
