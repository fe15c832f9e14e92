/*
 * config.h - configuration files: their text, single values, and groups of numbers by a table; models, a file each
 *
 * libconfig reads them. It does two things silently that must not happen here: it truncates a number that needs more
 * than 32 bits, and it reads other files by @include, relative to the working directory; config_text_prepare() prevents
 * both. A value is read, or refused with file, line and accepted range.
 * Thread rule: one thread per source; functions without a source are stateless.
 */
#ifndef DCPI_BASE_CONFIG_H
#define DCPI_BASE_CONFIG_H

#include <libconfig.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* ---- single values ---- */

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

/* ---- the numbers of a group, by a table of their members ---- */

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
int config_read_text(const char *file, const char *text,
                     int (*read)(const struct config_source *source, const config_setting_t *root, void *into),
                     void *into, char *why, size_t size);

/* ---- things that are described in a file each, NAME.conf in a directory: CPUs, machines ---- */

#define CONFIG_MODEL_SUFFIX ".conf"

/*
 * The text of the file at `path`, for the caller to free. 0; -errno, -DCPI_ECONFIG or -DCPI_EDAMAGED with a sentence in
 * `why` that begins with the file and says `what` cannot be read: "the model of a CPU".
 */
int config_model_read(const char *path, const char *what, char **text, char *why, size_t size);

/*
 * Where those of a kind are: what the variable `environment` says; else, of a program in a build folder, `folder` of
 * its sources, which is there when it has the file `probe`; else `installed`.
 */
void config_model_directory(const char *environment, const char *folder, const char *probe, const char *installed,
                            char *directory, size_t size);

/* The names of those in `directory`, without the suffix, in alphabetical order. How many, or -errno. */
int config_model_list(const char *directory, char ***names);
void config_model_list_free(char **names, int count); /* a negative count is allowed */

/*
 * Say that there is no `what` ("model of a CPU") of the name `choice` in `directories`: which one was probably meant,
 * else which there are. -DCPI_ECONFIG.
 */
int config_model_refuse(const char *what, const char *choice, const char *const *directories, size_t directory_count,
                        char *why, size_t size);

#endif
