#include "dcpi-tools/loc/flags.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"

#define LIBRARY "libdcpi-locality.so"

/* The first number of the version that $CC says. 0: after a message. */
static unsigned
version_of_compiler(const char *compiler)
{
	char command[PATH_MAX + 32];
	unsigned version = 0;
	FILE *said;

	if ((size_t)snprintf(command, sizeof(command), "%s -dumpversion", compiler) >= sizeof(command))
		return 0;
	said = popen(command, "re"); /* $CC may have options: a shell reads it, as make does */
	if (!said || fscanf(said, "%u", &version) != 1)
		version = 0;
	if (said && pclose(said))
		version = 0;
	if (!version)
		message_print(compiler, "it does not say its version: CC names another compiler");
	return version;
}

int
loc_print_compiler_flags(bool by_source)
{
	const char *compiler = getenv("CC");
	char name[64], path[PATH_MAX];
	unsigned version;

	if (!compiler || !*compiler)
		compiler = "gcc";
	version = version_of_compiler(compiler);
	if (!version)
		return STATUS_FAILURE;
	snprintf(name, sizeof(name), "dcpi-locality-gcc%u%s.so", version, by_source ? "-source" : "");
	if (child_find_installed(name, path)) {
		message_print(compiler, "there is no plugin for GCC %u (%s): CC names another compiler", version, path);
		return STATUS_FAILURE;
	}
	printf("-fplugin=%s\n", path);
	return STATUS_OK;
}

int
loc_print_linker_flags(void)
{
	char path[PATH_MAX];
	const int err = child_find_installed(LIBRARY, path);
	char *slash = strrchr(path, '/');

	if (err || !slash)
		return message_cannot(path, "find the library", err, "is dcpi installed whole?");
	*slash = '\0';
	printf("-L%s -Wl,-rpath,%s -ldcpi-locality\n", path, path);
	return STATUS_OK;
}
