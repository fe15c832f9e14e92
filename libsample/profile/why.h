/*
 * why.h - sentences on what could not be selected (private to profile/)
 */
#ifndef DCPI_PROFILE_WHY_H
#define DCPI_PROFILE_WHY_H

#include <stddef.h>

#define WHY_LIST_MAX 8 /* things that are listed before "..." */

/* Append to the text in `why`, of `size` bytes; what does not fit is cut. */
void why_append(char *why, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Append a name from outside, escaped. */
void why_append_name(char *why, size_t size, const char *name);

#endif
