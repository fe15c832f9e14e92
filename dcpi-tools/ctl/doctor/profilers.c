#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dcpi-tools/common/text.h"
#include "dcpi-tools/ctl/doctor/checks.h"
#include "event/small_file.h"

#define DESCRIPTORS_MAX 4096 /* looked at in each process */
#define SHOWN_MAX       3    /* processes that are named */
#define PERF_EVENT      "anon_inode:[perf_event]"

/* How many of its descriptors are perf events; those of other users only root may look at. */
static unsigned
count_events(const char *procfs, const char *pid)
{
	char path[PATH_MAX], target[sizeof(PERF_EVENT)];
	unsigned count = 0, seen = 0;
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/%s/fd", procfs, pid);
	folder = opendir(path);
	if (!folder)
		return 0;
	while (seen++ < DESCRIPTORS_MAX && (entry = readdir(folder)) != NULL) {
		const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target));

		count += length == (ssize_t)strlen(PERF_EVENT) && memcmp(target, PERF_EVENT, strlen(PERF_EVENT)) == 0;
	}
	closedir(folder);
	return count;
}

static void
add_profiler(const struct surroundings *around, const char *pid, unsigned count, struct ctl_findings *findings)
{
	char name[64], *shown;

	if (small_file_read(name, sizeof(name), "%s/%s/comm", around->kernel.procfs, pid))
		return;
	shown = text_shown(name);
	findings_add(findings, SEVERITY_WARNING, "profilers",
	             "%s (process %s) has %u perf event%s open: it may share the hardware counters with dcpid",
	             shown ? shown : "?", pid, count, count == 1 ? "" : "s");
	findings_mend(findings, "kill -INT %s", pid);
	free(shown);
}

void
examine_profilers(const struct surroundings *around, bool has_counters, struct ctl_findings *findings)
{
	const pid_t daemon = (pid_t)json_integer_value(json_object_get(around->status, "pid"));
	unsigned shown = 0, count;
	struct dirent *entry;
	DIR *processes;

	processes = has_counters ? opendir(around->kernel.procfs) : NULL; /* without any there is nothing to share */
	if (!processes)
		return;
	while (shown < SHOWN_MAX && (entry = readdir(processes)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]) || strtol(entry->d_name, NULL, 10) == daemon)
			continue;
		count = count_events(around->kernel.procfs, entry->d_name);
		if (count == 0)
			continue;
		add_profiler(around, entry->d_name, count, findings);
		shown++;
	}
	closedir(processes);
}
