#include "code/forms.h"

#include <string.h>

/* How well the word of `length` characters names `name`: 0 not at all, more for more of it, most for all. */
static size_t
match(const char *word, size_t length, const char *name)
{
	if (word[length - 1] == '*')
		return strncmp(word, name, length - 1) == 0 ? length : 0;
	return strncmp(word, name, length) == 0 && name[length] == '\0' ? SIZE_MAX : 0;
}

static size_t
best_match(const char *names, const char *name)
{
	size_t best = 0;

	while (*names) {
		size_t length = strcspn(names, " ");
		size_t matched = length ? match(names, length, name) : 0;

		if (matched > best)
			best = matched;
		names += length + (names[length] == ' ');
	}
	return best;
}

const struct form *
form_find(const struct form *forms, size_t count, const char *name)
{
	const struct form *found = NULL;
	size_t best = 0;

	for (size_t i = 0; i < count; i++) {
		size_t matched = best_match(forms[i].names, name);

		if (matched <= best)
			continue;
		best = matched;
		found = &forms[i];
	}
	return found;
}
