/* event_name_of(), event_unit_of(): see event.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "event/names.h"

#define CONFIG_OF_KIND UINT64_C(0xffffffff) /* above it, which kind of core counts (kinds.h) */

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
	char plain[EVENT_NAME_SIZE], canonical[EVENT_NAME_SIZE];
	struct event_encoding encoding;

	snprintf(plain, sizeof(plain), "%s", slash ? slash + 1 : name);
	plain[strcspn(plain, ":/")] = '\0';
	snprintf(unit, EVENT_UNIT_SIZE, "events");
	if (event_name_find(plain, &encoding, canonical))
		snprintf(unit, EVENT_UNIT_SIZE, "%s", encoding.unit);
}
