#include "dcpi-tools/mem/tracked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/object_log.h"

int
tracked_set_environment(const char *library, const char *directory)
{
	const char *preloaded = getenv("LD_PRELOAD");
	char *libraries = NULL;
	int err = 0;

	if (preloaded && *preloaded && asprintf(&libraries, "%s:%s", library, preloaded) < 0)
		err = -ENOMEM;
	else if (setenv("LD_PRELOAD", libraries ? libraries : library, 1) ||
	         setenv(OBJECT_LOG_DIRECTORY, directory, 1) || setenv(OBJECT_LOG_READ, "1", 1))
		err = -errno;
	free(libraries);
	return err;
}

int
tracked_find_directory(pid_t pid, char *directory, size_t size)
{
	static const char name[] = OBJECT_LOG_DIRECTORY "=";
	char path[64], *variable = NULL;
	size_t room = 0;
	int err = -ENOENT;
	FILE *environment;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	environment = fopen(path, "re");
	if (!environment)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err == -ENOENT && getdelim(&variable, &room, '\0', environment) > 0) {
		if (strncmp(variable, name, sizeof(name) - 1) != 0 || !variable[sizeof(name) - 1])
			continue;
		err = (size_t)snprintf(directory, size, "%s", variable + sizeof(name) - 1) < size ? 0 : -ENAMETOOLONG;
	}
	free(variable);
	fclose(environment);
	return err;
}
