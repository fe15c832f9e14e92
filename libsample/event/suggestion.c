#include "event/suggestion.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static unsigned
smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool
same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment: one row per letter of `a`, of which the last two are kept. */
unsigned
edit_distance(const char *a, const char *b)
{
	size_t a_length = strnlen(a, EVENT_NAME_SIZE);
	size_t b_length = strnlen(b, EVENT_NAME_SIZE);
	unsigned rows[3][EVENT_NAME_SIZE + 1];

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		const unsigned *before_last = rows[(i + 1) % 3];
		const unsigned *last = rows[(i - 1) % 3];
		unsigned *row = rows[i % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
			row[j] = smaller(row[j], smaller(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
				row[j] = smaller(row[j], before_last[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

void
suggestion_init(struct suggestion *suggestion, const char *word)
{
	suggestion->word = word;
	suggestion->distance = (unsigned)(strlen(word) + 2) / 3 + 1;
	suggestion->best[0] = '\0';
}

void
suggestion_consider(struct suggestion *suggestion, const char *candidate)
{
	unsigned distance = edit_distance(suggestion->word, candidate);

	if (distance >= suggestion->distance)
		return;
	suggestion->distance = distance;
	snprintf(suggestion->best, sizeof(suggestion->best), "%s", candidate);
}

const char *
suggestion_get(const struct suggestion *suggestion)
{
	return suggestion->best[0] ? suggestion->best : NULL;
}
