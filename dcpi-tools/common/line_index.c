#include "dcpi-tools/common/line_index.h"

#include <errno.h>
#include <stdlib.h>

static int
compare_places(const struct list_place *one, const struct list_place *other)
{
	if (one->file != other->file)
		return one->file < other->file ? -1 : 1;
	return (one->line > other->line) - (one->line < other->line);
}

/* What is sorted by: an instruction that is from there. */
struct use {
	struct list_place place;
	uint32_t instruction;
};

static int
compare_uses(const void *a, const void *b)
{
	const struct use *one = a, *other = b;
	const int order = compare_places(&one->place, &other->place);

	return order ? order : (one->instruction > other->instruction) - (one->instruction < other->instruction);
}

static void
gather(const struct use *uses, uint32_t count, struct line_index *index)
{
	for (uint32_t i = 0; i < count; i++) {
		struct list_line *last = index->count ? &index->lines[index->count - 1] : NULL;

		if (!last || compare_places(&last->place, &uses[i].place) != 0) {
			last = &index->lines[index->count++];
			*last = (struct list_line){.place = uses[i].place, .first = i};
		}
		last->count++;
		index->order[i] = uses[i].instruction;
	}
}

int
line_index_make(const struct list_place *places, uint32_t count, struct line_index *index)
{
	struct use *uses = calloc((size_t)count + 1, sizeof(*uses));
	uint32_t known = 0;

	*index = (struct line_index){
		.lines = calloc((size_t)count + 1, sizeof(*index->lines)),
		.order = calloc((size_t)count + 1, sizeof(*index->order)),
	};
	if (!uses || !index->lines || !index->order) {
		free(uses);
		line_index_fini(index);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		if (places[i].file != SOURCE_NONE)
			uses[known++] = (struct use){.place = places[i], .instruction = i};
	if (known)
		qsort(uses, known, sizeof(*uses), compare_uses);
	gather(uses, known, index);
	free(uses);
	return 0;
}

void
line_index_fini(struct line_index *index)
{
	free(index->lines);
	free(index->order);
	*index = (struct line_index){0};
}

const struct list_line *
line_index_find(const struct line_index *index, const struct list_place *place)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = compare_places(&index->lines[middle].place, place);

		if (order == 0)
			return &index->lines[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
