#include "code/jump_table.h"

#include <errno.h>
#include <stdlib.h>

#include "code/index_bound.h"
#include "code/table_read.h"

#define ROUNDS_MAX 8       /* a table may lead to code with another */
#define READS_BASE 1000000 /* entries that are looked at, of all tables; and for each instruction: */
#define READS_EACH 64

static int
table_note(struct reading *reading, const struct table *table)
{
	if (reading->table_count == reading->table_capacity) {
		size_t capacity = reading->table_capacity ? 2 * reading->table_capacity : 8;
		struct table *grown = reallocarray(reading->tables, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		reading->tables = grown;
		reading->table_capacity = capacity;
	}
	reading->tables[reading->table_count++] = *table;
	return 0;
}

static int
address_note(struct reading *reading, uint64_t address)
{
	if (reading->address_count == reading->address_capacity) {
		size_t capacity = reading->address_capacity ? 2 * reading->address_capacity : 8;
		uint64_t *grown = reallocarray(reading->addresses, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		reading->addresses = grown;
		reading->address_capacity = capacity;
	}
	reading->addresses[reading->address_count++] = address;
	return 0;
}

static int
address_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static int
forms_note(struct reading *reading, struct tracer *tracer, uint32_t jump, const struct jump_forms *forms)
{
	int err = 0;

	for (size_t i = 0; i < forms->count && !err; i++) {
		const struct jump_form *form = &forms->at[i];
		struct table table = {.form = *form, .jump = jump};

		table.bound = table.is_compared = form->is_single;
		if (form->index != REGISTER_NONE)
			table.bound = index_bound(tracer, form->index_at, form->index, &table.is_compared);
		err = table_note(reading, &table);
		if (!err && !form->is_label)
			err = address_note(reading, form->address);
	}
	return err;
}

/* Look at all jumps that are not resolved; tables are noted, and read when all are known. */
static int
jumps_look(struct reading *reading, struct tracer *tracer)
{
	struct code_map *map = reading->map;
	int err = 0;

	reading->table_count = 0;
	for (uint32_t i = 0; i < map->count && !err; i++) {
		struct jump_forms forms;

		if (!(map->ways[i] & WAY_INDIRECT))
			continue;
		switch (jump_form_find(tracer, i, &forms)) {
		case JUMP_UNKNOWN:
			break;
		case JUMP_POINTER:
			jump_is_pointer(map, i, true);
			break;
		case JUMP_SLOT:
			jump_is_pointer(map, i, code_map_returns(map, forms.at[0].address));
			break;
		case JUMP_TABLE:
			err = forms_note(reading, tracer, i, &forms);
			break;
		}
	}
	return err;
}

static int
round_do(struct reading *reading, bool *is_done)
{
	struct code_map *map = reading->map;
	uint32_t resolved = map->table_jumps;
	size_t ways = map->table_way_count;
	struct tracer tracer;
	int err = tracer_init(&tracer, map);

	if (err)
		return err;
	joined_forget(reading);
	err = jumps_look(reading, &tracer);
	tracer_fini(&tracer);
	if (reading->address_count)
		qsort(reading->addresses, reading->address_count, sizeof(*reading->addresses), address_compare);
	for (size_t i = 0, end; i < reading->table_count && !err; i = end) {
		for (end = i + 1; end < reading->table_count; end++) {
			if (reading->tables[end].jump != reading->tables[i].jump)
				break;
		}
		err = jump_read(reading, i, end);
	}
	*is_done = map->table_jumps == resolved && map->table_way_count == ways;
	return err;
}

static int
way_compare(const void *a, const void *b)
{
	const struct table_way *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return (left->to > right->to) - (left->to < right->to);
}

static bool
has_indirect(const struct code_map *map)
{
	for (uint32_t i = 0; i < map->count; i++) {
		if (map->ways[i] & WAY_INDIRECT)
			return true;
	}
	return false;
}

int
jump_tables_read(struct code_map *map)
{
	struct reading reading = {.map = map};
	bool is_done = !map->decoder;
	int err = 0;

	if (is_done || !has_indirect(map))
		return 0;
	reading.reads_left = READS_BASE + READS_EACH * (uint64_t)map->count;
	reading.marks = calloc(map->count, sizeof(*reading.marks));
	reading.joined = calloc(map->count, sizeof(*reading.joined));
	if (!reading.marks || !reading.joined)
		err = -ENOMEM;
	for (int i = 0; i < ROUNDS_MAX && !is_done && !err; i++)
		err = round_do(&reading, &is_done);
	if (!err && !is_done)
		joined_forget(&reading);
	if (map->table_way_count)
		qsort(map->table_ways, map->table_way_count, sizeof(*map->table_ways), way_compare);
	free(reading.tables);
	free(reading.addresses);
	free(reading.marks);
	free(reading.joined);
	return err;
}
