#include <libconfig.h>
#include <string.h>

#include "base/config.h"
#include "code/pipeline.h"
#include "code/pipeline_parts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define FIELD(field) offsetof(struct pipeline, field)

static const struct config_field core_numbers[] = {
	{"issue_width", FIELD(issue_width), 1, 32, true},
	{"retire_width", FIELD(retire_width), 1, 32, true},
	{"window", FIELD(window), 1, 4096, false},
	{"timer_skid", FIELD(timer_skid), 0, PIPELINE_SKID_MAX, false},
	{"pmu_skid", FIELD(pmu_skid), 0, PIPELINE_SKID_MAX, false},
	{"mispredict_cycles", FIELD(mispredict_cycles), 1, 100, true},
	{"taken_branches", FIELD(taken_branches), 1, 8, false},
	{"write_buffer_entries", FIELD(write_buffer_entries), 1, 1024, true},
	{"folded_load", FIELD(folded_load), 0, 8, false},
	{"folded_store", FIELD(folded_store), 0, 8, false},
	{"store_lines", FIELD(store_lines), 0, 8, false},
	{"scaled_index_cycles", FIELD(scaled_index_cycles), 0, 8, false},
	{"extended_sign_cycles", FIELD(extended_sign_cycles), 0, 8, false},
	{"cache_line", FIELD(cache_line), 8, 1024, true},
	{"page_bytes", FIELD(page_bytes), 1024, 1 << 30, false},
};

static const struct config_field code_numbers[] = {
	{"cache_bytes", FIELD(code_cache_bytes), 512, 1 << 30, true},
	{"level2_cycles", FIELD(code.level2_cycles), 1, 1000, true},
	{"level3_cycles", FIELD(code.level3_cycles), 1, 1000, false},
	{"memory_cycles", FIELD(code.memory_cycles), 1, 10000, true},
	{"tlb_entries", FIELD(code_tlb.entries), 1, 65536, true},
	{"tlb_miss_cycles", FIELD(code_tlb.miss_cycles), 1, 10000, true},
};

static const struct config_field data_numbers[] = {
	{"cache_bytes", FIELD(data_cache_bytes), 512, 1 << 30, true},
	{"level2_cycles", FIELD(data.level2_cycles), 1, 1000, true},
	{"level3_cycles", FIELD(data.level3_cycles), 1, 1000, false},
	{"memory_cycles", FIELD(data.memory_cycles), 1, 10000, true},
	{"tlb_entries", FIELD(data_tlb.entries), 1, 65536, true},
	{"tlb_miss_cycles", FIELD(data_tlb.miss_cycles), 1, 10000, true},
};

static const char *const top_names[] = {
	"name",
	"title",
	"kind",
	"match",
	"units",
	"fuses_compare_and_branch",
	"fuses_arithmetic_and_branch",
	"eliminates_moves",
	"code",
	"data",
	"operations",
};

static int
read_memory(const struct config_source *source, const config_setting_t *root, const char *name,
            const struct config_field *numbers, size_t count, struct pipeline *pipeline)
{
	int err = 0;
	const config_setting_t *group =
		config_member(source, root, name, CONFIG_TYPE_GROUP, "a group, { ... }", true, &err);

	if (!group)
		return err;
	err = config_fields_known(source, group, numbers, count, NULL, 0);
	return err ? err : config_fields_read(source, group, numbers, count, pipeline);
}

static int
read_texts(const struct config_source *source, const config_setting_t *root, struct pipeline *pipeline)
{
	int err = 0;
	const config_setting_t *name = config_member(source, root, "name", CONFIG_TYPE_STRING, "a string", true, &err);
	const config_setting_t *title =
		err ? NULL : config_member(source, root, "title", CONFIG_TYPE_STRING, "a string", true, &err);
	const config_setting_t *kind =
		err ? NULL : config_member(source, root, "kind", CONFIG_TYPE_STRING, "a string", true, &err);

	if (err)
		return err;
	err = config_string(source, name, pipeline->name, sizeof(pipeline->name));
	if (!err)
		err = config_string(source, title, pipeline->title, sizeof(pipeline->title));
	if (err)
		return err;
	if (strcmp(config_setting_get_string(kind), "in-order") == 0)
		pipeline->kind = PIPELINE_KIND_IN_ORDER;
	else if (strcmp(config_setting_get_string(kind), "out-of-order") == 0)
		pipeline->kind = PIPELINE_KIND_OUT_OF_ORDER;
	else
		return config_refuse(source, kind, "kind must be \"in-order\" or \"out-of-order\"");
	return 0;
}

static int
read_truths(const struct config_source *source, const config_setting_t *root, struct pipeline *pipeline)
{
	const config_setting_t *fuses = config_setting_get_member(root, "fuses_compare_and_branch");
	const config_setting_t *arithmetic = config_setting_get_member(root, "fuses_arithmetic_and_branch");
	const config_setting_t *moves = config_setting_get_member(root, "eliminates_moves");
	int err = fuses ? config_truth(source, fuses, &pipeline->fuses_compare_and_branch) : 0;

	if (!err && arithmetic)
		err = config_truth(source, arithmetic, &pipeline->fuses_arithmetic_and_branch);
	if (!err && moves)
		err = config_truth(source, moves, &pipeline->eliminates_moves);
	return err;
}

static int
read_units(const struct config_source *source, const config_setting_t *root, struct pipeline *pipeline)
{
	int err = 0;
	const config_setting_t *units =
		config_member(source, root, "units", CONFIG_TYPE_ARRAY, "an array of strings, [ ... ]", true, &err);
	int count = units ? config_setting_length(units) : 0;

	if (err)
		return err;
	if (count < 1 || count > PIPELINE_UNITS_MAX)
		return config_refuse(source, units, "units has %d names; it must be from 1 to %d", count,
		                     PIPELINE_UNITS_MAX);
	for (int i = 0; i < count; i++) {
		const char *name = config_setting_get_string_elem(units, i);

		if (!name || !*name || strlen(name) >= PIPELINE_NAME_SIZE || strchr(name, ' '))
			return config_refuse(source, units, "units must be names of 1 to %d letters without a space",
			                     PIPELINE_NAME_SIZE - 1);
		if (pipeline_find_unit(pipeline, name, strlen(name)) >= 0)
			return config_refuse(source, units, "units has \"%s\" twice", name);
		memcpy(pipeline->units[pipeline->unit_count++], name, strlen(name) + 1);
	}
	return 0;
}

static int
read_all(const struct config_source *source, const config_setting_t *root, void *into)
{
	struct pipeline *pipeline = into;
	int err = config_fields_known(source, root, core_numbers, COUNT(core_numbers), top_names, COUNT(top_names));

	if (!err)
		err = read_texts(source, root, pipeline);
	if (!err)
		err = config_fields_read(source, root, core_numbers, COUNT(core_numbers), pipeline);
	if (!err)
		err = read_truths(source, root, pipeline);
	if (!err)
		err = read_memory(source, root, "code", code_numbers, COUNT(code_numbers), pipeline);
	if (!err)
		err = read_memory(source, root, "data", data_numbers, COUNT(data_numbers), pipeline);
	if (!err)
		err = read_units(source, root, pipeline);
	if (!err)
		err = pipeline_read_matches(source, config_setting_get_member(root, "match"), pipeline);
	if (!err)
		err = pipeline_read_operations(source, root, pipeline);
	return err;
}

int
pipeline_parse(const char *file, const char *text, struct pipeline *pipeline, char *why, size_t size)
{
	memset(pipeline, 0, sizeof(*pipeline));
	pipeline->taken_branches = 1;
	pipeline->page_bytes = 4096;
	pipeline->pmu_skid = PIPELINE_SKID_UNKNOWN;
	return config_read_text(file, text, read_all, pipeline, why, size);
}
