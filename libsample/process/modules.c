#include "process/modules.h"

#include <errno.h>
#include <string.h>

#include "process/lines.h"

/* "ext4 1048576 2 jbd2,mbcache, Live 0xffffffffc0201000 (E)". False for anything else. */
static bool
parse_module(char *line, struct module *module)
{
	char *end = strchr(line, ' ');
	const char *at;

	if (!end || end == line)
		return false;
	*end = '\0';
	module->name = line;
	at = end + 1;
	if (!parse_decimal(&at, &module->size))
		return false;
	at = strstr(at, " 0x");
	if (!at)
		return false;
	at += strlen(" 0x");
	return parse_hex(&at, &module->address);
}

struct pass {
	modules_visit *visit;
	void *context;
	bool any, shown; /* modules; those with an address */
};

static int
visit_line(void *context, char *line)
{
	struct pass *pass = context;
	struct module module;

	if (!parse_module(line, &module))
		return 0;
	pass->any = true;
	if (module.address == 0)
		return 0;
	pass->shown = true;
	return pass->visit(pass->context, &module);
}

int
modules_read(const char *procfs, modules_visit *visit, void *context)
{
	struct pass pass = {.visit = visit, .context = context};
	int result = lines_read(procfs, "modules", visit_line, &pass);

	if (result == -ENOENT)
		return 0;
	return result == 0 && pass.any && !pass.shown ? -EACCES : result;
}
