/*
 * selection_error.h - sentences that say why nothing was selected (private to profile/)
 */
#ifndef DCPI_PROFILE_SELECTION_ERROR_H
#define DCPI_PROFILE_SELECTION_ERROR_H

#include <stddef.h>

#define SELECTION_ERROR_LIST_MAX 8 /* things that are listed before "..." */

/* Append to the text in `why`, of `size` bytes; what does not fit is cut. */
void selection_error_append(char *why, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Append a name from outside, escaped. */
void selection_error_append_name(char *why, size_t size, const char *name);

#endif
