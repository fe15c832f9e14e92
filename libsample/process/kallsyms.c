#include "process/kallsyms.h"

#include <errno.h>
#include <string.h>

#include "process/lines.h"

/* "ffffffff81000000 T _stext" or "ffffffffc0201000 t ext4_fill_super\t[ext4]". False for anything else. */
static bool
parse_symbol(char *line, struct kallsyms_symbol *symbol)
{
	const char *at = line;
	char *name, *end;

	if (!parse_hex(&at, &symbol->address) || at[0] != ' ' || at[1] == '\0' || at[2] != ' ' || at[3] == '\0')
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

struct pass {
	kallsyms_visit *visit;
	void *context;
	bool any, shown; /* symbols; those with an address */
};

static int
visit_line(void *context, char *line)
{
	struct pass *pass = context;
	struct kallsyms_symbol symbol;

	if (!parse_symbol(line, &symbol))
		return 0;
	pass->any = true;
	if (symbol.address == 0)
		return 0;
	pass->shown = true;
	return pass->visit(pass->context, &symbol);
}

int
kallsyms_read(const char *procfs, kallsyms_visit *visit, void *context)
{
	struct pass pass = {.visit = visit, .context = context};
	int result = lines_read(procfs, "kallsyms", visit_line, &pass);

	/* A unit with ProtectKernelTunables has something mounted over it; the first process has not. */
	if (result < 0 && !pass.any) {
		const int there = lines_read(procfs, "1/root/proc/kallsyms", visit_line, &pass);

		result = pass.any ? there : result;
	}
	return result == 0 && pass.any && !pass.shown ? -EACCES : result;
}
