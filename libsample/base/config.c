#include "base/config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

/* Whoever can write the file decides what a privileged daemon does. */
static int
check_owner(const char *path, const struct stat *status, char *why, size_t size)
{
	if (!S_ISREG(status->st_mode)) {
		snprintf(why, size, "%s: is not a regular file", path);
		return -DCPI_ECONFIG;
	}
	if (status->st_uid != 0 && status->st_uid != geteuid()) {
		snprintf(why, size, "%s: is owned by user %u; it must be owned by root or by the user dcpid runs as",
		         path, (unsigned)status->st_uid);
		return -DCPI_ECONFIG;
	}
	if ((status->st_mode & S_IWOTH) ||
	    ((status->st_mode & S_IWGRP) && status->st_gid != 0 && status->st_gid != getegid())) {
		snprintf(why, size, "%s: others may write it; chmod go-w %s", path, path);
		return -DCPI_ECONFIG;
	}
	if (status->st_size > CONFIG_TEXT_MAX) {
		snprintf(why, size, "%s: has %lld bytes; at most %d are read", path, (long long)status->st_size,
		         CONFIG_TEXT_MAX);
		return -DCPI_ECONFIG;
	}
	return 0;
}

/* What `fd`, a regular file, holds: a string the caller frees. 0; -ENOMEM; -EFBIG; -DCPI_EDAMAGED: it has a NUL. */
static int
read_text(int fd, char **text)
{
	ssize_t length;

	*text = calloc(1, CONFIG_TEXT_MAX + 2);
	length = *text ? file_read_at(fd, *text, CONFIG_TEXT_MAX + 1, 0) : -ENOMEM;
	if (length < 0)
		return (int)length;
	if (length > CONFIG_TEXT_MAX)
		return -EFBIG;
	return memchr(*text, '\0', (size_t)length) ? -DCPI_EDAMAGED : 0;
}

int
config_text_read(const char *path, char **text, char *why, size_t size)
{
	struct stat status;
	int err = 0;
	int fd;

	*text = NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status)) {
		err = -errno;
		snprintf(why, size, "%s: cannot read the configuration: %s", path, strerror(-err));
		goto out;
	}
	err = check_owner(path, &status, why, size);
	if (err)
		goto out;
	err = read_text(fd, text);
	if (err == -DCPI_EDAMAGED) {
		snprintf(why, size, "%s: is not a text file", path);
		err = -DCPI_ECONFIG;
	} else if (err) {
		snprintf(why, size, "%s: cannot read the configuration: %s", path, strerror(-err));
	}
out:
	if (err) {
		free(*text);
		*text = NULL;
	}
	if (fd >= 0)
		close(fd);
	return err;
}

struct scanner {
	const char *name;
	const char *at;
	unsigned line;
	struct byte_writer copy;
	char *why;
	size_t size;
};

static void
take(struct scanner *scanner, size_t length)
{
	for (size_t i = 0; i < length; i++)
		scanner->line += scanner->at[i] == '\n';
	write_bytes(&scanner->copy, scanner->at, length);
	scanner->at += length;
}

/* How long the comment or string that begins here is; 0 when none does. One that does not end reaches to the end. */
static size_t
quoted_length(const char *at)
{
	const char *end;

	if (at[0] == '#' || (at[0] == '/' && at[1] == '/'))
		return strcspn(at, "\n");
	if (at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? (size_t)(end + 2 - at) : strlen(at);
	}
	if (at[0] != '"')
		return 0;
	for (end = at + 1; *end && *end != '"'; end++)
		if (end[0] == '\\' && end[1])
			end++;
	return (size_t)(end - at) + (*end == '"');
}

/* Copy the number or name that begins here; a whole number that needs 64 bits gets its "L". */
static int
take_word(struct scanner *scanner)
{
	const char *start = scanner->at;
	size_t length = 1;
	long long value;
	char *end;

	while (isalnum((unsigned char)start[length]) || strchr("._-*+", start[length]) != NULL) {
		if (start[length] == '\0')
			break;
		length++;
	}
	take(scanner, length);
	if (!isdigit((unsigned char)start[strspn(start, "+-")]))
		return 0;
	errno = 0;
	value = strtoll(start, &end, start[0] == '0' && tolower((unsigned char)start[1]) == 'x' ? 16 : 10);
	if (errno == ERANGE) {
		snprintf(scanner->why, scanner->size, "%s:%u: the number %.*s is too large", scanner->name,
		         scanner->line, (int)(length < 64 ? length : 64), start);
		return -DCPI_ECONFIG;
	}
	if (end == start + length && (value > INT_MAX || value < INT_MIN))
		write_u8(&scanner->copy, 'L');
	return 0;
}

static int
scan(struct scanner *scanner)
{
	while (*scanner->at) {
		size_t length = quoted_length(scanner->at);
		int err = 0;

		if (length)
			take(scanner, length);
		else if (isalnum((unsigned char)*scanner->at) || strchr("+-*", *scanner->at))
			err = take_word(scanner);
		else
			take(scanner, 1);
		if (err)
			return err;
	}
	write_u8(&scanner->copy, '\0');
	return scanner->copy.failed ? -ENOMEM : 0;
}

/* In comments and strings, too: so no difference between their bounds here and in libconfig can let one through. */
static int
refuse_includes(const char *name, const char *text, char *why, size_t size)
{
	static const char directive[] = "@include";
	unsigned line = 1;

	for (const char *at = text; at; line++) {
		if (strncmp(at + strspn(at, " \t\r\f\v"), directive, sizeof(directive) - 1) == 0) {
			snprintf(why, size, "%s:%u: @include is not allowed; write everything here", name, line);
			return -DCPI_ECONFIG;
		}
		at = strchr(at, '\n');
		if (at)
			at++;
	}
	return 0;
}

int
config_text_prepare(const char *name, const char *text, char **prepared, char *why, size_t size)
{
	struct scanner scanner = {.name = name, .at = text, .line = 1, .why = why, .size = size};
	int err;

	*prepared = NULL;
	err = refuse_includes(name, text, why, size);
	if (!err)
		err = scan(&scanner);
	if (err == -ENOMEM)
		snprintf(why, size, "%s: %s", name, strerror(ENOMEM));
	if (err) {
		writer_fini(&scanner.copy);
		return err;
	}
	*prepared = (char *)scanner.copy.data; /* heap memory of the writer, now the caller's */
	return 0;
}

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

#define FIELDS_MAX 40 /* of one group */

static int
read_field(const struct config_source *source, const config_setting_t *setting, const struct config_field *field,
           void *place)
{
	const char *unit = field->unit ? field->unit : "";
	uint64_t value = 0;
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
	const char *known[FIELDS_MAX];
	size_t known_count = 0;

	for (size_t i = 0; i < count && known_count < FIELDS_MAX; i++)
		known[known_count++] = fields[i].name;
	for (size_t i = 0; i < other_count && known_count < FIELDS_MAX; i++)
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
config_read_text(const char *file, const char *text,
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

/* ---- things that are described in a file each ---- */

#define NAMES_MAX       256 /* that a refusal looks through */
#define DIRECTORIES_MAX 8

int
config_model_read(const char *path, const char *what, char **text, char *why, size_t size)
{
	struct stat status;
	int err, fd;

	*text = NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status))
		err = -errno;
	else
		err = S_ISREG(status.st_mode) ? read_text(fd, text) : -DCPI_ECONFIG;
	if (fd >= 0)
		close(fd);
	if (!err)
		return 0;
	snprintf(why, size, "%s: cannot read %s: %s", path, what, error_text(err));
	free(*text);
	*text = NULL;
	return err;
}

/* A program that is not installed lies in BUILD/bin or BUILD/tests/..., and its sources above BUILD. */
static bool
find_in_sources(const char *folder, const char *probe, char *directory, size_t size)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0)
		return false;
	program[length] = '\0';
	for (char *slash = strrchr(program, '/'); slash && slash != program; slash = strrchr(program, '/')) {
		char known[PATH_MAX + 128];

		*slash = '\0';
		snprintf(known, sizeof(known), "%s/%s/%s", program, folder, probe);
		if (access(known, R_OK) == 0) {
			int used = snprintf(directory, size, "%s/%s", program, folder);

			return used > 0 && (size_t)used < size;
		}
	}
	return false;
}

void
config_model_directory(const char *environment, const char *folder, const char *probe, const char *installed,
                       char *directory, size_t size)
{
	const char *given = secure_getenv(environment);

	if (given && *given)
		snprintf(directory, size, "%s", given);
	else if (!find_in_sources(folder, probe, directory, size))
		snprintf(directory, size, "%s", installed);
}

static int
is_model(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > strlen(CONFIG_MODEL_SUFFIX) &&
	       strcmp(entry->d_name + length - strlen(CONFIG_MODEL_SUFFIX), CONFIG_MODEL_SUFFIX) == 0;
}

/* By names without the suffix: "a" is before "a-2", whose '-' is before the suffix's '.'. */
static int
by_model_name(const struct dirent **one, const struct dirent **other)
{
	const size_t length = strlen((*one)->d_name) - strlen(CONFIG_MODEL_SUFFIX);
	const size_t other_length = strlen((*other)->d_name) - strlen(CONFIG_MODEL_SUFFIX);
	const int order = memcmp((*one)->d_name, (*other)->d_name, length < other_length ? length : other_length);

	return order ? order : (length > other_length) - (length < other_length);
}

int
config_model_list(const char *directory, char ***names)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_model, by_model_name);

	*names = NULL;
	if (count < 0)
		return -errno;
	*names = calloc((size_t)count + 1, sizeof(**names));
	for (int i = 0; i < count; i++) {
		if (*names)
			(*names)[i] =
				strndup(entries[i]->d_name, strlen(entries[i]->d_name) - strlen(CONFIG_MODEL_SUFFIX));
		free(entries[i]);
	}
	free(entries);
	for (int i = 0; i < count; i++)
		if (!*names || !(*names)[i]) {
			config_model_list_free(*names, *names ? count : -1);
			*names = NULL;
			return -ENOMEM;
		}
	return count;
}

void
config_model_list_free(char **names, int count)
{
	for (int i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

static void
say_names(const char *what, const char *choice, const char *directory, const char *const *names, size_t count,
          char *why, size_t size)
{
	const char *near = suggest_name(choice, names, count);
	int used;

	if (near) {
		snprintf(why, size, "there is no %s \"%s\"; did you mean \"%s\"?", what, choice, near);
		return;
	}
	used = snprintf(why, size, "there is no %s \"%s\" in %s%s", what, choice, directory,
	                count ? "; there are:" : "");
	for (size_t i = 0; i < count && used > 0 && (size_t)used < size; i++)
		used += snprintf(why + used, size - (size_t)used, " %s", names[i]);
}

int
config_model_refuse(const char *what, const char *choice, const char *const *directories, size_t directory_count,
                    char *why, size_t size)
{
	const char *known[NAMES_MAX] = {NULL};
	char **names[DIRECTORIES_MAX] = {NULL};
	int counts[DIRECTORIES_MAX] = {0};
	size_t known_count = 0;

	for (size_t d = 0; d < directory_count && d < DIRECTORIES_MAX; d++) {
		counts[d] = config_model_list(directories[d], &names[d]);
		for (int i = 0; names[d] && i < counts[d] && known_count < NAMES_MAX; i++)
			known[known_count++] = names[d][i];
	}
	say_names(what, choice, directories[directory_count - 1], known, known_count, why, size);
	for (size_t d = 0; d < directory_count && d < DIRECTORIES_MAX; d++)
		config_model_list_free(names[d], counts[d]);
	return -DCPI_ECONFIG;
}
