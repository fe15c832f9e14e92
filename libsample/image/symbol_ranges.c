#include "image/symbol_ranges.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct flattener {
	const struct symbol_range **open; /* spans that have begun and not ended, innermost last */
	size_t depth;
	uint64_t at; /* everything below is done */
	struct symbol_range *ranges;
	size_t count;
};

/* Give the code up to `end` to the innermost open span, as far as that reaches. */
static void
advance(struct flattener *flat, uint64_t end)
{
	while (flat->depth && flat->at < end) {
		const struct symbol_range *inner = flat->open[flat->depth - 1];
		uint64_t stop = inner->end < end ? inner->end : end;

		if (flat->at < stop) {
			flat->ranges[flat->count++] = (struct symbol_range){flat->at, stop, inner->symbol};
			flat->at = stop;
		}
		if (inner->end <= end)
			flat->depth--;
	}
}

int
symbol_ranges_flatten(const struct symbol_range *spans, size_t count, struct symbol_range *ranges, size_t *range_count)
{
	struct flattener flat = {.ranges = ranges};

	flat.open = calloc(count + 1, sizeof(*flat.open));
	if (!flat.open)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		advance(&flat, spans[i].start);
		flat.at = spans[i].start;
		flat.open[flat.depth++] = &spans[i];
	}
	advance(&flat, UINT64_MAX);
	free(flat.open);
	*range_count = flat.count;
	return 0;
}

size_t
symbol_ranges_gaps(const struct symbol_range *spans, size_t count, const struct symbol_range *ranges,
                   size_t range_count, struct symbol_range *pieces)
{
	size_t found = 0, next = 0;
	uint64_t at = 0;

	for (size_t i = 0; i < count; i++) {
		if (spans[i].start > at)
			at = spans[i].start;
		while (at < spans[i].end) {
			uint64_t stop = spans[i].end;

			while (next < range_count && ranges[next].end <= at)
				next++;
			if (next < range_count && ranges[next].start < stop)
				stop = ranges[next].start;
			if (at < stop)
				pieces[found++] = (struct symbol_range){at, stop, spans[i].symbol};
			at = stop;
			if (at < spans[i].end)
				at = ranges[next].end;
		}
	}
	return found;
}
