#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/ctl/doctor/checks.h"

#define SUFFIX ".list"

/* The same file under the name it has where /lib and /usr/lib are one: dpkg may know either. NULL: memory ended. */
static char *
other_name(const char *path)
{
	char *other;

	if (strncmp(path, "/usr/", strlen("/usr/")) == 0)
		return strdup(path + strlen("/usr"));
	return asprintf(&other, "/usr%s", path) < 0 ? NULL : other;
}

static bool
lists_file(const char *list, const char *path, const char *other)
{
	FILE *stream = fopen(list, "re");
	char line[PATH_MAX];
	bool found = false;

	while (stream && !found && fgets(line, sizeof(line), stream)) {
		line[strcspn(line, "\n")] = '\0';
		found = strcmp(line, path) == 0 || strcmp(line, other) == 0;
	}
	if (stream)
		fclose(stream);
	return found;
}

/* "libc6" of "libc6:amd64.list"; false when the file is no list, or no name of a package. */
static bool
package_name(const char *file, char package[PACKAGE_NAME_SIZE])
{
	const size_t length = strlen(file), name = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789+-.");

	if (length <= strlen(SUFFIX) || strcmp(file + length - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	snprintf(package, PACKAGE_NAME_SIZE, "%.*s", (int)(file[name] == ':' ? name : length - strlen(SUFFIX)), file);
	return strspn(package, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == strlen(package);
}

int
package_of(const char *dpkg, const char *path, char package[PACKAGE_NAME_SIZE])
{
	char folder[PATH_MAX], list[PATH_MAX], *other = other_name(path);
	struct dirent *entry;
	int err = -ENOENT;
	DIR *lists;

	if (!other)
		return -ENOMEM;
	snprintf(folder, sizeof(folder), "%s/info", dpkg);
	lists = opendir(folder);
	while (lists && err && (entry = readdir(lists)) != NULL) {
		if (!package_name(entry->d_name, package) ||
		    snprintf(list, sizeof(list), "%s/%s", folder, entry->d_name) >= (int)sizeof(list))
			continue;
		if (lists_file(list, path, other))
			err = 0;
	}
	if (lists)
		closedir(lists);
	free(other);
	return err;
}

/* Debian makes a -dbgsym package of nearly everything; the C library's is called otherwise, and in the main archive. */
void
package_debug(const char *package, char debug[PACKAGE_NAME_SIZE])
{
	const bool is_libc = strcmp(package, "libc6") == 0 || strcmp(package, "libc6-i386") == 0;

	snprintf(debug, PACKAGE_NAME_SIZE, is_libc ? "libc6-dbg" : "%.*s-dbgsym", PACKAGE_NAME_SIZE - 8, package);
}

bool
package_debug_archive(const char *apt_lists)
{
	DIR *lists = opendir(apt_lists);
	struct dirent *entry;
	bool found = false;

	/* as apt names them: ..._debian-debug_dists_bookworm-debug_main_binary-amd64_Packages, ddebs.... */
	while (lists && !found && (entry = readdir(lists)) != NULL)
		found = strstr(entry->d_name, "-debug_") || strncmp(entry->d_name, "ddebs.", strlen("ddebs.")) == 0;
	if (lists)
		closedir(lists);
	return found;
}
