#include "base/suggest.h"

#include <ctype.h>
#include <string.h>

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Optimal string alignment distance: how many letters must be put in, taken out, replaced or exchanged with their
 * neighbour. Row by row; `before` is the row two above, which an exchange looks back to.
 */
static unsigned
distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned rows[3][SUGGEST_LENGTH_MAX + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned *free_row = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned differs = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);

			row[j] = least(above[j - 1] + differs, least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = free_row;
	}
	return above[b_length];
}

const char *
suggest_name(const char *wrong, const char *const *names, size_t count)
{
	size_t length = strlen(wrong);
	unsigned nearest_distance = (unsigned)(length / 3) + 1;
	const char *nearest = NULL;

	if (length < 2 || length > SUGGEST_LENGTH_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t name_length = strlen(names[i]);
		unsigned differs;

		if (name_length > SUGGEST_LENGTH_MAX)
			continue;
		differs = distance(wrong, length, names[i], name_length);
		if (differs < nearest_distance) {
			nearest_distance = differs;
			nearest = names[i];
		}
	}
	return nearest;
}
