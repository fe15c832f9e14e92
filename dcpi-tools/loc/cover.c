#include "dcpi-tools/loc/cover.h"

#include <stdbool.h>
#include <stdlib.h>

/* One level of a nest, as the addresses of a stream ascend by it. */
struct cover_level {
	uint64_t step, times; /* bytes, at least 1; how often */
};

/* The sum of a stream's addresses: where it begins, and its levels, the smallest step first. */
struct cover {
	uint64_t base, bytes;
	struct cover_level levels[LOCALITY_LEVELS];
	uint32_t count;
};

static int
compare_levels(const void *a, const void *b)
{
	const struct cover_level *one = a, *other = b;

	return (one->step > other->step) - (one->step < other->step);
}

/* Levels that descend are taken from their other end; those that stay are none. */
static void
read_levels(const struct locality_nest *nest, const struct locality_part *part, struct cover *cover)
{
	for (uint32_t i = 0; i <= part->level; i++) {
		const uint64_t step = (uint64_t)part->steps[i], times = nest->iterations[i];

		if (step == 0 || times <= 1)
			continue;
		if (part->steps[i] < 0)
			cover->base += step * (times - 1);
		cover->levels[cover->count++] = (struct cover_level){part->steps[i] < 0 ? -step : step, times};
	}
	qsort(cover->levels, cover->count, sizeof(cover->levels[0]), compare_levels);
}

/* A level whose steps leave no line out between the bytes that are referred to makes these more. */
static void
join_levels(struct cover *cover)
{
	uint32_t first = 0;

	while (first < cover->count) {
		const struct cover_level *level = &cover->levels[first];
		uint64_t more;

		if (level->step > cover->bytes && level->step > LINE_SET_BYTES)
			break;
		if (__builtin_mul_overflow(level->step, level->times - 1, &more) || more > UINT64_MAX / 2)
			break;
		cover->bytes += more;
		first++;
	}
	cover->count -= first;
	for (uint32_t i = 0; i < cover->count; i++)
		cover->levels[i] = cover->levels[i + first];
}

static void
add_range(struct line_set *lines, uint32_t owner, uint64_t address, uint64_t bytes, uint64_t *left)
{
	while (bytes && *left) {
		const uint64_t in_line = LINE_SET_BYTES - address % LINE_SET_BYTES,
			       part = bytes < in_line ? bytes : in_line;

		line_set_add(lines, owner, address, (uint32_t)part);
		address += part;
		bytes -= part;
		(*left)--;
	}
}

void
cover_part(const struct locality_nest *nest, const struct locality_part *part, uint32_t bytes, struct line_set *lines,
           uint32_t owner, uint64_t *left)
{
	struct cover cover = {.base = part->base, .bytes = bytes ? bytes : 1};
	uint64_t at[LOCALITY_LEVELS] = {0};
	uint32_t level = 0;

	for (uint32_t i = 0; i <= part->level; i++) {
		if (nest->iterations[i] == 0)
			return;
	}
	read_levels(nest, part, &cover);
	join_levels(&cover);
	while (level <= cover.count && *left) {
		uint64_t address = cover.base;

		for (uint32_t i = 0; i < cover.count; i++)
			address += at[i] * cover.levels[i].step;
		add_range(lines, owner, address, cover.bytes, left);
		for (level = 0; level < cover.count && ++at[level] == cover.levels[level].times; level++)
			at[level] = 0;
		if (level == cover.count)
			break;
	}
}
