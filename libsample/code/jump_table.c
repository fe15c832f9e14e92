#include "code/jump_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/index_bound.h"
#include "code/jump_form.h"

#define ROUNDS_MAX     6     /* a table may lead to code with another */
#define ENTRIES_MAX    65536 /* of one table */
#define UNCOMPARED_MIN 2     /* entries that a table has at least when nothing says how many */
#define WAYS_BASE      65536 /* of all tables; and as many for each instruction as: */
#define WAYS_EACH      8
#define READS_BASE     1000000 /* entries that are looked at, of all tables; and for each instruction: */
#define READS_EACH     64

struct table {
	struct jump_form form;
	uint32_t jump;
	uint32_t bound;   /* entries; 0: not known */
	bool is_compared; /* `bound` is what the program compares with */
};

struct reading {
	struct code_map *map;
	struct table *tables; /* of this round */
	size_t table_count, table_capacity;
	uint64_t *addresses; /* of all tables that were found, ascending after addresses_sort() */
	size_t address_count, address_capacity;
	uint32_t *marks; /* of each instruction: the last table that went there */
	uint32_t mark;
	uint64_t reads_left;
};

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

/* Where the next table behind `address` begins, UINT64_MAX when there is none. */
static uint64_t
next_table(const struct reading *reading, uint64_t address)
{
	size_t low = 0, high = reading->address_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reading->addresses[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reading->address_count ? reading->addresses[low] : UINT64_MAX;
}

static int
way_add(struct code_map *map, uint32_t from, uint32_t to)
{
	if (map->table_way_count == map->table_way_capacity) {
		size_t capacity = map->table_way_capacity ? 2 * map->table_way_capacity : 64;
		struct table_way *grown = reallocarray(map->table_ways, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		map->table_ways = grown;
		map->table_way_capacity = capacity;
	}
	map->table_ways[map->table_way_count++] = (struct table_way){from, to};
	return 0;
}

static uint64_t
entry_target(const struct jump_form *form, const uint8_t *entry)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < form->entry_size; i++)
		value |= (uint64_t)entry[i] << (8 * i);
	if (form->is_signed && form->entry_size < 8 && value >> (8 * form->entry_size - 1))
		value |= UINT64_MAX << (8 * form->entry_size);
	return form->base + (value << (form->shift & 7));
}

/* As many entries as may be read. */
static uint32_t
entries_limit(const struct reading *reading, const struct table *table, uint64_t size)
{
	uint64_t limit = size / table->form.entry_size;
	uint64_t next = next_table(reading, table->form.address) - table->form.address;

	if (!table->is_compared && limit > next / table->form.entry_size)
		limit = next / table->form.entry_size;
	if (limit > ENTRIES_MAX)
		limit = ENTRIES_MAX;
	if (table->bound && limit > table->bound)
		limit = table->bound;
	return (uint32_t)limit;
}

/*
 * Add the ways of a table. Returns how many entries were good, *outside: how many led out of the procedure (a split
 * part of it that is not known), or -ENOMEM. Nothing is added when it is none after all.
 */
static int
entries_read(struct reading *reading, const struct table *table, const uint8_t *bytes, uint32_t limit,
             uint32_t *outside)
{
	struct code_map *map = reading->map;
	size_t ways_before = map->table_way_count;
	uint32_t good = 0, i;
	int err = 0;

	*outside = 0;
	reading->mark++;
	for (i = 0; i < limit && reading->reads_left && !err; i++, reading->reads_left--) {
		uint64_t address = entry_target(&table->form, bytes + (size_t)i * table->form.entry_size);
		uint32_t target = code_map_find(map, address);

		if (target == CODE_OUTSIDE && table->is_compared) {
			(*outside)++;
			continue;
		}
		if (target >= CODE_INSIDE)
			break;
		good++;
		if (reading->marks[target] == reading->mark)
			continue;
		reading->marks[target] = reading->mark;
		err = way_add(map, table->jump, target);
	}
	if (err)
		return err;
	if ((table->is_compared && (i < table->bound || good < *outside)) ||
	    good < (table->is_compared ? 1 : UNCOMPARED_MIN) ||
	    map->table_way_count > WAYS_BASE + (size_t)WAYS_EACH * map->count) {
		map->table_way_count = ways_before;
		return 0;
	}
	return (int)good;
}

static void
jump_is_pointer(struct code_map *map, uint32_t jump, bool returns)
{
	map->ways[jump] &= (uint8_t)~WAY_INDIRECT;
	map->ways[jump] |= returns ? WAY_EXIT : WAY_NORETURN;
	map->pointer_jumps++;
}

/*
 * Addresses that may be written, or of which the first lies elsewhere, are functions: the compiler's own tables are
 * constant and lead into the procedure.
 */
static bool
holds_functions(const struct code_map *map, const struct jump_form *form, const uint8_t *bytes, size_t size)
{
	if (form->entry_size != 8 || form->base)
		return false;
	return !bytes || (size >= 8 && code_map_find(map, entry_target(form, bytes)) == CODE_OUTSIDE);
}

static int
table_read(struct reading *reading, const struct table *table)
{
	struct code_map *map = reading->map;
	const uint8_t *bytes = NULL;
	size_t size = 0;
	uint32_t outside = 0;
	int good;

	if (map->source->data)
		bytes = map->source->data(map->source->argument, table->form.address, &size);
	good = bytes ? entries_read(reading, table, bytes, entries_limit(reading, table, size), &outside) : 0;
	if (!good && map->source->data && holds_functions(map, &table->form, bytes, size))
		jump_is_pointer(map, table->jump, true);
	if (good <= 0)
		return good;
	map->ways[table->jump] &= (uint8_t)~WAY_INDIRECT;
	map->ways[table->jump] |= WAY_TABLE | (outside ? WAY_EXIT : 0);
	map->table_jumps++;
	return 0;
}

/* Look at all jumps that are not resolved; tables are noted, and read when all are known. */
static int
jumps_look(struct reading *reading, struct tracer *tracer)
{
	struct code_map *map = reading->map;
	int err = 0;

	reading->table_count = 0;
	for (uint32_t i = 0; i < map->count && !err; i++) {
		struct table table = {.jump = i};

		if (!(map->ways[i] & WAY_INDIRECT))
			continue;
		switch (jump_form_find(tracer, i, &table.form)) {
		case JUMP_UNKNOWN:
			break;
		case JUMP_POINTER:
			jump_is_pointer(map, i, true);
			break;
		case JUMP_SLOT:
			jump_is_pointer(map, i, code_map_returns(map, table.form.address));
			break;
		case JUMP_TABLE:
			table.bound = table.is_compared = table.form.is_single;
			if (table.form.index != REGISTER_NONE)
				table.bound =
					index_bound(tracer, table.form.index_at, table.form.index, &table.is_compared);
			err = table_note(reading, &table);
			if (!err)
				err = address_note(reading, table.form.address);
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
	struct tracer tracer;
	int err = tracer_init(&tracer, map);

	if (err)
		return err;
	err = jumps_look(reading, &tracer);
	tracer_fini(&tracer);
	if (reading->address_count)
		qsort(reading->addresses, reading->address_count, sizeof(*reading->addresses), address_compare);
	for (size_t i = 0; i < reading->table_count && !err; i++)
		err = table_read(reading, &reading->tables[i]);
	*is_done = map->table_jumps == resolved;
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
	if (!reading.marks)
		return -ENOMEM;
	for (int i = 0; i < ROUNDS_MAX && !is_done && !err; i++)
		err = round_do(&reading, &is_done);
	if (map->table_way_count)
		qsort(map->table_ways, map->table_way_count, sizeof(*map->table_ways), way_compare);
	free(reading.tables);
	free(reading.addresses);
	free(reading.marks);
	return err;
}
