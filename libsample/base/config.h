/*
 * config.h - configuration files: their text, single values, groups of numbers by a table, and directories of models
 *
 * libconfig reads them. It does two things silently that must not happen here: it truncates a number that needs more
 * than 32 bits, and it reads other files by @include, relative to the working directory; config_text_prepare() prevents
 * both. A value that is not accepted is refused with file, line and accepted range.
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
 * The text of file `path`, a string that the caller frees. 0; -errno or -DCPI_ECONFIG with a sentence in `why`: too
 * large, not a regular file, owned by another user, or writable by others.
 */
int config_text_read(const char *path, char **text, char *why, size_t size);

/*
 * A copy of `text` in which whole numbers that need 64 bits end in "L", so that libconfig keeps them; line numbers do
 * not change. 0 with *prepared for the caller to free; -ENOMEM; -DCPI_ECONFIG with a sentence in `why` that begins with
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

/*
 * A whole number in [least, most]; `unit` ("seconds", "" for none) follows the range in the message. 0 or
 * -DCPI_ECONFIG.
 */
int config_whole_number(const struct config_source *source, const config_setting_t *setting, uint64_t least,
                        uint64_t most, const char *unit, uint64_t *value);

/* A number in [least, most], with a fraction or without. 0 or -DCPI_ECONFIG. */
int config_number(const struct config_source *source, const config_setting_t *setting, double least, double most,
                  const char *unit, double *value);

/* A string of fewer than `capacity` bytes without control characters. 0 or -DCPI_ECONFIG. */
int config_string(const struct config_source *source, const config_setting_t *setting, char *text, size_t capacity);

/* true or false. 0 or -DCPI_ECONFIG. */
int config_truth(const struct config_source *source, const config_setting_t *setting, bool *value);

/* Refuse members of `group` whose name is not among `names`, and name what was probably meant. 0 or -DCPI_ECONFIG. */
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
	size_t offset; /* of its place in `into`, bytes */
	double least, most;
	bool required; /* false: without it, its place in `into` keeps its value */
	enum config_field_kind kind;
	const char *unit; /* "cycles"; NULL: none */
};

/* Read the fields that `group` has into `into`. 0 or -DCPI_ECONFIG. */
int config_fields_read(const struct config_source *source, const config_setting_t *group,
                       const struct config_field *fields, size_t count, void *into);

/* Refuse members that are neither one of the fields nor one of `others`. 0 or -DCPI_ECONFIG. */
int config_fields_known(const struct config_source *source, const config_setting_t *group,
                        const struct config_field *fields, size_t count, const char *const *others, size_t other_count);

/*
 * The member `name`, of type `type` (CONFIG_TYPE_...; messages call it `type_name`: "a string"). NULL when there is
 * none; *err is set if it is required, or has another type.
 */
const config_setting_t *config_member(const struct config_source *source, const config_setting_t *group,
                                      const char *name, int type, const char *type_name, bool required, int *err);

/*
 * Parse `text`, which messages call `file`, and call `read` with its root and `into`. Returns what `read` returns;
 * -ENOMEM, or -DCPI_ECONFIG with a sentence in `why` when `text` is no configuration.
 */
int config_read_text(const char *file, const char *text,
                     int (*read)(const struct config_source *source, const config_setting_t *root, void *into),
                     void *into, char *why, size_t size);

/* ---- models (CPUs, machines): each is a file NAME.conf in a directory ---- */

#define CONFIG_MODEL_SUFFIX ".conf"

/*
 * The text of the model at `path`, a string that the caller frees. 0; -errno, -DCPI_ECONFIG or -DCPI_EDAMAGED with a
 * sentence in `why` that begins with the file and says that `what` ("the model of a CPU") cannot be read.
 */
int config_model_read(const char *path, const char *what, char **text, char *why, size_t size);

/*
 * The directory of a kind of models: the value of the variable `environment`; else, for a program in a build folder,
 * `folder` of its sources if that has the file `probe`; else `installed`.
 */
void config_model_directory(const char *environment, const char *folder, const char *probe, const char *installed,
                            char *directory, size_t size);

/* The names of the models in `directory`, without the suffix, in alphabetical order. How many, or -errno. */
int config_model_list(const char *directory, char ***names);
void config_model_list_free(char **names, int count); /* a negative count is allowed */

/*
 * Write into `why` that `directories` have no `what` ("model of a CPU") called `choice`, and which name was probably
 * meant, or else which names there are. Returns -DCPI_ECONFIG.
 */
int config_model_refuse(const char *what, const char *choice, const char *const *directories, size_t directory_count,
                        char *why, size_t size);

#endif
