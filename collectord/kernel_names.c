#include "collectord/kernel_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "process/kallsyms.h"
#include "process/modules.h"

#define PROCFS "/proc"

struct names {
	char module[MODULE_NAME_SIZE]; /* "" for the kernel itself */
	uint64_t start, end;           /* addresses of its text */
	struct profile_symbol *symbols;
	size_t count, capacity;
};

static bool
is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static int
names_add(struct names *names, uint64_t offset, const char *name)
{
	if (names->count == names->capacity) {
		size_t capacity = names->capacity ? 2 * names->capacity : 4096;
		struct profile_symbol *symbols = reallocarray(names->symbols, capacity, sizeof(*symbols));

		if (!symbols)
			return -ENOMEM;
		names->symbols = symbols;
		names->capacity = capacity;
	}
	name = strdup(name);
	if (!name)
		return -ENOMEM;
	names->symbols[names->count++] = (struct profile_symbol){.offset = offset, .name = name};
	return 0;
}

static void
names_fini(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free((char *)names->symbols[i].name);
	free(names->symbols);
}

static int
see_bound(void *context, const struct kallsyms_symbol *symbol)
{
	struct names *names = context;

	if (symbol->module[0])
		return 0;
	if (!strcmp(symbol->name, "_stext"))
		names->start = symbol->address;
	else if (!strcmp(symbol->name, "_etext"))
		names->end = symbol->address;
	return 0;
}

static int
see_module(void *context, const struct module *module)
{
	struct names *names = context;

	if (strcmp(module->name, names->module) != 0)
		return 0;
	names->start = module->address;
	names->end = module->address + module->size;
	return 1;
}

/* Where the image's code lies while the kernel runs: its distances are counted from there. */
static int
find_bounds(struct names *names)
{
	int result;

	if (names->module[0])
		result = modules_read(PROCFS, see_module, names);
	else
		result = kallsyms_read(PROCFS, see_bound, names);
	if (result < 0)
		return result;
	return names->start < names->end ? 0 : -ENOENT;
}

static int
see_function(void *context, const struct kallsyms_symbol *symbol)
{
	struct names *names = context;

	if (!is_code(symbol->type) || strcmp(symbol->module, names->module) != 0)
		return 0;
	if (symbol->address < names->start || symbol->address >= names->end)
		return 0;
	return names_add(names, symbol->address - names->start, symbol->name);
}

static int
by_offset(const void *left, const void *right)
{
	const struct profile_symbol *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* "[ext4]" is the module ext4. */
static void
module_of(const struct image *image, char name[MODULE_NAME_SIZE])
{
	size_t size = strlen(image->path);

	name[0] = '\0';
	if (image->kind != IMAGE_MODULE || size < 2 || size - 2 >= MODULE_NAME_SIZE)
		return;
	memcpy(name, image->path + 1, size - 2);
	name[size - 2] = '\0';
}

int
kernel_names_store(struct profile *profile, uint32_t number, const struct image *image)
{
	struct names names = {0};
	int err;

	module_of(image, names.module);
	err = find_bounds(&names);
	if (!err)
		err = kallsyms_read(PROCFS, see_function, &names);
	if (!err && names.count == 0)
		err = -ENOENT;
	if (!err) {
		qsort(names.symbols, names.count, sizeof(*names.symbols), by_offset);
		err = profile_put_symbols(profile, number, names.symbols, names.count);
	}
	names_fini(&names);
	return err;
}
