#include "event/pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu_list.h"
#include "base/error.h"
#include "base/small_file.h"
#include "event/names.h"

#define DEVICES       "bus/event_source/devices"
#define IBS_STEP      16
#define CONFIGS       3 /* config, config1, config2 */
#define ALIAS_SIZE    1024
#define WORD_SIZE_MAX 64

/* A directory `below` that of the PMUs; NULL: it is not there. */
static DIR *
open_devices(const char *sysfs, const char *below)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/" DEVICES "%s", sysfs, below) < (int)sizeof(path) ? opendir(path)
	                                                                                          : NULL;
}

/* Does the kernel show `pmu` as that of one kind of core? */
static bool
pmu_is_core(const char *sysfs, const char *pmu)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/" DEVICES "/%s/cpus", sysfs, pmu) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

bool
event_is_generic(const struct event_encoding *encoding)
{
	return encoding->type == PERF_TYPE_HARDWARE || encoding->type == PERF_TYPE_HW_CACHE;
}

static int
compare_types(const void *a, const void *b)
{
	const int64_t x = ((const struct pmu_core *)a)->type, y = ((const struct pmu_core *)b)->type;

	return (x > y) - (x < y);
}

/* A kind whose CPUs are all offline cannot be asked, and has nothing to count. */
static bool
read_core(const char *sysfs, const char *pmu, struct pmu_core *kind)
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

size_t
pmu_cores(const char *sysfs, struct pmu_core kinds[PMU_CORES_MAX])
{
	DIR *directory = open_devices(sysfs, "");
	struct dirent *entry;
	size_t count = 0;

	if (!directory)
		return 0;
	while (count < PMU_CORES_MAX && (entry = readdir(directory)))
		count += read_core(sysfs, entry->d_name, &kinds[count]);
	closedir(directory);
	qsort(kinds, count, sizeof(*kinds), compare_types);
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
event_cpu(const char *sysfs, const char *name, int cpu)
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
pmu_knows_precise(const char *sysfs)
{
	DIR *directory = open_devices(sysfs, "");
	bool is_known = false, any = false;
	struct dirent *entry;
	char path[PATH_MAX];

	if (!directory)
		return true;
	while (!is_known && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		any = true;
		is_known = snprintf(path, sizeof(path), "%s/" DEVICES "/%s/caps/max_precise", sysfs, entry->d_name) <
		                   (int)sizeof(path) &&
		           access(path, F_OK) == 0;
	}
	closedir(directory);
	return is_known || !any;
}

uint32_t
pmu_period_step(const char *sysfs, const struct event *event)
{
	static const char *const units[] = {"ibs_op", "ibs_fetch"};
	bool is_there = false;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		int64_t type;

		if (small_file_read_number(&type, "%s/" DEVICES "/%s/type", sysfs, units[i]))
			continue;
		is_there = true;
		if (event->encoding.type == (uint64_t)type)
			return IBS_STEP;
	}
	return is_there && event->precise > 0 ? IBS_STEP : 0;
}

/* What is being encoded, and where to say what is wrong with it. */
struct encode_request {
	const char *sysfs;
	const char *name; /* whole, for messages */
	char pmu[EVENT_NAME_SIZE];
	uint64_t configs[CONFIGS];
	char *why;
	size_t why_size;
};

static int refuse(struct encode_request *request, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int
refuse(struct encode_request *request, const char *format, ...)
{
	char reason[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	snprintf(request->why, request->why_size, "%s: %s", request->name, reason);
	return -DCPI_ENOEVENT;
}

static int
refuse_file(struct encode_request *request, const char *file, int err)
{
	refuse(request, "cannot read %s/" DEVICES "/%s/%s: %s", request->sysfs, request->pmu, file, error_text(err));
	return err;
}

/* Offer the entries of a directory, without those that describe others (events/NAME.unit). */
static void
suggest_entries(struct event_suggestion *suggestion, const char *sysfs, const char *below)
{
	DIR *directory = open_devices(sysfs, below);
	struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (!strchr(entry->d_name, '.'))
			event_suggestion_consider(suggestion, entry->d_name);
	closedir(directory);
}

/* A word becomes part of a path: it must name an entry, and nothing above it. */
static bool
word_is_plain(const char *word)
{
	if (!isalnum((unsigned char)word[0]) || strlen(word) >= WORD_SIZE_MAX)
		return false;
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && *word != '-' && *word != '_')
			return false;
	return true;
}

static int
refuse_pmu(struct encode_request *request)
{
	struct event_suggestion suggestion;
	const char *nearest;

	event_suggestion_init(&suggestion, request->pmu);
	suggest_entries(&suggestion, request->sysfs, "");
	nearest = event_suggestion_get(&suggestion);
	if (nearest)
		return refuse(request, "this machine has no PMU \"%s\"; did you mean \"%s\"?", request->pmu, nearest);
	refuse(request, "this machine has no PMU \"%s\" (%s/" DEVICES " lists those it has)", request->pmu,
	       request->sysfs);
	return -ENODEV;
}

static int
refuse_word(struct encode_request *request, const char *word)
{
	char below[EVENT_NAME_SIZE + 16];
	struct event_suggestion suggestion;
	const char *nearest;

	event_suggestion_init(&suggestion, word);
	snprintf(below, sizeof(below), "/%s/format", request->pmu);
	suggest_entries(&suggestion, request->sysfs, below);
	snprintf(below, sizeof(below), "/%s/events", request->pmu);
	suggest_entries(&suggestion, request->sysfs, below);
	nearest = event_suggestion_get(&suggestion);
	if (nearest)
		return refuse(request, "the PMU has no field or event \"%s\"; did you mean \"%s\"?", word, nearest);
	return refuse(request, "the PMU has no field or event \"%s\" (see format and events in %s/" DEVICES "/%s)",
	              word, request->sysfs, request->pmu);
}

/* One "A" or "A-B" of a format, to its end or a comma. */
static const char *
parse_range(const char *text, uint64_t *bits)
{
	unsigned long first, last;
	char *end;

	if (!isdigit((unsigned char)*text))
		return NULL;
	first = last = strtoul(text, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return NULL;
		last = strtoul(end + 1, &end, 10);
	}
	if (first > last || last > 63 || (*end != '\0' && *end != ','))
		return NULL;
	*bits |= (UINT64_MAX >> (63 - (last - first))) << first;
	return end;
}

int
pmu_format_parse(const char *text, unsigned *config, uint64_t *bits)
{
	static const char prefix[] = "config";

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return -EINVAL;
	text += strlen(prefix);
	*config = 0;
	if (isdigit((unsigned char)*text))
		*config = (unsigned)(*text++ - '0');
	*bits = 0;
	do {
		if (*text != ':' && *text != ',')
			return -EINVAL;
		text = parse_range(text + 1, bits);
	} while (text && *text == ',');
	return text ? 0 : -EINVAL;
}

/* Spread the low bits of `value` over `bits`, lowest first. */
static uint64_t
deposit(uint64_t value, uint64_t bits)
{
	uint64_t spread = 0;

	for (; bits; bits &= bits - 1, value >>= 1)
		if (value & 1)
			spread |= bits & -bits;
	return spread;
}

static int
set_field(struct encode_request *request, const char *field, unsigned config, uint64_t bits, uint64_t value)
{
	int width = __builtin_popcountll(bits);
	uint64_t limit = UINT64_MAX >> (64 - width);

	if (config >= CONFIGS)
		return refuse(request, "the field \"%s\" lies in config%u, which is not supported", field, config);
	if (value > limit)
		return refuse(request, "the field \"%s\" takes 0 to 0x%llx, not 0x%llx", field,
		              (unsigned long long)limit, (unsigned long long)value);
	request->configs[config] = (request->configs[config] & ~bits) | deposit(value, bits);
	return 0;
}

/* config=, config1=, config2= set all bits; else format/FIELD tells. -ENOENT when there is no such field. */
static int
apply_field(struct encode_request *request, const char *field, uint64_t value)
{
	char text[ALIAS_SIZE];
	unsigned config;
	uint64_t bits;
	int err;

	if (strcmp(field, "config") == 0)
		return set_field(request, field, 0, UINT64_MAX, value);
	if (strcmp(field, "config1") == 0)
		return set_field(request, field, 1, UINT64_MAX, value);
	if (strcmp(field, "config2") == 0)
		return set_field(request, field, 2, UINT64_MAX, value);
	err = small_file_read(text, sizeof(text), "%s/" DEVICES "/%s/format/%s", request->sysfs, request->pmu, field);
	if (err == -ENOENT)
		return err;
	if (err)
		return refuse_file(request, "format", err);
	if (pmu_format_parse(text, &config, &bits))
		return refuse(request, "the kernel describes the field \"%s\" as \"%s\", which dcpi does not know",
		              field, text);
	return set_field(request, field, config, bits, value);
}

static bool
parse_value(const char *text, uint64_t *value)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = is_hex ? text + 2 : text;
	char *end;

	if (!(is_hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
		return false;
	errno = 0;
	*value = strtoull(digits, &end, is_hex ? 16 : 10);
	return errno == 0 && *end == '\0';
}

static int
apply_assignment(struct encode_request *request, const char *field, const char *value_text)
{
	uint64_t value;
	int err;

	if (!parse_value(value_text, &value))
		return refuse(request,
		              "\"%s\" is no value for the field \"%s\": a decimal number, or 0x and a hexadecimal one",
		              value_text, field);
	err = apply_field(request, field, value);
	return err == -ENOENT ? refuse_word(request, field) : err;
}

static int apply_terms(struct encode_request *request, char *terms, bool is_alias);

/* events/WORD, or events/ALIAS where WORD is another name of a well-known event. -ENOENT when there is neither. */
static int
apply_alias(struct encode_request *request, const char *word)
{
	const char *alias = event_name_alias(word);
	char terms[ALIAS_SIZE];
	int err;

	err = small_file_read(terms, sizeof(terms), "%s/" DEVICES "/%s/events/%s", request->sysfs, request->pmu, word);
	if (err == -ENOENT && alias)
		err = small_file_read(terms, sizeof(terms), "%s/" DEVICES "/%s/events/%s", request->sysfs, request->pmu,
		                      alias);
	if (err == -ENOENT)
		return err;
	if (err)
		return refuse_file(request, "events", err);
	return apply_terms(request, terms, true);
}

static int
apply_word(struct encode_request *request, const char *word, bool is_alias)
{
	int err = -ENOENT;

	if (!is_alias) /* an event is made of fields, not of events */
		err = apply_alias(request, word);
	if (err == -ENOENT)
		err = apply_field(request, word, 1);
	return err == -ENOENT ? refuse_word(request, word) : err;
}

static int
apply_terms(struct encode_request *request, char *terms, bool is_alias)
{
	char *term;
	int err = 0;

	while (!err && (term = strsep(&terms, ","))) {
		char *value = strchr(term, '=');

		if (value)
			*value++ = '\0';
		if (!word_is_plain(term))
			return refuse(request, "\"%s\" is no name of a field or event", term);
		err = value ? apply_assignment(request, term, value) : apply_word(request, term, is_alias);
	}
	return err;
}

int
pmu_event_encode(const char *sysfs, const char *name, struct event_encoding *encoding, char *why, size_t size)
{
	struct encode_request request = {.sysfs = sysfs, .name = name, .why = why, .why_size = size};
	char canonical[EVENT_NAME_SIZE];
	char copy[EVENT_NAME_SIZE];
	char *terms = copy;
	int64_t type;
	char *pmu;
	int err;

	snprintf(copy, sizeof(copy), "%s", name);
	pmu = strsep(&terms, "/");
	if (!terms || !*terms || terms[strlen(terms) - 1] != '/')
		return refuse(&request, "an event of a PMU is written pmu/field=value,.../");
	terms[strlen(terms) - 1] = '\0';
	snprintf(request.pmu, sizeof(request.pmu), "%s", pmu);
	if (!word_is_plain(pmu))
		return refuse(&request, "\"%s\" is no name of a PMU", pmu);
	err = small_file_read_number(&type, "%s/" DEVICES "/%s/type", sysfs, pmu);
	if (err == -ENOENT)
		return refuse_pmu(&request);
	if (!err && (type < 0 || type > UINT32_MAX))
		err = -EINVAL;
	if (err)
		return refuse_file(&request, "type", err);
	if (pmu_is_core(sysfs, pmu) && event_name_find(terms, encoding, canonical) && event_is_generic(encoding)) {
		encoding->config |= KIND_OF_CORE(type);
		return 0;
	}
	err = *terms ? apply_terms(&request, terms, false) : 0;
	if (err)
		return err;
	memset(encoding, 0, sizeof(*encoding));
	encoding->type = (uint32_t)type;
	encoding->config = request.configs[0];
	encoding->config1 = request.configs[1];
	encoding->config2 = request.configs[2];
	return 0;
}
