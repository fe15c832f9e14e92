#include "base/escape.h"

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
