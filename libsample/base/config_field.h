/*
 * config_field.h - the numbers of a group of the configuration, by a table of where they go
 *
 * Thread rule: one thread per source.
 */
#ifndef DCPI_BASE_CONFIG_FIELD_H
#define DCPI_BASE_CONFIG_FIELD_H

#include "base/config_value.h"

enum config_field_kind {
	CONFIG_FIELD_UNSIGNED, /* unsigned */
	CONFIG_FIELD_LONG,     /* uint64_t */
	CONFIG_FIELD_DOUBLE,   /* double, with a fraction or without */
};

struct config_field {
	const char *name;
	size_t offset; /* of where it goes, from `into` on */
	double least, most;
	bool required; /* else what was there before stays */
	enum config_field_kind kind;
	const char *unit; /* "cycles"; NULL: none */
};

/* Read those that are there. 0 or -DCPI_ECONFIG. */
int config_fields_read(const struct config_source *source, const config_setting_t *group,
                       const struct config_field *fields, size_t count, void *into);

/* Refuse members that are neither one of the fields nor one of `others`. 0 or -DCPI_ECONFIG. */
int config_fields_known(const struct config_source *source, const config_setting_t *group,
                        const struct config_field *fields, size_t count, const char *const *others, size_t other_count);

/*
 * The member `name` of the type `type` (CONFIG_TYPE_...; `type_name` is said: "a string"), or NULL: with *err set when
 * it must be there and is not, or is of another type.
 */
const config_setting_t *config_member(const struct config_source *source, const config_setting_t *group,
                                      const char *name, int type, const char *type_name, bool required, int *err);

/*
 * Parse `text` - `file` stands for it in messages - and give its root to `read` with `into`. What `read` returns;
 * -ENOMEM or -DCPI_ECONFIG with a sentence in `why` when it is no configuration.
 */
int config_parse(const char *file, const char *text,
                 int (*read)(const struct config_source *source, const config_setting_t *root, void *into), void *into,
                 char *why, size_t size);

#endif
