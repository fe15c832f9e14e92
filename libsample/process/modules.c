#include "process/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int
visit_all(struct line_reader *reader, modules_visit *visit, void *context)
{
	struct module module;
	bool any = false, shown = false;
	char *line;
	int result;

	while ((result = lines_next(reader, &line)) > 0) {
		if (!parse_module(line, &module))
			continue;
		any = true;
		if (module.address == 0)
			continue;
		shown = true;
		result = visit(context, &module);
		if (result)
			return result;
	}
	if (result == 0 && any && !shown)
		return -EACCES;
	return result;
}

int
modules_read(const char *procfs, modules_visit *visit, void *context)
{
	struct line_reader *reader;
	char path[PATH_MAX];
	int fd, result;

	if (snprintf(path, sizeof(path), "%s/modules", procfs) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	reader = malloc(sizeof(*reader));
	result = -ENOMEM;
	if (reader) {
		lines_init(reader, fd);
		result = visit_all(reader, visit, context);
	}
	free(reader);
	close(fd);
	return result;
}
