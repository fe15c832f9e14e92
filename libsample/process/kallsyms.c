#include "process/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int
visit_all(struct line_reader *reader, kallsyms_visit *visit, void *context)
{
	struct kallsyms_symbol symbol;
	bool any = false, shown = false;
	char *line;
	int result;

	while ((result = lines_next(reader, &line)) > 0) {
		if (!parse_symbol(line, &symbol))
			continue;
		any = true;
		if (symbol.address == 0)
			continue;
		shown = true;
		result = visit(context, &symbol);
		if (result)
			return result;
	}
	if (result == 0 && any && !shown)
		return -EACCES;
	return result;
}

int
kallsyms_read(const char *procfs, kallsyms_visit *visit, void *context)
{
	struct line_reader *reader;
	char path[PATH_MAX];
	int fd, result;

	if (snprintf(path, sizeof(path), "%s/kallsyms", procfs) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	reader = malloc(sizeof(*reader));
	if (reader) {
		lines_init(reader, fd);
		result = visit_all(reader, visit, context);
		free(reader);
	} else {
		result = -ENOMEM;
	}
	close(fd);
	return result;
}
