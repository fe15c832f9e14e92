#include "base/config_field.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/config_text.h"
#include "base/error.h"

#define NAMES_MAX 40

static int
read_field(const struct config_source *source, const config_setting_t *setting, const struct config_field *field,
           void *place)
{
	const char *unit = field->unit ? field->unit : "";
	uint64_t value;
	int err;

	if (field->kind == CONFIG_FIELD_DOUBLE)
		return config_number(source, setting, field->least, field->most, unit, place);
	err = config_whole_number(source, setting, (uint64_t)field->least, (uint64_t)field->most, unit, &value);
	if (err)
		return err;
	if (field->kind == CONFIG_FIELD_LONG)
		*(uint64_t *)place = value;
	else
		*(unsigned *)place = (unsigned)value;
	return 0;
}

int
config_fields_read(const struct config_source *source, const config_setting_t *group, const struct config_field *fields,
                   size_t count, void *into)
{
	for (size_t i = 0; i < count; i++) {
		const config_setting_t *setting = config_setting_get_member(group, fields[i].name);
		int err;

		if (!setting && fields[i].required)
			return config_refuse(source, group, "%s is missing", fields[i].name);
		if (!setting)
			continue;
		err = read_field(source, setting, &fields[i], (char *)into + fields[i].offset);
		if (err)
			return err;
	}
	return 0;
}

int
config_fields_known(const struct config_source *source, const config_setting_t *group,
                    const struct config_field *fields, size_t count, const char *const *others, size_t other_count)
{
	const char *known[NAMES_MAX];
	size_t known_count = 0;

	for (size_t i = 0; i < count && known_count < NAMES_MAX; i++)
		known[known_count++] = fields[i].name;
	for (size_t i = 0; i < other_count && known_count < NAMES_MAX; i++)
		known[known_count++] = others[i];
	return config_known_names(source, group, known, known_count);
}

const config_setting_t *
config_member(const struct config_source *source, const config_setting_t *group, const char *name, int type,
              const char *type_name, bool required, int *err)
{
	const config_setting_t *setting = config_setting_get_member(group, name);

	if (!setting) {
		if (required)
			*err = config_refuse(source, group, "%s is missing", name);
		return NULL;
	}
	if (config_setting_type(setting) == type)
		return setting;
	*err = config_refuse(source, setting, "%s must be %s", name, type_name);
	return NULL;
}

int
config_parse(const char *file, const char *text,
             int (*read)(const struct config_source *source, const config_setting_t *root, void *into), void *into,
             char *why, size_t size)
{
	const struct config_source source = {.file = file, .why = why, .size = size};
	char *prepared;
	config_t parsed;
	int err = config_text_prepare(file, text, &prepared, why, size);

	if (err)
		return err;
	config_init(&parsed);
	if (config_read_string(&parsed, prepared) == CONFIG_TRUE) {
		err = read(&source, config_root_setting(&parsed), into);
	} else {
		snprintf(why, size, "%s:%d: %s", file, config_error_line(&parsed), config_error_text(&parsed));
		err = -DCPI_ECONFIG;
	}
	config_destroy(&parsed);
	free(prepared);
	return err;
}
