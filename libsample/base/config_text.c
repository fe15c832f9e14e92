#include "base/config_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"

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

static int
read_all(int fd, char *text, size_t capacity, size_t *length)
{
	*length = 0;
	while (*length < capacity) {
		ssize_t got = TEMP_FAILURE_RETRY(read(fd, text + *length, capacity - *length));

		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		*length += (size_t)got;
	}
	return -EFBIG;
}

int
config_text_read(const char *path, char **text, char *why, size_t size)
{
	struct stat status;
	size_t length = 0;
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
	*text = calloc(1, CONFIG_TEXT_MAX + 2);
	err = *text ? read_all(fd, *text, CONFIG_TEXT_MAX + 1, &length) : -ENOMEM;
	if (err)
		snprintf(why, size, "%s: cannot read the configuration: %s", path, strerror(-err));
	else if (strlen(*text) != length) {
		snprintf(why, size, "%s: is not a text file", path);
		err = -DCPI_ECONFIG;
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
