#include "image/symbol_table.h"

#include <stdlib.h>
#include <string.h>

#include "image/symbol_builder.h"

int
symbol_table_from_list(const struct symbol *symbols, size_t count, struct symbol_table **table)
{
	struct symbol_builder builder = SYMBOL_BUILDER_INIT;
	int err = 0;

	*table = NULL;
	for (size_t i = 0; !err && i < count; i++) {
		struct candidate candidate = {
			.offset = symbols[i].offset,
			.size = symbols[i].size,
			.limit = UINT64_MAX,
			.name = symbols[i].name,
			.name_length = symbols[i].name ? strlen(symbols[i].name) : 0,
		};

		err = symbol_builder_add(&builder, &candidate);
	}
	if (!err)
		err = symbol_builder_finish(&builder, table);
	symbol_builder_fini(&builder);
	return err;
}

void
symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	free(table->symbols);
	free(table->ranges);
	free(table->names);
	free(table);
}

const struct symbol *
symbol_table_find(const struct symbol_table *table, uint64_t offset)
{
	size_t low = 0, high = table->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct symbol_range *range = &table->ranges[middle];

		if (offset < range->start)
			high = middle;
		else if (offset >= range->end)
			low = middle + 1;
		else
			return &table->symbols[range->symbol];
	}
	return NULL;
}

size_t
symbol_table_size(const struct symbol_table *table)
{
	return table->count;
}

const struct symbol *
symbol_table_at(const struct symbol_table *table, size_t index)
{
	return &table->symbols[index];
}
