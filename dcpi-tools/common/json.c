#include "dcpi-tools/common/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "dcpi-tools/common/text.h"

json_t *
json_shown(const char *text)
{
	char *shown;
	json_t *value;

	if (!text)
		return json_null();
	shown = text_shown(text);
	value = shown ? json_string(shown) : NULL;
	free(shown);
	return value;
}

json_t *
json_count(uint64_t count)
{
	return count <= INT64_MAX ? json_integer((json_int_t)count) : json_real((double)count);
}

json_t *
json_estimate(double count)
{
	return count < (double)INT64_MAX ? json_integer((json_int_t)llround(count)) : json_real(count);
}

json_t *
json_time(uint64_t nanoseconds)
{
	time_t seconds = (time_t)(nanoseconds / 1000000000);
	struct tm tm;
	char text[64];

	if (nanoseconds == 0)
		return json_null();
	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return NULL;
	return json_string(text);
}

json_t *
json_kept(json_t *value, int failed)
{
	if (!failed)
		return value;
	json_decref(value);
	return NULL;
}

const char *
json_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int
print_digits(json_t *root, FILE *stream, size_t digits)
{
	int err = 0;

	if (!root)
		return -ENOMEM;
	errno = 0; /* the library leaves it as the stream does */
	if (json_dumpf(root, stream, JSON_INDENT(1) | JSON_REAL_PRECISION(digits)) < 0 || fputc('\n', stream) == EOF)
		err = errno ? -errno : -EIO;
	json_decref(root);
	return err;
}

int
json_print(json_t *root, FILE *stream)
{
	return print_digits(root, stream, 6);
}

int
json_print_exact(json_t *root, FILE *stream)
{
	return print_digits(root, stream, 12);
}
