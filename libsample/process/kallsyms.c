#include "process/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/proc.h"

/* One pass over a list. All addresses are zero when the kernel hides them. */
struct kallsyms_pass {
	kallsyms_visit *visit_symbol;
	kernel_modules_visit *visit_module;
	void *context;
	bool any, shown; /* entries; those with an address */
};

static int
pass_result(const struct kallsyms_pass *pass, int result)
{
	return result == 0 && pass->any && !pass->shown ? -EACCES : result;
}

/* ---- functions ---- */

/* "ffffffff81000000 T _stext" or "ffffffffc0201000 t ext4_fill_super\t[ext4]". False for anything else. */
static bool
parse_symbol(char *line, struct kallsyms_symbol *symbol)
{
	const char *at = line;
	char *name, *end;

	if (!proc_text_hex(&at, &symbol->address) || at[0] != ' ' || at[1] == '\0' || at[2] != ' ' || at[3] == '\0')
		return false;
	symbol->type = at[1];
	name = line + (at - line) + 3;
	symbol->name = name;
	symbol->module = "";
	end = strchr(name, '\t');
	if (!end)
		return true;
	*end = '\0';
	if (end[1] != '[')
		return true;
	symbol->module = end + 2;
	end = strchr(end + 2, ']');
	if (end)
		*end = '\0';
	return true;
}

static int
visit_symbol_line(void *context, char *line)
{
	struct kallsyms_pass *pass = context;
	struct kallsyms_symbol symbol;

	if (!parse_symbol(line, &symbol))
		return 0;
	pass->any = true;
	if (symbol.address == 0)
		return 0;
	pass->shown = true;
	return pass->visit_symbol(pass->context, &symbol);
}

int
kallsyms_read(const char *procfs, kallsyms_visit *visit, void *context)
{
	struct kallsyms_pass pass = {.visit_symbol = visit, .context = context};
	int result = proc_text_read(procfs, "kallsyms", visit_symbol_line, &pass);

	/* A unit with ProtectKernelTunables has something mounted over it; the first process has not. */
	if (result < 0 && !pass.any) {
		const int of_first = proc_text_read(procfs, "1/root/proc/kallsyms", visit_symbol_line, &pass);

		result = pass.any ? of_first : result;
	}
	return pass_result(&pass, result);
}

/* Address and type, then name and module, each with its NUL, for one symbol after the other. */
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

/* ---- modules ---- */

/* "ext4 1048576 2 jbd2,mbcache, Live 0xffffffffc0201000 (E)". False for anything else. */
static bool
parse_module(char *line, struct kernel_module *module)
{
	char *end = strchr(line, ' ');
	const char *at;

	if (!end || end == line)
		return false;
	*end = '\0';
	module->name = line;
	at = end + 1;
	if (!proc_text_decimal(&at, &module->size))
		return false;
	at = strstr(at, " 0x");
	if (!at)
		return false;
	at += strlen(" 0x");
	return proc_text_hex(&at, &module->address);
}

static int
visit_module_line(void *context, char *line)
{
	struct kallsyms_pass *pass = context;
	struct kernel_module module;

	if (!parse_module(line, &module))
		return 0;
	pass->any = true;
	if (module.address == 0)
		return 0;
	pass->shown = true;
	return pass->visit_module(pass->context, &module);
}

int
kernel_modules_read(const char *procfs, kernel_modules_visit *visit, void *context)
{
	struct kallsyms_pass pass = {.visit_module = visit, .context = context};
	const int result = proc_text_read(procfs, "modules", visit_module_line, &pass);

	return result == -ENOENT ? 0 : pass_result(&pass, result);
}
