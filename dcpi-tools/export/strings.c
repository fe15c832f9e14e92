#include "dcpi-tools/export/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "process/hash.h"

struct export_string {
	uint32_t number;
	UT_hash_handle hh;
	char bytes[];
};

struct export_strings {
	struct export_string *by_text;
	struct export_string **by_number;
	size_t count, capacity;
};

struct export_strings *
strings_new(void)
{
	struct export_strings *strings = calloc(1, sizeof(*strings));
	uint32_t empty;

	if (!strings)
		return NULL;
	if (strings_add(strings, "", &empty) == 0)
		return strings;
	strings_free(strings);
	errno = ENOMEM;
	return NULL;
}

void
strings_free(struct export_strings *strings)
{
	if (!strings)
		return;
	HASH_CLEAR(hh, strings->by_text);
	for (size_t i = 0; i < strings->count; i++)
		free(strings->by_number[i]);
	free((void *)strings->by_number);
	free(strings);
}

static int
add_new(struct export_strings *strings, const char *bytes, size_t length)
{
	struct export_string *text;
	struct export_string **grown;

	if (strings->count == UINT32_MAX)
		return -ENOMEM;
	grown = array_grow((void *)strings->by_number, &strings->capacity, strings->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	strings->by_number = grown;
	text = calloc(1, sizeof(*text) + length + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text->bytes, bytes, length);
	text->number = (uint32_t)strings->count;
	HASH_ADD(hh, strings->by_text, bytes, length, text);
	if (!hash_added(text)) {
		free(text);
		return -ENOMEM;
	}
	strings->by_number[strings->count++] = text;
	return 0;
}

int
strings_add(struct export_strings *strings, const char *text, uint32_t *number)
{
	const size_t length = strlen(text);
	struct export_string *there;

	HASH_FIND(hh, strings->by_text, text, length, there);
	if (there) {
		*number = there->number;
		return 0;
	}
	*number = (uint32_t)strings->count;
	return add_new(strings, text, length);
}

size_t
strings_count(const struct export_strings *strings)
{
	return strings->count;
}

const char *
strings_get(const struct export_strings *strings, uint32_t number)
{
	return strings->by_number[number]->bytes;
}
