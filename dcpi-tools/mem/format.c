#include "dcpi-tools/mem/format.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "dcpi-tools/common/json.h"

#define NODES_SHOWN 8 /* in a row */

double
mem_percent(uint64_t part, uint64_t whole)
{
	return whole ? PERCENT * (double)part / (double)whole : 0;
}

const char *
mem_size_format(uint64_t bytes, char text[MEM_TEXT_SIZE])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(text, MEM_TEXT_SIZE, "%" PRIu64, bytes);
		return text;
	}
	size /= 1024;
	while (size >= 1023.5 && unit + 1 < ARRAY_COUNT(units)) {
		size /= 1024;
		unit++;
	}
	snprintf(text, MEM_TEXT_SIZE, size < 999.5 ? "%.3g %s" : "%.0f %s", size, units[unit]); /* up to 1023 */
	return text;
}

const char *
mem_percent_format(uint64_t part, uint64_t whole, char text[MEM_TEXT_SIZE])
{
	if (whole)
		snprintf(text, MEM_TEXT_SIZE, "%.0f %%", mem_percent(part, whole));
	else
		snprintf(text, MEM_TEXT_SIZE, "-");
	return text;
}

const char *
mem_nodes_format(const uint64_t counts[MEMORY_NODES_MAX], char text[MEM_TEXT_SIZE])
{
	const uint64_t unknown = counts[MEMORY_NODE_HERE] + counts[MEMORY_NODE_AWAY];
	uint64_t sum = unknown;
	size_t at = 0;
	unsigned shown = 0;

	for (unsigned i = 0; i < MEMORY_NODE_HERE; i++)
		sum += counts[i];
	text[0] = '\0';
	for (unsigned i = 0; i < MEMORY_NODE_HERE && shown < NODES_SHOWN && at < MEM_TEXT_SIZE; i++) {
		if (!sum || counts[i] * 100 < sum)
			continue;
		at += (size_t)snprintf(text + at, MEM_TEXT_SIZE - at, "%s%u:%.0f%%", shown ? " " : "", i,
		                       mem_percent(counts[i], sum));
		shown++;
	}
	if (sum && unknown * 100 >= sum && at < MEM_TEXT_SIZE)
		snprintf(text + at, MEM_TEXT_SIZE - at, "%s?:%.0f%%", shown ? " " : "", mem_percent(unknown, sum));
	else if (!shown)
		snprintf(text, MEM_TEXT_SIZE, "-");
	return text;
}

json_t *
mem_nodes_json(const uint64_t counts[MEMORY_NODES_MAX], uint64_t nodes)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < nodes && i < MEMORY_NODES_MAX; i++)
		json_array_append_new(list, json_count(counts[i]));
	return list;
}
