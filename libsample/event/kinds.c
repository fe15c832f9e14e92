#include "event/kinds.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu_list.h"
#include "base/error.h"
#include "event/modifiers.h"
#include "event/names.h"
#include "event/small_file.h"

#define DEVICES   "bus/event_source/devices"
#define KINDS_MAX 8

struct kind {
	char pmu[NAME_MAX + 1];
	int64_t type;
};

bool
kind_is_core(const char *sysfs, const char *pmu)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/" DEVICES "/%s/cpus", sysfs, pmu) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

bool
kind_is_generic(const struct event_encoding *encoding)
{
	return encoding->type == PERF_TYPE_HARDWARE || encoding->type == PERF_TYPE_HW_CACHE;
}

static int
compare_kinds(const void *a, const void *b)
{
	const int64_t x = ((const struct kind *)a)->type, y = ((const struct kind *)b)->type;

	return (x > y) - (x < y);
}

/* A kind whose CPUs are all offline cannot be asked, and has nothing to count. */
static bool
read_kind(const char *sysfs, const char *pmu, struct kind *kind)
{
	char cpus[8];
	int err;

	if (pmu[0] == '.')
		return false;
	err = small_file_read(cpus, sizeof(cpus), "%s/" DEVICES "/%s/cpus", sysfs, pmu);
	if ((err && err != -EFBIG) || (!err && !*cpus))
		return false;
	snprintf(kind->pmu, sizeof(kind->pmu), "%s", pmu);
	return small_file_read_number(&kind->type, "%s/" DEVICES "/%s/type", sysfs, pmu) == 0;
}

/* The kinds of core that are online, in the order of their types. */
static size_t
read_kinds(const char *sysfs, struct kind kinds[KINDS_MAX])
{
	struct dirent *entry;
	char path[PATH_MAX];
	size_t count = 0;
	DIR *directory;

	if (snprintf(path, sizeof(path), "%s/" DEVICES, sysfs) >= (int)sizeof(path))
		return 0;
	directory = opendir(path);
	if (!directory)
		return 0;
	while (count < KINDS_MAX && (entry = readdir(directory)))
		count += read_kind(sysfs, entry->d_name, &kinds[count]);
	closedir(directory);
	qsort(kinds, count, sizeof(*kinds), compare_kinds);
	return count;
}

int
event_cpus(const char *sysfs, const char *name, uint32_t **cpus)
{
	static const char *const files[] = {"cpus", "cpumask"};
	const char *slash = strchr(name, '/');
	char path[PATH_MAX];

	*cpus = NULL;
	if (!slash)
		return 0;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int count;

		if (snprintf(path, sizeof(path), "%s/" DEVICES "/%.*s/%s", sysfs, (int)(slash - name), name,
		             files[i]) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		count = cpu_list_read(path, cpus);
		if (count != -ENOENT)
			return count;
	}
	return 0;
}

int
kind_cpu(const char *sysfs, const char *name, int cpu)
{
	uint32_t *cpus = NULL, *online = NULL;
	int count = event_cpus(sysfs, name, &cpus), online_count = -1, chosen = -1;
	char path[PATH_MAX];

	if (count > 0 && snprintf(path, sizeof(path), "%s/devices/system/cpu/online", sysfs) < (int)sizeof(path))
		online_count = cpu_list_read(path, &online);
	for (int i = 0; i < count; i++) {
		if (cpus[i] == (uint32_t)cpu)
			chosen = cpu;
		if (chosen < 0 && (online_count < 0 || cpu_list_has(online, online_count, cpus[i])))
			chosen = (int)cpus[i];
	}
	free(cpus);
	free(online);
	return chosen < 0 ? cpu : chosen;
}

bool
event_is_other_kind(const struct event *event, const struct event *other)
{
	return strchr(event->name, '/') && strchr(other->name, '/') && strcmp(event->name, other->name) != 0 &&
	       strcmp(event->requested, other->requested) == 0;
}

/* What is to become one event for each kind. */
struct request {
	const struct event_environment *environment;
	const struct event_spec *spec;
	char canonical[EVENT_NAME_SIZE];
	const char *modifiers; /* ":u" */
	char *why;
	size_t size;
};

/* The event of `kind`: cycles:u becomes cpu_core/cycles/:u. As event_resolve(). */
static int
resolve_kind(const struct request *request, const struct kind *kind, struct event *event)
{
	struct event_spec spec = *request->spec;
	int err;

	if (snprintf(spec.name, sizeof(spec.name), "%s/%s/%s", kind->pmu, request->canonical, request->modifiers) >=
	    (int)sizeof(spec.name))
		return -ENAMETOOLONG;
	err = event_resolve(request->environment, &spec, event, request->why, request->size);
	snprintf(event->requested, sizeof(event->requested), "%s", request->spec->name);
	return err;
}

/* One event for each kind. How many; 0 when one cannot be counted as what it is: then all are better asked for as one.
 */
static int
resolve_each(const struct request *request, size_t max, struct event *events)
{
	struct kind kinds[KINDS_MAX];
	size_t count = read_kinds(request->environment->sysfs, kinds);

	if (count < 2 || count > max)
		return 0;
	for (size_t i = 0; i < count; i++) {
		int err = resolve_kind(request, &kinds[i], &events[i]);

		if (err)
			return err == -ENAMETOOLONG ? 0 : err;
		if (events[i].available && !strchr(events[i].name, '/'))
			return 0; /* a timer stands in for it */
	}
	return (int)count;
}

int
event_resolve_kinds(const struct event_environment *environment, const struct event_spec *spec, struct event *events,
                    size_t max, char *why, size_t size)
{
	struct request request = {.environment = environment, .spec = spec, .why = why, .size = size};
	struct event_modifiers modifiers;
	struct event_encoding encoding;
	char bare[EVENT_NAME_SIZE];
	int result;

	if (max == 0) {
		snprintf(why, size, "%s: there are more than %d events", spec->name, EVENTS_MAX);
		return -E2BIG;
	}
	result = event_modifiers_split(spec->name, bare, &modifiers, why, size);
	if (result)
		return result;
	request.modifiers = spec->name + strlen(bare);
	if (event_name_find(bare, &encoding, request.canonical) && kind_is_generic(&encoding))
		result = resolve_each(&request, max, events);
	if (result)
		return result;
	result = event_resolve(environment, spec, &events[0], why, size);
	return result ? result : 1;
}
