#include "event/precise.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "event/small_file.h"

#define IBS_STEP 16

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

uint32_t
precise_period_step(const char *sysfs, const struct event *event)
{
	static const char *const units[] = {"ibs_op", "ibs_fetch"};
	bool is_there = false;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		int64_t type;

		if (small_file_read_number(&type, "%s/bus/event_source/devices/%s/type", sysfs, units[i]))
			continue;
		is_there = true;
		if (event->encoding.type == (uint64_t)type)
			return IBS_STEP;
	}
	return is_there && event->precise > 0 ? IBS_STEP : 0;
}
