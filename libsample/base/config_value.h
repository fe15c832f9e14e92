/*
 * config_value.h - one value of the configuration, taken or refused with file, line and accepted range
 *
 * Thread rule: one thread per source.
 */
#ifndef DCPI_BASE_CONFIG_VALUE_H
#define DCPI_BASE_CONFIG_VALUE_H

#include <libconfig.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where values come from, and where the sentence on a bad one goes. */
struct config_source {
	const char *file;
	char *why;
	size_t size;
};

/* Write "file:line: ..." for `setting`, "file: ..." for the root; returns -DCPI_ECONFIG. */
int config_refuse(const struct config_source *source, const config_setting_t *setting, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A whole number in [least, most]; `unit` ("seconds", "" for none) is said with the range. 0 or -DCPI_ECONFIG. */
int config_whole_number(const struct config_source *source, const config_setting_t *setting, uint64_t least,
                        uint64_t most, const char *unit, uint64_t *value);

/* A number in [least, most], with a fraction or without. 0 or -DCPI_ECONFIG. */
int config_number(const struct config_source *source, const config_setting_t *setting, double least, double most,
                  const char *unit, double *value);

/* A string of fewer than `capacity` bytes without control characters. 0 or -DCPI_ECONFIG. */
int config_string(const struct config_source *source, const config_setting_t *setting, char *text, size_t capacity);

/* true or false. 0 or -DCPI_ECONFIG. */
int config_truth(const struct config_source *source, const config_setting_t *setting, bool *value);

/* Refuse members of `group` whose name is not among `names`, with what was probably meant. 0 or -DCPI_ECONFIG. */
int config_known_names(const struct config_source *source, const config_setting_t *group, const char *const *names,
                       size_t count);

#endif
