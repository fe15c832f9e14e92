/* What to call a set: by the options that are its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/profile_set_parts.h"

static const char *
prefix_of(const struct profile_set_choice *choice)
{
	switch (choice->key) {
	case OPTIONS_EPOCH:
		return "epoch ";
	case OPTIONS_SINCE:
		return "since ";
	case OPTIONS_UNTIL:
		return "until ";
	case OPTIONS_COMM:
		return "comm ";
	case OPTIONS_CGROUP:
		return "cgroup ";
	case OPTIONS_HOST:
		return "host ";
	default:
		return "";
	}
}

/* Without the slashes that a shell's completion leaves at a directory's end. */
static size_t
shown_size(const char *text)
{
	size_t size = strlen(text);

	while (size > 1 && text[size - 1] == '/')
		size--;
	return size;
}

char *
profile_set_title(const struct profile_set_choice *const *choices, size_t count)
{
	size_t size = 0;
	char *title = NULL;
	FILE *stream;

	if (count == 0)
		return strdup("everything");
	stream = open_memstream(&title, &size);
	if (!stream)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const bool is_end = i > 0 && choices[i]->key == OPTIONS_UNTIL && choices[i - 1]->key == OPTIONS_SINCE;

		fprintf(stream, "%s%s%.*s",
		        i == 0   ? ""
		        : is_end ? " "
		                 : ", ",
		        prefix_of(choices[i]), (int)shown_size(choices[i]->text), choices[i]->text);
	}
	if (fclose(stream) == 0)
		return title;
	free(title);
	return NULL;
}
