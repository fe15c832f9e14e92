/*
 * strings.h - a table that has each text once, with a number
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_EXPORT_STRINGS_H
#define DCPI_TOOLS_EXPORT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct export_strings;

struct export_strings *strings_new(void); /* number 0 is the empty text. NULL and errno (ENOMEM) */
void strings_free(struct export_strings *strings);

/* 0 with the number of `text`, which is copied if it is new; -ENOMEM. */
int strings_add(struct export_strings *strings, const char *text, uint32_t *number);

size_t strings_count(const struct export_strings *strings);
const char *strings_get(const struct export_strings *strings, uint32_t number); /* valid as long as the strings */

#endif
