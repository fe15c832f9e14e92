/*
 * strings.h - texts, each once, with a number
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EXPORT_STRINGS_H
#define DCPI_TOOLS_EXPORT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct strings;

struct strings *strings_new(void); /* number 0 is the empty text. NULL and errno (ENOMEM) */
void strings_free(struct strings *strings);

/* 0 with the number of `text`, which is copied if it is new; -ENOMEM. */
int strings_add(struct strings *strings, const char *text, uint32_t *number);

size_t strings_count(const struct strings *strings);
const char *strings_get(const struct strings *strings, uint32_t number); /* valid as long as the strings */

#endif
