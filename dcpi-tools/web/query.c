#include "dcpi-tools/web/query.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "base/text.h"
#include "dcpi-tools/web/html.h"

#define SHOWN_SIZE 64 /* of a wrong name in a sentence */

static const char *const names[QUERY_FIELDS] = {
	[QUERY_FORMAT] = "format",
	[QUERY_REPORT] = "report",
	[QUERY_EPOCH] = "epoch",
	[QUERY_SINCE] = "since",
	[QUERY_UNTIL] = "until",
	[QUERY_COMM] = "comm",
	[QUERY_CGROUP] = "cgroup",
	[QUERY_LABEL] = "label",
	[QUERY_HOST] = "host",
	[QUERY_EVENT] = "event",
	[QUERY_IMAGE] = "image",
	[QUERY_PROCEDURE] = "procedure",
	[QUERY_BY] = "by",
	[QUERY_SORT] = "sort",
	[QUERY_LIMIT] = "limit",
	[QUERY_CUTOFF] = "cutoff",
	[QUERY_CPU] = "cpu",
	[QUERY_BEFORE] = "before",
	[QUERY_AFTER] = "after",
	[QUERY_BEFORE_SINCE] = "before_since",
	[QUERY_BEFORE_UNTIL] = "before_until",
	[QUERY_AFTER_SINCE] = "after_since",
	[QUERY_AFTER_UNTIL] = "after_until",
	[QUERY_BEFORE_EPOCH] = "before_epoch",
	[QUERY_AFTER_EPOCH] = "after_epoch",
	[QUERY_BEFORE_COMM] = "before_comm",
	[QUERY_AFTER_COMM] = "after_comm",
	[QUERY_BEFORE_HOST] = "before_host",
	[QUERY_AFTER_HOST] = "after_host",
};

_Static_assert(QUERY_FIELDS <= 32, "a field is a bit of QUERY_KEEPS()");

const char *
query_field_name(enum query_field field)
{
	return names[field];
}

static int
digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit = (char)(digit | 0x20);
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Decode `length` bytes into `decoded`, which has room for length + 1. False: a malformed escape, or a NUL. */
static bool
decode(const char *text, size_t length, char *decoded)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		char byte = text[i];

		if (byte == '+') {
			byte = ' ';
		} else if (byte == '%') {
			const int high = length - i > 2 ? digit_value(text[i + 1]) : -1;
			const int low = high >= 0 ? digit_value(text[i + 2]) : -1;

			if (low < 0)
				return false;
			byte = (char)(high << 4 | low);
			i += 2;
		}
		if (!byte)
			return false;
		decoded[used++] = byte;
	}
	decoded[used] = '\0';
	return true;
}

static enum query_field
find_field(const char *name)
{
	unsigned field = 0;

	while (field < QUERY_FIELDS && strcmp(names[field], name) != 0)
		field++;
	return (enum query_field)field;
}

/* Store one name=value. `decoded` has room for its bytes. */
static int
take_pair(const char *pair, size_t length, char *decoded, struct query *query, char *why, size_t size)
{
	const char *equals = memchr(pair, '=', length);
	const size_t name_length = equals ? (size_t)(equals - pair) : length;
	char shown[SHOWN_SIZE];
	enum query_field field;

	if (!decode(pair, name_length, decoded)) {
		snprintf(why, size, "a name in the query has a malformed %%XX");
		return -EINVAL;
	}
	field = find_field(decoded);
	if (field == QUERY_FIELDS) {
		const char *near = suggest_name(decoded, names, QUERY_FIELDS);

		snprintf(why, size, "the query has a field '%s' that no page knows%s%s%s",
		         escape_text(decoded, shown, sizeof(shown)), near ? " (did you mean " : "", near ? near : "",
		         near ? "?)" : "");
		return -EINVAL;
	}
	if (!equals || equals + 1 == pair + length)
		return 0;
	if (!decode(equals + 1, length - name_length - 1, decoded)) {
		snprintf(why, size, "the value of '%s' has a malformed %%XX, or a byte 0", names[field]);
		return -EINVAL;
	}
	if (strlen(decoded) > QUERY_VALUE_MAX) {
		snprintf(why, size, "the value of '%s' is longer than %d bytes", names[field], QUERY_VALUE_MAX);
		return -EINVAL;
	}
	if (query->values[field]) {
		snprintf(why, size, "the query has '%s' twice: give one", names[field]);
		return -EINVAL;
	}
	query->values[field] = strdup(decoded);
	return query->values[field] ? 0 : -ENOMEM;
}

int
query_parse(const char *text, size_t length, struct query *query, char *why, size_t size)
{
	char decoded[QUERY_SIZE_MAX + 1];
	int err = 0;

	memset(query, 0, sizeof(*query));
	if (length > QUERY_SIZE_MAX) {
		snprintf(why, size, "the query is longer than %d bytes: select by a shorter pattern", QUERY_SIZE_MAX);
		return -E2BIG;
	}
	while (length > 0 && !err) {
		const char *end = memchr(text, '&', length);
		const size_t pair = end ? (size_t)(end - text) : length;

		if (pair > 0)
			err = take_pair(text, pair, decoded, query, why, size);
		text += end ? pair + 1 : pair;
		length -= end ? pair + 1 : pair;
	}
	return err;
}

void
query_fini(struct query *query)
{
	for (unsigned i = 0; i < QUERY_FIELDS; i++)
		free(query->values[i]);
	memset(query, 0, sizeof(*query));
}

static int
append_field(struct evbuffer *url, enum query_field field, const char *value, const char **separator)
{
	if (evbuffer_add_printf(url, "%s%s=", *separator, names[field]) < 0)
		return -ENOMEM;
	*separator = "&";
	return url_append(url, value);
}

char *
query_url(const char *path, const struct query *query, unsigned keeps, const struct query_change *changes, size_t count)
{
	struct evbuffer *url = evbuffer_new();
	const char *separator = "?";
	char *text = NULL;
	int err = url && url_append(url, path) == 0 ? 0 : -ENOMEM;

	for (unsigned field = 0; field < QUERY_FIELDS && !err; field++) {
		const char *value = keeps & QUERY_KEEPS(field) ? query->values[field] : NULL;

		for (size_t i = 0; i < count; i++)
			if (changes[i].field == field)
				value = changes[i].value;
		if (value && *value)
			err = append_field(url, (enum query_field)field, value, &separator);
	}
	if (!err && evbuffer_add(url, "", 1) == 0) {
		const size_t size = evbuffer_get_length(url);

		text = malloc(size);
		if (text && evbuffer_remove(url, text, size) < 0)
			text[0] = '\0';
	}
	if (url)
		evbuffer_free(url);
	return text;
}
