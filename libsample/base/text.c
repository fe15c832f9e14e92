#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length of the well-formed UTF-8 sequence at `at` (RFC 3629, table in section 4), 0 if there is none. */
static size_t
utf8_length(const uint8_t *at)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t length;

	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		length = 2;
	else if (at[0] >= 0xe0 && at[0] <= 0xef)
		length = 3;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		length = 4;
	else
		return 0;
	if (at[0] == 0xe0)
		low = 0xa0;
	else if (at[0] == 0xed)
		high = 0x9f;
	else if (at[0] == 0xf0)
		low = 0x90;
	else if (at[0] == 0xf4)
		high = 0x8f;
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (at[i] < 0x80 || at[i] > 0xbf)
			return 0;
	return length;
}

static bool
is_control(const uint8_t *at, size_t length)
{
	if (length == 1)
		return at[0] < 0x20 || at[0] == 0x7f;
	return length == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

const char *
escape_text(const char *text, char *shown, size_t capacity)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t used = 0;

	while (*at) {
		size_t length = utf8_length(at);
		char piece[20] = "";
		size_t size = 0;

		if (*at == '\\') {
			memcpy(piece, "\\\\", size = 2);
			length = 1;
		} else if (length && !is_control(at, length)) {
			memcpy(piece, at, size = length);
		} else {
			if (!length)
				length = 1;
			for (size_t i = 0; i < length; i++)
				size += (size_t)snprintf(piece + size, sizeof(piece) - size, "\\x%02x", at[i]);
		}
		if (used + size >= capacity)
			break;
		memcpy(shown + used, piece, size);
		used += size;
		at += length;
	}
	shown[used] = '\0';
	return shown;
}

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
