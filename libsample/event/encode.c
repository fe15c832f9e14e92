#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/encode.h"
#include "event/names.h"
#include "event/pmu.h"

#define RAW_DIGITS_MAX 16

bool
event_is_clock(const struct event_encoding *encoding)
{
	return encoding->type == PERF_TYPE_SOFTWARE &&
	       (encoding->config == PERF_COUNT_SW_CPU_CLOCK || encoding->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool
event_is_sum(const struct event *event)
{
	const size_t length = strlen(event->name), suffix = strlen(EVENT_SUM_SUFFIX);

	return event->encoding.type == EVENT_TYPE_DCPIX && length > suffix &&
	       strcmp(event->name + length - suffix, EVENT_SUM_SUFFIX) == 0;
}

bool
event_is_sum_of(const struct event *sum, const struct event *samples)
{
	const size_t length = strlen(samples->name);

	return event_is_sum(sum) && strncmp(sum->name, samples->name, length) == 0 &&
	       strcmp(sum->name + length, EVENT_SUM_SUFFIX) == 0;
}

bool
event_sum_of(const struct event *samples, struct event *sum)
{
	*sum = (struct event){.encoding = {.type = EVENT_TYPE_DCPIX},
	                      .period = 1,
	                      .available = samples->available,
	                      .user = samples->user,
	                      .kernel = samples->kernel};
	snprintf(sum->requested, sizeof(sum->requested), "%s", samples->name);
	snprintf(sum->note, sizeof(sum->note),
	         "the events that samples stand for beyond their number times the period");
	memcpy(sum->encoding.unit, samples->encoding.unit, sizeof(sum->encoding.unit));
	return snprintf(sum->name, sizeof(sum->name), "%s" EVENT_SUM_SUFFIX, samples->name) < (int)sizeof(sum->name);
}

/* rNNNN: the bits that the PMU's own manual gives. */
static bool
encode_raw(const char *name, struct event_encoding *encoding)
{
	size_t digits = strspn(name + 1, "0123456789abcdefABCDEF");

	if (name[0] != 'r' || digits == 0 || digits > RAW_DIGITS_MAX || name[1 + digits])
		return false;
	memset(encoding, 0, sizeof(*encoding));
	encoding->type = PERF_TYPE_RAW;
	encoding->config = strtoull(name + 1, NULL, 16);
	return true;
}

static int
refuse_name(const char *name, char *why, size_t size)
{
	struct suggestion suggestion;
	const char *nearest;

	suggestion_init(&suggestion, name);
	event_names_suggest(&suggestion);
	nearest = suggestion_get(&suggestion);
	if (nearest)
		snprintf(why, size, "there is no event \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		snprintf(why, size,
		         "there is no event \"%s\": events are cycles, cache-misses, cpu-clock, page-faults and the "
		         "like "
		         "(perf list shows them), rNNNN, or pmu/field=value,.../",
		         name);
	return -DCPI_ENOEVENT;
}

int
event_encode_bare(const char *sysfs, const char *bare, struct event_encoding *encoding, char canonical[EVENT_NAME_SIZE],
                  char *why, size_t size)
{
	int err = 0;

	if (event_name_find(bare, encoding, canonical))
		return 0;
	snprintf(canonical, EVENT_NAME_SIZE, "%s", bare);
	if (strchr(bare, '/'))
		err = pmu_event_encode(sysfs, bare, encoding, why, size);
	else if (!encode_raw(bare, encoding))
		err = refuse_name(bare, why, size);
	if (!err && !encoding->unit[0])
		event_encoding_set_unit(encoding, event_is_clock(encoding) ? "ns" : "events");
	return err;
}

int
event_encode(const char *sysfs, const char *name, struct event_encoding *encoding, char *why, size_t size)
{
	struct event_modifiers modifiers;
	char canonical[EVENT_NAME_SIZE];
	char bare[EVENT_NAME_SIZE];
	int err;

	err = event_modifiers_split(name, bare, &modifiers, why, size);
	if (err)
		return err;
	return event_encode_bare(sysfs, bare, encoding, canonical, why, size);
}
