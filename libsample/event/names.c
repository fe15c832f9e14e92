#include "event/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"

void
event_suggestion_init(struct event_suggestion *suggestion, const char *word)
{
	suggestion->word = word;
	suggestion->best[0] = '\0';
}

void
event_suggestion_consider(struct event_suggestion *suggestion, const char *candidate)
{
	const char *const names[] = {suggestion->best, candidate};
	const char *best = suggest_name(suggestion->word, names, 2);

	if (best == candidate)
		snprintf(suggestion->best, sizeof(suggestion->best), "%s", candidate);
}

const char *
event_suggestion_get(const struct event_suggestion *suggestion)
{
	return suggestion->best[0] ? suggestion->best : NULL;
}

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

/* Events that have one name in perf on every machine. A further event of that kind is a row here, and nothing else. */
static const struct name_entry named_events[] = {
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

#define ENTRY_COUNT (sizeof(named_events) / sizeof(named_events[0]))

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
		if (strcasecmp(named_events[i].name, name) == 0 ||
		    (named_events[i].alias && strcasecmp(named_events[i].alias, name) == 0))
			return &named_events[i];
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

/* The name of what is encoded so; false when it has none. */
static bool
event_name_of_encoding(uint32_t type, uint64_t config, char name[EVENT_NAME_SIZE])
{
	uint64_t cache;

	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		if (named_events[i].type != type || named_events[i].config != config)
			continue;
		snprintf(name, EVENT_NAME_SIZE, "%s", named_events[i].name);
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
event_names_suggest(struct event_suggestion *suggestion)
{
	char name[EVENT_NAME_SIZE];
	uint64_t config;

	for (size_t i = 0; i < ENTRY_COUNT; i++) {
		event_suggestion_consider(suggestion, named_events[i].name);
		if (named_events[i].alias)
			event_suggestion_consider(suggestion, named_events[i].alias);
	}
	for (unsigned i = 0; i < CACHE_EVENTS; i++)
		if (cache_event(i, name, &config))
			event_suggestion_consider(suggestion, name);
}

/* Where the modifiers of `name` begin, or its end. A PMU's fields end with the second slash; a colon may follow. */
static const char *
find_modifiers(const char *name, size_t *bare_length)
{
	const char *slash = strchr(name, '/');
	const char *colon = strrchr(name, ':');
	const char *end;

	if (slash) {
		end = strchr(slash + 1, '/');
		end = end ? end + 1 : name + strlen(name);
		*bare_length = (size_t)(end - name);
		return *end == ':' ? end + 1 : end;
	}
	if (!colon) {
		*bare_length = strlen(name);
		return name + *bare_length;
	}
	*bare_length = (size_t)(colon - name);
	return colon + 1;
}

static int
refuse_modifiers(const char *name, char *why, size_t size)
{
	snprintf(why, size,
	         "%s: what follows the name of an event must be u (user mode), k (kernel mode), p, pp, ppp or P "
	         "(precise), or I (not the idle task)",
	         name);
	return -DCPI_ENOEVENT;
}

static bool
apply_letter(struct event_modifiers *modifiers, char letter)
{
	switch (letter) {
	case 'u':
		modifiers->user = true;
		return true;
	case 'k':
		modifiers->kernel = true;
		return true;
	case 'I':
		modifiers->no_idle = true;
		return true;
	case 'p':
		modifiers->has_precise = true;
		modifiers->precise++;
		return modifiers->precise <= EVENT_PRECISE_MAX;
	case 'P':
		modifiers->has_precise = true;
		modifiers->precise = EVENT_PRECISE_MAX;
		return true;
	default:
		return false;
	}
}

int
event_modifiers_split(const char *name, char bare[EVENT_NAME_SIZE], struct event_modifiers *modifiers, char *why,
                      size_t size)
{
	const char *letters;
	size_t length;

	memset(modifiers, 0, sizeof(*modifiers));
	if (strnlen(name, EVENT_NAME_SIZE) == EVENT_NAME_SIZE) {
		snprintf(why, size, "an event's name has at most %d characters", EVENT_NAME_SIZE - 1);
		return -DCPI_ENOEVENT;
	}
	letters = find_modifiers(name, &length);
	memcpy(bare, name, length);
	bare[length] = '\0';
	if (length == 0) {
		snprintf(why, size, "an event's name is empty");
		return -DCPI_ENOEVENT;
	}
	if (name[length] == ':' && !*letters)
		return refuse_modifiers(name, why, size);
	for (; *letters; letters++)
		if (!apply_letter(modifiers, *letters))
			return refuse_modifiers(name, why, size);
	return 0;
}

#define CONFIG_OF_KIND UINT64_C(0xffffffff) /* above it, which kind of core counts (pmu.h) */

static void
append_modifiers(const struct perf_event_attr *attr, char name[EVENT_NAME_SIZE])
{
	char modifiers[8] = "";
	size_t used = 0, size = strlen(name);

	if (attr->exclude_kernel && !attr->exclude_user)
		modifiers[used++] = 'u';
	if (attr->exclude_user && !attr->exclude_kernel)
		modifiers[used++] = 'k';
	for (unsigned i = 0; i < attr->precise_ip; i++)
		modifiers[used++] = 'p';
	modifiers[used] = '\0';
	if (used > 0)
		snprintf(name + size, EVENT_NAME_SIZE - size, ":%s", modifiers);
}

void
event_name_of(const struct perf_event_attr *attr, char name[EVENT_NAME_SIZE])
{
	uint64_t config = attr->config;

	if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE)
		config &= CONFIG_OF_KIND;
	if (!event_name_of_encoding(attr->type, config, name)) {
		if (attr->type == PERF_TYPE_RAW)
			snprintf(name, EVENT_NAME_SIZE, "r%" PRIx64, config);
		else
			snprintf(name, EVENT_NAME_SIZE, "event-%" PRIu32 "-%" PRIx64, attr->type, config);
	}
	append_modifiers(attr, name);
}

/* "cpu_core/cycles:ppp/" and "cycles:u" are cycles. */
void
event_unit_of(const char *name, char unit[EVENT_UNIT_SIZE])
{
	const char *slash = strchr(name, '/');
	char bare[EVENT_NAME_SIZE], canonical[EVENT_NAME_SIZE];
	struct event_encoding encoding;

	snprintf(bare, sizeof(bare), "%s", slash ? slash + 1 : name);
	bare[strcspn(bare, ":/")] = '\0';
	snprintf(unit, EVENT_UNIT_SIZE, "events");
	if (event_name_find(bare, &encoding, canonical))
		snprintf(unit, EVENT_UNIT_SIZE, "%s", encoding.unit);
}
