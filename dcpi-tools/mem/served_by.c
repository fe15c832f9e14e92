#include "dcpi-tools/mem/served_by.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/table.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/mem/format.h"

/* "3 lines of another core of the node": those that there are, one behind the other. */
struct served_by_part {
	enum data_count count;
	const char *text;
};

static const struct served_by_part transfers[] = {
	{DATA_LOAD_LOCAL_HITM, "modified by a core of the node"},
	{DATA_LOAD_REMOTE_HITM, "modified by one of another node"},
	{DATA_LOAD_REMOTE_HIT, "that caches of another node had"},
	{DATA_LOAD_LOCAL_PEER, "of a peer of the node"},
	{DATA_LOAD_REMOTE_PEER, "of one of another node"},
};

static const struct served_by_part stores[] = {
	{DATA_STORE_L1_HIT, "hit L1"},
	{DATA_STORE_L1_MISS, "missed it"},
	{DATA_STORE_UNCACHEABLE, "were not cached"},
	{DATA_STORE_NO_LEVEL, "have no level"},
};

static const struct served_by_part others[] = {
	{DATA_LOCKED, "are locked"},
	{DATA_BLOCKED_DATA, "waited for a store's data"},
	{DATA_BLOCKED_ADDRESS, "for a store's address"},
	{DATA_NO_MAPPING, "are of what is not mapped"},
	{DATA_LOAD_NO_ADDRESS, "are loads without an address"},
	{DATA_STORE_NO_ADDRESS, "stores without one"},
	{DATA_NOT_PARSED, "neither load nor store"},
};

static void
print_parts(const struct data_source_counts *counts, const char *heading, const struct served_by_part *parts,
            size_t part_count, FILE *stream)
{
	const char *separator = heading;

	for (size_t i = 0; i < part_count; i++) {
		const uint64_t count = counts->counts[parts[i].count];

		if (!count)
			continue;
		fprintf(stream, "%s%" PRIu64 " %s", separator, count, parts[i].text);
		separator = ", ";
	}
	if (separator != heading)
		fputs("\n", stream);
}

int
served_by_print(const struct data_source_counts *counts, const struct output *output)
{
	static const struct table_column columns[] = {
		{.heading = "served by"},
		{.heading = "samples", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "weight", .gap = 2, .align = TABLE_RIGHT},
		{.heading = "share", .gap = 2, .align = TABLE_RIGHT},
	};
	struct table *table = table_new(columns, ARRAY_COUNT(columns));
	char text[MEM_TEXT_SIZE];
	int err;

	if (!table)
		return -ENOMEM;
	fprintf(output->stream, "\n%" PRIu64 " sample%s of loads and %" PRIu64 " of stores, weight %" PRIu64 "\n",
	        counts->counts[DATA_LOADS], text_plural(counts->counts[DATA_LOADS]), counts->counts[DATA_STORES],
	        counts->all.weight);
	for (unsigned i = 0; i < DATA_LEVELS; i++) {
		const struct data_level_count *level = &counts->levels[i];

		if (!level->samples)
			continue;
		table_text(table, STYLE_PLAIN, data_level_text(i));
		table_format(table, STYLE_PLAIN, "%" PRIu64, level->samples);
		table_format(table, STYLE_PLAIN, "%" PRIu64, level->weight);
		table_text(table, STYLE_PLAIN, mem_percent_format(level->weight, counts->all.weight, text));
	}
	err = table_print(table, output, true);
	table_free(table);
	print_parts(counts, "Lines: ", transfers, ARRAY_COUNT(transfers), output->stream);
	print_parts(counts, "Stores: ", stores, ARRAY_COUNT(stores), output->stream);
	print_parts(counts, "Samples: ", others, ARRAY_COUNT(others), output->stream);
	return err;
}

json_t *
served_by_json(const struct data_source_counts *counts)
{
	json_t *object = json_object(), *levels = json_array();
	int failed = 0;

	for (unsigned i = 0; i < DATA_COUNTS; i++)
		failed |= json_object_set_new(object, data_count_key(i), json_count(counts->counts[i]));
	failed |= json_object_set_new(object, "weight", json_count(counts->all.weight));
	for (unsigned i = 0; i < DATA_LEVELS; i++) {
		const struct data_level_count *level = &counts->levels[i];

		if (level->samples)
			failed |= json_array_append_new(
				levels, json_pack("{s:s, s:o, s:o}", "level", data_level_text(i), "samples",
			                          json_count(level->samples), "weight", json_count(level->weight)));
	}
	failed |= json_object_set_new(object, "levels", levels);
	return json_kept(object, failed);
}
