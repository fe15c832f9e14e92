#include "profile/block_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define DIGITS      4 /* bytes of a number */
#define DIGIT_COUNT 256

/* How often each value of each digit occurs. */
struct histogram {
	size_t counts[DIGITS][DIGIT_COUNT];
};

static unsigned
digit_of(const struct block *block, unsigned digit)
{
	return block->number >> 8 * digit & (DIGIT_COUNT - 1);
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

static void
swap_spare(struct block_list *list)
{
	struct block *blocks = list->blocks;
	const size_t capacity = list->capacity;

	list->blocks = list->spare;
	list->capacity = list->spare_capacity;
	list->spare = blocks;
	list->spare_capacity = capacity;
}

/* By digits, from the lowest: two of the four are the same in most images, and a few moves beat any comparing. */
int
block_list_sort(struct block_list *list)
{
	struct histogram histogram = {0};
	struct block *spare;

	if (list->count < 2)
		return 0;
	spare = array_grow(list->spare, &list->spare_capacity, list->count, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	list->spare = spare;
	count_digits(list, &histogram);
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		const size_t *counts = histogram.counts[digit];

		if (counts[digit_of(&list->blocks[0], digit)] == list->count)
			continue;
		move_by_digit(list->blocks, list->spare, list->count, digit, counts);
		swap_spare(list);
	}
	return 0;
}
