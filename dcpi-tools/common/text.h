/*
 * text.h - text as a reader sees it: columns, not bytes
 *
 * Text is UTF-8. Widths need a UTF-8 LC_CTYPE, which text_init() sets; without it a byte counts as a column.
 * Thread rule: text_init() before other threads; the rest is stateless.
 */
#ifndef DCPI_TOOLS_TEXT_H
#define DCPI_TOOLS_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Use the user's LC_CTYPE when it is UTF-8, C.UTF-8 otherwise. Nothing else of the locale is used: numbers stay plain.
 */
void text_init(void);

size_t text_width(const char *text); /* columns on a terminal */

/* How many bytes of the beginning of `text` fit into `columns`; whole characters only. */
size_t text_prefix(const char *text, size_t columns);

/* How many bytes to leave out at the beginning, so that the rest fits into `columns`. */
size_t text_suffix(const char *text, size_t columns);

/* An escaped copy (base/text.h), whole whatever its length; free it. NULL when memory ends. */
char *text_shown(const char *text);

/* Print it escaped. 0, or -ENOMEM: only what is longer than any path needs memory. */
int text_print(const char *text, FILE *stream);

const char *text_plural(uint64_t count); /* what a noun ends with: "" for one, else "s" */

const char *text_basename(const char *path); /* what follows the last slash; a part of `path` */

#endif
