#include "event/names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct name_entry {
	const char *name;
	const char *alias; /* NULL: none */
	uint32_t type;
	uint64_t config;
	const char *unit;
};

#define HARDWARE(name, alias, config, unit)                                                                            \
	{                                                                                                              \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, unit                                          \
	}
#define SOFTWARE(name, alias, config, unit)                                                                            \
	{                                                                                                              \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, unit                                          \
	}

static const struct name_entry entries[] = {
	HARDWARE("cycles", "cpu-cycles", CPU_CYCLES, "cycles"),
	HARDWARE("instructions", NULL, INSTRUCTIONS, "events"),
	HARDWARE("cache-references", NULL, CACHE_REFERENCES, "events"),
	HARDWARE("cache-misses", NULL, CACHE_MISSES, "events"),
	HARDWARE("branches", "branch-instructions", BRANCH_INSTRUCTIONS, "events"),
	HARDWARE("branch-misses", NULL, BRANCH_MISSES, "events"),
	HARDWARE("bus-cycles", NULL, BUS_CYCLES, "cycles"),
	HARDWARE("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND, "cycles"),
	HARDWARE("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND, "cycles"),
	HARDWARE("ref-cycles", NULL, REF_CPU_CYCLES, "cycles"),
	SOFTWARE("cpu-clock", NULL, CPU_CLOCK, "ns"),
	SOFTWARE("task-clock", NULL, TASK_CLOCK, "ns"),
	SOFTWARE("page-faults", "faults", PAGE_FAULTS, "events"),
	SOFTWARE("context-switches", "cs", CONTEXT_SWITCHES, "events"),
	SOFTWARE("cpu-migrations", "migrations", CPU_MIGRATIONS, "events"),
	SOFTWARE("minor-faults", NULL, PAGE_FAULTS_MIN, "events"),
	SOFTWARE("major-faults", NULL, PAGE_FAULTS_MAJ, "events"),
	SOFTWARE("alignment-faults", NULL, ALIGNMENT_FAULTS, "events"),
	SOFTWARE("emulation-faults", NULL, EMULATION_FAULTS, "events"),
	SOFTWARE("cgroup-switches", NULL, CGROUP_SWITCHES, "events"),
};

#define ENTRY_COUNT (sizeof(entries) / sizeof(entries[0]))

#define READ     (1U << PERF_COUNT_HW_CACHE_OP_READ)
#define WRITE    (1U << PERF_COUNT_HW_CACHE_OP_WRITE)
#define PREFETCH (1U << PERF_COUNT_HW_CACHE_OP_PREFETCH)

/* Indexed by PERF_COUNT_HW_CACHE_...; what cannot happen to a cache has no name in perf either. */
static const struct {
	const char *name;
	unsigned operations;
} caches[PERF_COUNT_HW_CACHE_MAX] = {
	[PERF_COUNT_HW_CACHE_L1D] = {"L1-dcache", READ | WRITE | PREFETCH},
	[PERF_COUNT_HW_CACHE_L1I] = {"L1-icache", READ | PREFETCH},
	[PERF_COUNT_HW_CACHE_LL] = {"LLC", READ | WRITE | PREFETCH},
	[PERF_COUNT_HW_CACHE_DTLB] = {"dTLB", READ | WRITE | PREFETCH},
	[PERF_COUNT_HW_CACHE_ITLB] = {"iTLB", READ},
	[PERF_COUNT_HW_CACHE_BPU] = {"branch", READ},
	[PERF_COUNT_HW_CACHE_NODE] = {"node", READ | WRITE | PREFETCH},
};

/* Indexed by operation and result. */
static const char *const accesses[PERF_COUNT_HW_CACHE_OP_MAX][PERF_COUNT_HW_CACHE_RESULT_MAX] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = {"loads", "load-misses"},
	[PERF_COUNT_HW_CACHE_OP_WRITE] = {"stores", "store-misses"},
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = {"prefetches", "prefetch-misses"},
};

/* Every cache event is the combination of the three; counts through them all. */
#define CACHE_EVENTS (PERF_COUNT_HW_CACHE_MAX * PERF_COUNT_HW_CACHE_OP_MAX * PERF_COUNT_HW_CACHE_RESULT_MAX)

/* Name and config of combination `index`; false when there is no such event. */
static bool
cache_event(unsigned index, char name[EVENT_NAME_SIZE], uint64_t *config)
{
	unsigned result = index % PERF_COUNT_HW_CACHE_RESULT_MAX;
	unsigned operation = index / PERF_COUNT_HW_CACHE_RESULT_MAX % PERF_COUNT_HW_CACHE_OP_MAX;
	unsigned cache = index / PERF_COUNT_HW_CACHE_RESULT_MAX / PERF_COUNT_HW_CACHE_OP_MAX;

	if (!(caches[cache].operations & 1U << operation))
		return false;
	snprintf(name, EVENT_NAME_SIZE, "%s-%s", caches[cache].name, accesses[operation][result]);
	*config = cache | operation << 8 | result << 16;
	return true;
}

static const struct name_entry *
find_entry(const char *name)
{
	for (size_t i = 0; i < ENTRY_COUNT; i++)
		if (strcasecmp(entries[i].name, name) == 0 ||
		    (entries[i].alias && strcasecmp(entries[i].alias, name) == 0))
			return &entries[i];
	return NULL;
}

void
event_encoding_set_unit(struct event_encoding *encoding, const char *unit)
{
	snprintf(encoding->unit, sizeof(encoding->unit), "%s", unit);
}

bool
event_name_find(const char *name, struct event_encoding *encoding, char canonical[EVENT_NAME_SIZE])
{
	const struct name_entry *entry = find_entry(name);

	memset(encoding, 0, sizeof(*encoding));
	if (entry) {
		encoding->type = entry->type;
		encoding->config = entry->config;
		event_encoding_set_unit(encoding, entry->unit);
		snprintf(canonical, EVENT_NAME_SIZE, "%s", entry->name);
		return true;
	}
	for (unsigned i = 0; i < CACHE_EVENTS; i++) {
		if (!cache_event(i, canonical, &encoding->config) || strcasecmp(canonical, name) != 0)
			continue;
		encoding->type = PERF_TYPE_HW_CACHE;
		event_encoding_set_unit(encoding, "events");
		return true;
	}
	return false;
}

bool
event_name_of_encoding(uint32_t type, uint64_t config, char name[EVENT_NAME_SIZE])
{
	uint64_t cache;

	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		if (entries[i].type != type || entries[i].config != config)
			continue;
		snprintf(name, EVENT_NAME_SIZE, "%s", entries[i].name);
		return true;
	}
	for (unsigned i = 0; type == PERF_TYPE_HW_CACHE && i < CACHE_EVENTS; i++)
		if (cache_event(i, name, &cache) && cache == config)
			return true;
	return false;
}

const char *
event_name_alias(const char *name)
{
	const struct name_entry *entry = find_entry(name);

	if (!entry)
		return NULL;
	return strcasecmp(entry->name, name) == 0 ? entry->alias : entry->name;
}

void
event_names_suggest(struct suggestion *suggestion)
{
	char name[EVENT_NAME_SIZE];
	uint64_t config;

	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		suggestion_consider(suggestion, entries[i].name);
		if (entries[i].alias)
			suggestion_consider(suggestion, entries[i].alias);
	}
	for (unsigned i = 0; i < CACHE_EVENTS; i++)
		if (cache_event(i, name, &config))
			suggestion_consider(suggestion, name);
}
