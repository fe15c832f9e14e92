#include "input.h"
#include "kernels.h"

#define LETTERS "abcdefgh"

/* Boyer, Moore and Horspool's search for eight patterns, one after the other. */
uint64_t
kernel_search(uint8_t *data, size_t size)
{
	uint64_t found = 0;

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)LETTERS[data[i] % 8];
	for (size_t length = 3; length < 11; length++) {
		const uint8_t *pattern = data + 31 * length;
		size_t skip[256];

		for (size_t i = 0; i < 256; i++)
			skip[i] = length;
		for (size_t i = 0; i + 1 < length; i++)
			skip[pattern[i]] = length - 1 - i;
		for (size_t at = 0; at + length <= size; at += skip[data[at + length - 1]]) {
			size_t k = length;

			while (k && data[at + k - 1] == pattern[k - 1])
				k--;
			found += k == 0;
		}
	}
	return found;
}

enum state { BLANK, WORD, NUMBER, STRING, COMMENT };

static const char signs[] = "aabbccdee  \n\n0123456789\"#(x)y+z-";

uint64_t
kernel_lexer(uint8_t *data, size_t size)
{
	uint64_t counts[5] = {0}, values = 0;
	enum state state = BLANK;

	for (size_t i = 0; i < size; i++) {
		const char c = signs[data[i] % 32];

		switch (state) {
		case BLANK:
			if (c >= '0' && c <= '9')
				state = NUMBER;
			else if (c >= 'a' && c <= 'z')
				state = WORD;
			else if (c == '"')
				state = STRING;
			else if (c == '#')
				state = COMMENT;
			break;
		case WORD:
			if (c < '0' || c > 'z')
				state = BLANK;
			break;
		case NUMBER:
			if (c < '0' || c > '9')
				state = c >= 'a' ? WORD : BLANK;
			else
				values = values * 10 + (uint64_t)(c - '0');
			break;
		case STRING:
			if (c == '"' || c == '\n')
				state = BLANK;
			break;
		case COMMENT:
			if (c == '\n')
				state = BLANK;
			break;
		}
		counts[state]++;
	}
	return values + counts[WORD] * 3 + counts[STRING];
}

/* How many letters are to be changed, put in or left out to make one line of 500 the next (Levenshtein). */
uint64_t
kernel_distance(uint8_t *data, size_t size)
{
	enum { LINE = 500 };
	uint64_t sum = 0;

	for (size_t line = 0; line + 2 * LINE <= size; line += (size_t)LINE * 40) {
		uint32_t row[LINE + 1];

		for (uint32_t i = 0; i <= LINE; i++)
			row[i] = i;
		for (uint32_t i = 0; i < LINE; i++) {
			uint32_t diagonal = row[0];

			row[0] = i + 1;
			for (uint32_t k = 0; k < LINE; k++) {
				const uint32_t above = row[k + 1];
				uint32_t best = diagonal;

				if (data[line + i] % 4 != data[line + LINE + k] % 4) {
					if (above < best)
						best = above;
					if (row[k] < best)
						best = row[k];
					best++;
				}
				diagonal = above;
				row[k + 1] = best;
			}
		}
		sum += row[LINE];
	}
	return sum;
}

/* A machine with eight registers, whose program is the data. */
uint64_t
kernel_machine(uint8_t *data, size_t size)
{
	uint64_t registers[8] = {1, 2, 3, 4, 5, 6, 7, 8}, turns = 0;

	for (size_t at = 0; at + 3 < size;) {
		const uint8_t code = data[at++];
		uint64_t *to = &registers[data[at] % 8];
		const uint64_t from = registers[data[at] / 8 % 8];

		at++;
		switch (code % 16) {
		case 0:
		case 1:
		case 2:
			*to += from;
			break;
		case 3:
		case 4:
			*to -= from;
			break;
		case 5:
			*to *= from | 1;
			break;
		case 6:
			*to ^= from >> 3;
			break;
		case 7:
		case 8:
			*to = data[at++];
			break;
		case 9:
			if (from % 2)
				at += 2;
			break;
		case 10:
			if (*to > from)
				*to = from;
			break;
		case 11:
			for (uint32_t i = 0; i < data[at] % 8U; i++)
				*to = *to * 3 + i;
			at++;
			break;
		case 12:
			*to = from ? *to / from : turns;
			break;
		case 13:
			*to = data[from % size];
			break;
		default:
			turns++;
			break;
		}
	}
	return turns + registers[0];
}

/* Conway's game of life on a field of 256 columns, twelve generations. */
uint64_t
kernel_life(uint8_t *data, size_t size)
{
	enum { COLUMNS = 256 };
	const size_t rows = size / 2 / COLUMNS;
	uint8_t *now = data, *next = data + rows * COLUMNS;
	uint64_t alive = 0;

	for (size_t i = 0; i < rows * COLUMNS; i++)
		now[i] = data[i] % 3 == 0;
	for (int generation = 0; generation < 12; generation++) {
		uint8_t *kept = now;

		for (size_t y = 1; y + 1 < rows; y++)
			for (size_t x = 1; x + 1 < COLUMNS; x++) {
				const uint8_t *at = &now[y * COLUMNS + x];
				int around = -*at;

				for (int dy = -COLUMNS; dy <= COLUMNS; dy += COLUMNS)
					around += at[dy - 1] + at[dy] + at[dy + 1];
				if (*at && (around < 2 || around > 3)) {
					next[y * COLUMNS + x] = 0;
				} else if (!*at && around == 3) {
					next[y * COLUMNS + x] = 1;
					alive++;
				} else {
					next[y * COLUMNS + x] = *at;
				}
			}
		now = next;
		next = kept;
	}
	return alive;
}
