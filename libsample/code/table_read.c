#include "code/table_read.h"

#include <errno.h>
#include <stdlib.h>

#define ENTRIES_MAX    65536 /* of one table */
#define UNCOMPARED_MIN 2     /* entries that a table has at least when nothing says how many */
#define WAYS_BASE      65536 /* of all tables; and as many for each instruction as: */
#define WAYS_EACH      8

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

static int
way_mark(struct reading *reading, uint32_t jump, uint32_t target)
{
	if (reading->marks[target] == reading->mark)
		return 0;
	reading->marks[target] = reading->mark;
	return way_add(reading->map, jump, target);
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
 * Add the ways of a table. Returns how many entries were good, or -ENOMEM; *outside: how many led out of the procedure
 * (a split part of it that is not known). Nothing is added when it is none after all.
 */
static int
entries_read(struct reading *reading, const struct table *table, const uint8_t *bytes, uint32_t limit,
             uint32_t *outside)
{
	struct code_map *map = reading->map;
	size_t ways_before = map->table_way_count;
	uint32_t good = 0, i;
	int err = 0;

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
		err = way_mark(reading, table->jump, target);
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

void
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

/* Returns how many ways were good, or -ENOMEM. */
static int
table_read(struct reading *reading, const struct table *table, uint32_t *outside)
{
	struct code_map *map = reading->map;
	const uint8_t *bytes = NULL;
	size_t size = 0;
	int good;

	*outside = 0;
	if (table->form.is_label) {
		int err = way_mark(reading, table->jump, code_map_find(map, table->form.address));

		return err ? err : 1;
	}
	if (map->source->data)
		bytes = map->source->data(map->source->argument, table->form.address, &size);
	good = bytes ? entries_read(reading, table, bytes, entries_limit(reading, table, size), outside) : 0;
	if (!good && map->source->data && !reading->joined[table->jump] &&
	    holds_functions(map, &table->form, bytes, size))
		jump_is_pointer(map, table->jump, true);
	return good;
}

int
jump_read(struct reading *reading, size_t first, size_t end)
{
	struct code_map *map = reading->map;
	uint32_t jump = reading->tables[first].jump, all_outside = 0;
	size_t ways_before = map->table_way_count;

	reading->mark++;
	reading->joined[jump] |= end - first > 1 || reading->tables[first].form.is_label;
	for (size_t i = first; i < end; i++) {
		uint32_t outside;
		int good = table_read(reading, &reading->tables[i], &outside);

		if (good <= 0) {
			map->table_way_count = ways_before;
			return good;
		}
		all_outside |= outside;
	}
	map->ways[jump] &= (uint8_t)~WAY_INDIRECT;
	map->ways[jump] |= WAY_TABLE | (all_outside ? WAY_EXIT : 0);
	map->table_jumps++;
	return 0;
}

void
joined_forget(struct reading *reading)
{
	struct code_map *map = reading->map;
	size_t kept = 0;

	for (uint32_t i = 0; i < map->count; i++) {
		if (!reading->joined[i] || !(map->ways[i] & WAY_TABLE))
			continue;
		map->ways[i] &= (uint8_t) ~(WAY_TABLE | WAY_EXIT);
		map->ways[i] |= WAY_INDIRECT;
		map->table_jumps--;
	}
	for (size_t i = 0; i < map->table_way_count; i++) {
		if (!(map->ways[map->table_ways[i].from] & WAY_INDIRECT))
			map->table_ways[kept++] = map->table_ways[i];
	}
	map->table_way_count = kept;
}
