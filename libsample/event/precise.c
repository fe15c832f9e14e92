#include "event/precise.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

bool
precise_may_be_asked(const char *sysfs)
{
	bool told = false, any = false;
	struct dirent *entry;
	char path[PATH_MAX];
	DIR *directory;

	if (snprintf(path, sizeof(path), "%s/bus/event_source/devices", sysfs) >= (int)sizeof(path))
		return true;
	directory = opendir(path);
	if (!directory)
		return true;
	while (!told && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		any = true;
		told = snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/caps/max_precise", sysfs,
		                entry->d_name) < (int)sizeof(path) &&
		       access(path, F_OK) == 0;
	}
	closedir(directory);
	return told || !any;
}
