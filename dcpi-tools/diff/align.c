#include "dcpi-tools/diff/align.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)

static uint64_t
add_character(uint64_t hash, char character)
{
	return (hash ^ (uint8_t)character) * FNV_PRIME;
}

static uint64_t
hash_of(const char *text, bool numbers_are_alike)
{
	uint64_t hash = FNV_OFFSET;
	bool blank = false;

	for (; *text; text++) {
		if (isspace((unsigned char)*text)) {
			blank = hash != FNV_OFFSET;
			continue;
		}
		if (blank)
			hash = add_character(hash, ' ');
		blank = false;
		hash = add_character(hash, *text);
		if (!numbers_are_alike || text[0] != '0' || text[1] != 'x')
			continue;
		while (isxdigit((unsigned char)text[2]))
			text++;
		text++;
	}
	return hash;
}

uint64_t
align_text_hash(const char *text)
{
	return hash_of(text, false);
}

uint64_t
align_instruction_hash(const char *text)
{
	return hash_of(text, true);
}

/* What is left between what both begin and end with. */
struct align_middle {
	const uint64_t *one, *other;
	size_t count, other_count;
};

/* Lengths of the longest common subsequences of all ends of both, row by row. */
static void
measure(const struct align_middle *middle, uint16_t *lengths)
{
	const size_t width = middle->other_count + 1;

	for (size_t i = middle->count; i-- > 0;)
		for (size_t k = middle->other_count; k-- > 0;) {
			const uint16_t down = lengths[(i + 1) * width + k], right = lengths[i * width + k + 1];

			if (middle->one[i] == middle->other[k])
				lengths[i * width + k] = (uint16_t)(lengths[(i + 1) * width + k + 1] + 1);
			else
				lengths[i * width + k] = down > right ? down : right;
		}
}

static int
align_middle(const struct align_middle *middle, uint32_t first_other, uint32_t *partners)
{
	const size_t width = middle->other_count + 1;
	uint16_t *lengths;
	size_t i = 0, k = 0;

	if (middle->count == 0 || middle->other_count == 0 || middle->count >= ALIGN_CELLS_MAX / width)
		return 0;
	lengths = calloc((middle->count + 1) * width, sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	measure(middle, lengths);
	while (i < middle->count && k < middle->other_count) {
		if (middle->one[i] == middle->other[k])
			partners[i++] = first_other + (uint32_t)k++;
		else if (lengths[(i + 1) * width + k] >= lengths[i * width + k + 1])
			i++;
		else
			k++;
	}
	free(lengths);
	return 0;
}

int
align_sequences(const uint64_t *one, size_t count, const uint64_t *other, size_t other_count, uint32_t *partners)
{
	size_t first = 0;

	for (size_t i = 0; i < count; i++)
		partners[i] = ALIGN_NONE;
	while (first < count && first < other_count && one[first] == other[first]) {
		partners[first] = (uint32_t)first;
		first++;
	}
	while (count > first && other_count > first && one[count - 1] == other[other_count - 1])
		partners[--count] = (uint32_t)--other_count;
	return align_middle(&(struct align_middle){one + first, other + first, count - first, other_count - first},
	                    (uint32_t)first, partners + first);
}
