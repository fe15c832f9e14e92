/*
 * config_text.h - the text of a configuration, made safe for libconfig 1.5
 *
 * Two things libconfig does in silence must not happen here: cutting a number that needs more than 32 bits, and
 * reading other files by @include, relative to the working directory.
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_CONFIG_TEXT_H
#define DCPI_BASE_CONFIG_TEXT_H

#include <stddef.h>

#define CONFIG_TEXT_MAX 65536 /* bytes */

/*
 * The text of file `path`, a string the caller frees. 0; -errno or -DCPI_ECONFIG with a sentence in `why`: too large,
 * not a regular file, owned by a stranger, or writable by others.
 */
int config_text_read(const char *path, char **text, char *why, size_t size);

/*
 * A copy of `text` in which whole numbers that need 64 bits end in "L", so that libconfig keeps them; lines stay where
 * they are. 0 with *prepared for the caller to free; -ENOMEM; -DCPI_ECONFIG with a sentence in `why` that begins with
 * "name:line:" for an @include or a number beyond 64 bits.
 */
int config_text_prepare(const char *name, const char *text, char **prepared, char *why, size_t size);

#endif
