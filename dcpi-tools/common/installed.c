#include "dcpi-tools/common/installed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
installed_find(const char *name, char path[PATH_MAX])
{
	char self[PATH_MAX], place[PATH_MAX + NAME_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	snprintf(path, PATH_MAX, "/proc/self/exe");
	if (length <= 0)
		return -errno;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	if (snprintf(place, sizeof(place), "%s/../lib/dcpi/%s", self, name) >= (int)sizeof(place))
		return -ENAMETOOLONG;
	if (realpath(place, path))
		return 0;
	snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, place);
	return -errno;
}
