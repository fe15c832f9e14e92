#include "profile/block_list.h"

#include <errno.h>
#include <stdlib.h>

#define DIGITS      8 /* bytes of a place */
#define DIGIT_COUNT 256

/* How often each value of each digit occurs. */
struct histogram {
	size_t counts[DIGITS][DIGIT_COUNT];
};

static uint64_t
place_of(const struct block *block)
{
	return (uint64_t)block->image << 32 | block->number;
}

static unsigned
digit_of(const struct block *block, unsigned digit)
{
	return place_of(block) >> 8 * digit & (DIGIT_COUNT - 1);
}

static void
count_digits(const struct block_list *list, struct histogram *histogram)
{
	for (size_t i = 0; i < list->count; i++)
		for (unsigned digit = 0; digit < DIGITS; digit++)
			histogram->counts[digit][digit_of(&list->blocks[i], digit)]++;
}

/* Stable, from one array to the other. */
static void
move_by_digit(const struct block *from, struct block *to, size_t count, unsigned digit,
              const size_t counts[DIGIT_COUNT])
{
	size_t next[DIGIT_COUNT], sum = 0;

	for (unsigned value = 0; value < DIGIT_COUNT; value++) {
		next[value] = sum;
		sum += counts[value];
	}
	for (size_t i = 0; i < count; i++)
		to[next[digit_of(&from[i], digit)]++] = from[i];
}

/* By digits, from the lowest: most of the eight are the same in all blocks, and a few moves beat any comparing. */
int
block_list_sort(struct block_list *list)
{
	struct histogram *histogram;
	struct block *other;

	if (list->count < 2)
		return 0;
	histogram = calloc(1, sizeof(*histogram));
	other = reallocarray(NULL, list->count, sizeof(*other));
	if (!histogram || !other) {
		free(histogram);
		free(other);
		return -ENOMEM;
	}
	count_digits(list, histogram);
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		const size_t *counts = histogram->counts[digit];
		struct block *from = list->blocks;

		if (counts[digit_of(&from[0], digit)] == list->count)
			continue;
		move_by_digit(from, other, list->count, digit, counts);
		list->blocks = other;
		other = from;
	}
	list->capacity = list->count;
	free(other);
	free(histogram);
	return 0;
}
