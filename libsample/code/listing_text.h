/*
 * listing_text.h - a text of limited size that grows at its end (private to this room)
 */
#ifndef DCPI_CODE_LISTING_TEXT_H
#define DCPI_CODE_LISTING_TEXT_H

#include <stddef.h>

struct text {
	char *start;
	size_t size, at;
};

/* What does not fit is left out; it always ends in NUL. */
__attribute__((format(printf, 2, 3))) void text_put(struct text *text, const char *format, ...);

#endif
