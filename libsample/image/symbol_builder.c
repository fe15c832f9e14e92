#include "image/symbol_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/symbol_ranges.h"
#include "image/symbol_table.h"

void
symbol_builder_fini(struct symbol_builder *builder)
{
	free(builder->candidates);
	memset(builder, 0, sizeof(*builder));
}

int
symbol_builder_add(struct symbol_builder *builder, const struct candidate *candidate)
{
	if (candidate->limit <= candidate->offset)
		return 0;
	if (builder->count == builder->capacity) {
		size_t capacity = builder->capacity ? builder->capacity * 2 : 1024;
		struct candidate *moved = reallocarray(builder->candidates, capacity, sizeof(*moved));

		if (!moved)
			return -ENOMEM;
		builder->candidates = moved;
		builder->capacity = capacity;
	}
	builder->candidates[builder->count++] = *candidate;
	return 0;
}

static int
compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

static size_t
leading_underscores(const struct candidate *candidate)
{
	size_t count = strspn(candidate->name, "_");

	return count < candidate->name_length ? count : candidate->name_length;
}

/* Whose name is better, at the same offset; both have one. */
static int
compare_names(const struct candidate *left, const struct candidate *right)
{
	int order;

	order = compare_numbers(left->label, right->label);
	if (!order)
		order = compare_numbers(left->binding, right->binding);
	if (!order)
		order = compare_numbers(leading_underscores(left), leading_underscores(right));
	if (!order)
		order = compare_numbers(left->size == 0, right->size == 0);
	if (!order)
		order = compare_numbers(left->name_length, right->name_length);
	if (!order)
		order = memcmp(left->name, right->name, left->name_length);
	return order;
}

static int
compare_candidates(const void *left_item, const void *right_item)
{
	const struct candidate *left = left_item, *right = right_item;
	int order = compare_numbers(left->offset, right->offset);

	if (!order)
		order = compare_numbers(left->name == NULL, right->name == NULL);
	if (!order && left->name && right->name)
		order = compare_names(left, right);
	if (!order)
		order = compare_numbers(right->size, left->size);
	return order ? order : compare_numbers(right->limit, left->limit);
}

/* The first `sorted` candidates, and `count` behind them, which *later is a copy of, in order. */
static void
merge(struct candidate *candidates, size_t sorted, const struct candidate *later, size_t count)
{
	while (count > 0) {
		struct candidate *last = &candidates[sorted + count - 1];

		if (sorted > 0 && compare_candidates(&candidates[sorted - 1], &later[count - 1]) > 0)
			*last = candidates[--sorted];
		else
			*last = later[--count];
	}
}

/* What was sorted once is not sorted again for the few that come later: stubs of a PLT, after names were looked up. */
static void
sort(struct symbol_builder *builder)
{
	const size_t count = builder->count - builder->sorted;
	struct candidate *added, *later;

	if (count == 0)
		return;
	added = builder->candidates + builder->sorted;
	later = builder->sorted ? reallocarray(NULL, count, sizeof(*later)) : NULL;
	if (later) {
		qsort(added, count, sizeof(*added), compare_candidates);
		memcpy(later, added, count * sizeof(*later));
		merge(builder->candidates, builder->sorted, later, count);
		free(later);
	} else {
		qsort(builder->candidates, builder->count, sizeof(*builder->candidates), compare_candidates);
	}
	builder->sorted = builder->count;
}

const struct candidate *
symbol_builder_best(struct symbol_builder *builder, uint64_t offset)
{
	size_t low = 0, high = builder->count;

	sort(builder);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (builder->candidates[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == builder->count || builder->candidates[low].offset != offset || !builder->candidates[low].name)
		return NULL;
	return &builder->candidates[low];
}

/* A table in the making. Spans may overlap, ranges do not; named spans and symbols have the same numbers. */
struct maker {
	const struct candidate *candidates;
	size_t count;
	struct symbol_range *named, *unnamed;
	const struct candidate **chosen; /* whose name each named span bears */
	size_t named_count, unnamed_count;
	uint64_t covered;     /* end of the named spans of known size so far */
	uint64_t unnamed_end; /* end of the last unnamed span */
	struct symbol_table *table;
};

static uint64_t
end_of(const struct candidate *candidate, uint64_t size)
{
	return size < candidate->limit - candidate->offset ? candidate->offset + size : candidate->limit;
}

/* A name without a size lasts until something else begins or the unnamed code around it ends. */
static uint64_t
end_of_unsized(const struct maker *maker, const struct candidate *candidate, size_t next)
{
	uint64_t end = candidate->limit;

	if (next < maker->count && maker->candidates[next].offset < end)
		end = maker->candidates[next].offset;
	if (maker->unnamed_end > candidate->offset && maker->unnamed_end < end)
		end = maker->unnamed_end;
	return end;
}

/*
 * The candidates from `first` to before `next` begin at one offset. The best name gets the first size that is known;
 * one without any is dropped inside of a symbol that knows its size.
 */
static void
add_group(struct maker *maker, size_t first, size_t next)
{
	const struct candidate *best = &maker->candidates[first];
	uint64_t size = 0, end;

	for (size_t i = first; i < next; i++) {
		const struct candidate *candidate = &maker->candidates[i];

		if (!candidate->name && candidate->size) {
			maker->unnamed_end = end_of(candidate, candidate->size);
			maker->unnamed[maker->unnamed_count++] =
				(struct symbol_range){candidate->offset, maker->unnamed_end, 0};
		}
		if (!size)
			size = candidate->size;
	}
	if (!best->name || (!size && best->offset < maker->covered))
		return;
	end = size ? end_of(best, size) : end_of_unsized(maker, best, next);
	if (size && end > maker->covered)
		maker->covered = end;
	maker->chosen[maker->named_count] = best;
	maker->named[maker->named_count] = (struct symbol_range){best->offset, end, maker->named_count};
	maker->named_count++;
}

static int
make_spans(struct maker *maker)
{
	const struct candidate *all = maker->candidates;

	maker->named = calloc(maker->count + 1, sizeof(*maker->named));
	maker->unnamed = calloc(maker->count + 1, sizeof(*maker->unnamed));
	maker->chosen = calloc(maker->count + 1, sizeof(*maker->chosen));
	if (!maker->named || !maker->unnamed || !maker->chosen)
		return -ENOMEM;
	for (size_t first = 0, next; first < maker->count; first = next) {
		for (next = first + 1; next < maker->count && all[next].offset == all[first].offset;)
			next++;
		add_group(maker, first, next);
	}
	return 0;
}

/* Ranges of the named spans first, then those that only unnamed spans cover, each a symbol of its own. */
static int
make_ranges(struct maker *maker)
{
	struct symbol_table *table = maker->table;
	size_t count, gaps;
	int err;

	table->ranges = calloc(4 * maker->named_count + maker->unnamed_count + 1, sizeof(*table->ranges));
	if (!table->ranges)
		return -ENOMEM;
	err = symbol_ranges_flatten(maker->named, maker->named_count, table->ranges, &count);
	if (err)
		return err;
	gaps = symbol_ranges_gaps(maker->unnamed, maker->unnamed_count, table->ranges, count, table->ranges + count);
	for (size_t i = 0; i < gaps; i++)
		table->ranges[count + i].symbol = maker->named_count + i;
	table->range_count = count + gaps;
	table->count = maker->named_count + gaps;
	return 0;
}

static int
make_names(struct maker *maker)
{
	struct symbol_table *table = maker->table;
	size_t size = 1;
	char *at;

	for (size_t i = 0; i < maker->named_count; i++)
		size += maker->chosen[i]->name_length +
		        (maker->chosen[i]->suffix ? strlen(maker->chosen[i]->suffix) : 0) + 1;
	at = table->names = malloc(size);
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < maker->named_count; i++) {
		const struct candidate *chosen = maker->chosen[i];

		table->symbols[i].name = at;
		at = mempcpy(at, chosen->name, chosen->name_length);
		if (chosen->suffix)
			at = mempcpy(at, chosen->suffix, strlen(chosen->suffix));
		*at++ = '\0';
	}
	return 0;
}

static int
compare_ranges(const void *left, const void *right)
{
	return compare_numbers(((const struct symbol_range *)left)->start, ((const struct symbol_range *)right)->start);
}

static int
make_symbols(struct maker *maker)
{
	struct symbol_table *table = maker->table;

	table->symbols = calloc(table->count + 1, sizeof(*table->symbols));
	if (!table->symbols)
		return -ENOMEM;
	for (size_t i = 0; i < table->range_count; i++) {
		const struct symbol_range *range = &table->ranges[i];
		const struct symbol_range *span =
			range->symbol < maker->named_count ? &maker->named[range->symbol] : range;

		table->symbols[range->symbol] = (struct symbol){
			.offset = span->start,
			.size = span->end == UINT64_MAX ? 0 : span->end - span->start,
		};
	}
	qsort(table->ranges, table->range_count, sizeof(*table->ranges), compare_ranges);
	return make_names(maker);
}

int
symbol_builder_finish(struct symbol_builder *builder, struct symbol_table **table)
{
	struct maker maker = {.table = calloc(1, sizeof(**table))};
	int err = maker.table ? 0 : -ENOMEM;

	sort(builder);
	maker.candidates = builder->candidates;
	maker.count = builder->count;
	if (!err)
		err = make_spans(&maker);
	if (!err)
		err = make_ranges(&maker);
	if (!err)
		err = make_symbols(&maker);
	free(maker.named);
	free(maker.unnamed);
	free(maker.chosen);
	if (err) {
		symbol_table_free(maker.table);
		maker.table = NULL;
	}
	*table = maker.table;
	return err;
}
