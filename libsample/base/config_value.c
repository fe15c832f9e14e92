#include "base/config_value.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"

int
config_refuse(const struct config_source *source, const config_setting_t *setting, const char *format, ...)
{
	va_list arguments;
	int used;

	if (config_setting_is_root(setting))
		used = snprintf(source->why, source->size, "%s: ", source->file);
	else
		used = snprintf(source->why, source->size, "%s:%d: ", source->file,
		                config_setting_source_line(setting));
	if (used < 0 || (size_t)used >= source->size)
		return -DCPI_ECONFIG;
	va_start(arguments, format);
	vsnprintf(source->why + used, source->size - (size_t)used, format, arguments);
	va_end(arguments);
	return -DCPI_ECONFIG;
}

int
config_whole_number(const struct config_source *source, const config_setting_t *setting, uint64_t least, uint64_t most,
                    const char *unit, uint64_t *value)
{
	int type = config_setting_type(setting);
	const char *name = config_setting_name(setting);
	long long given;

	if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
		return config_refuse(source, setting, "%s must be a whole number from %" PRIu64 " to %" PRIu64 "%s%s",
		                     name, least, most, *unit ? " " : "", unit);
	given = config_setting_get_int64(setting);
	if (given < 0 || (uint64_t)given < least || (uint64_t)given > most)
		return config_refuse(source, setting, "%s is %lld; it must be from %" PRIu64 " to %" PRIu64 "%s%s",
		                     name, given, least, most, *unit ? " " : "", unit);
	*value = (uint64_t)given;
	return 0;
}

int
config_number(const struct config_source *source, const config_setting_t *setting, double least, double most,
              const char *unit, double *value)
{
	const char *name = config_setting_name(setting);
	double given;

	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		given = (double)config_setting_get_int64(setting);
		break;
	case CONFIG_TYPE_FLOAT:
		given = config_setting_get_float(setting);
		break;
	default:
		return config_refuse(source, setting, "%s must be a number from %g to %g %s", name, least, most, unit);
	}
	/* what is no number at all is neither below nor above */
	if (!(given >= least && given <= most))
		return config_refuse(source, setting, "%s is %g; it must be from %g to %g %s", name, given, least, most,
		                     unit);
	*value = given;
	return 0;
}

int
config_string(const struct config_source *source, const config_setting_t *setting, char *text, size_t capacity)
{
	const char *name = config_setting_name(setting);
	const char *given = config_setting_get_string(setting);

	if (!given)
		return config_refuse(source, setting, "%s must be a string, in \"...\"", name);
	if (strlen(given) >= capacity)
		return config_refuse(source, setting, "%s is %zu bytes long; at most %zu are accepted", name,
		                     strlen(given), capacity - 1);
	for (const char *at = given; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return config_refuse(source, setting, "%s must not contain control characters", name);
	memcpy(text, given, strlen(given) + 1);
	return 0;
}

int
config_truth(const struct config_source *source, const config_setting_t *setting, bool *value)
{
	if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
		return config_refuse(source, setting, "%s must be true or false", config_setting_name(setting));
	*value = config_setting_get_bool(setting);
	return 0;
}

int
config_known_names(const struct config_source *source, const config_setting_t *group, const char *const *names,
                   size_t count)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
		const char *name = config_setting_name(setting);
		const char *near;
		size_t known = 0;

		while (known < count && strcmp(names[known], name) != 0)
			known++;
		if (known < count)
			continue;
		near = suggest_name(name, names, count);
		if (near)
			return config_refuse(source, setting, "there is no option %.64s (did you mean %s?)", name,
			                     near);
		return config_refuse(source, setting, "there is no option %.64s", name);
	}
	return 0;
}
