#include "process/kallsyms_copy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Address and type, then name and module, each with its NUL, one symbol behind the other. */
#define FIXED_SIZE (sizeof(uint64_t) + 1)

struct kallsyms_copy {
	char *data;
	size_t size, capacity;
};

struct kallsyms_copy *
kallsyms_copy_new(void)
{
	return calloc(1, sizeof(struct kallsyms_copy));
}

void
kallsyms_copy_free(struct kallsyms_copy *copy)
{
	if (!copy)
		return;
	free(copy->data);
	free(copy);
}

static bool
is_worth_keeping(const struct kallsyms_symbol *symbol)
{
	if (strchr("tTwW", symbol->type))
		return true;
	return symbol->name[0] == '_' && (strcmp(symbol->name, "_stext") == 0 || strcmp(symbol->name, "_etext") == 0);
}

int
kallsyms_copy_add(struct kallsyms_copy *copy, const struct kallsyms_symbol *symbol)
{
	const size_t name_size = strlen(symbol->name) + 1, module_size = strlen(symbol->module) + 1;
	const size_t size = FIXED_SIZE + name_size + module_size;
	char *data;

	if (!is_worth_keeping(symbol))
		return 0;
	data = array_grow(copy->data, &copy->capacity, copy->size + size, 1);
	if (!data)
		return -ENOMEM;
	copy->data = data;
	data += copy->size;
	memcpy(data, &symbol->address, sizeof(symbol->address));
	data[sizeof(symbol->address)] = symbol->type;
	memcpy(data + FIXED_SIZE, symbol->name, name_size);
	memcpy(data + FIXED_SIZE + name_size, symbol->module, module_size);
	copy->size += size;
	return 0;
}

int
kallsyms_copy_visit(const struct kallsyms_copy *copy, kallsyms_visit *visit, void *context)
{
	int result = 0;

	for (size_t at = 0; !result && at < copy->size;) {
		const char *data = copy->data + at;
		struct kallsyms_symbol symbol = {.type = data[sizeof(uint64_t)], .name = data + FIXED_SIZE};

		memcpy(&symbol.address, data, sizeof(symbol.address));
		symbol.module = symbol.name + strlen(symbol.name) + 1;
		at += (size_t)(symbol.module + strlen(symbol.module) + 1 - data);
		result = visit(context, &symbol);
	}
	return result;
}
