/*
 * escape.h - names from outside, made fit to be shown
 *
 * Command names, paths and symbols are chosen by whoever runs a program; shown raw they could drive a terminal.
 */
#ifndef DCPI_BASE_ESCAPE_H
#define DCPI_BASE_ESCAPE_H

#include <stddef.h>

/*
 * Copy `text` to `shown` (of `capacity` bytes, at least 1): well-formed UTF-8 stays, control characters (C0, DEL,
 * C1) and malformed bytes become \xNN, a backslash becomes two. What does not fit is cut at a whole character.
 * Returns `shown`.
 */
const char *escape_text(const char *text, char *shown, size_t capacity);

#endif
