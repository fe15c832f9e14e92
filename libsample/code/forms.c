#include "code/forms.h"

#include <stdint.h>

/* How well the word at *words names `name`: 0 not at all, more for more of it, most for all. *words: behind it. */
static size_t
match(const char **words, const char *name)
{
	const char *word = *words, *at = word;
	size_t same = 0;

	while (name[same] && name[same] != ' ' && word[same] == name[same])
		same++;
	for (at += same; *at && *at != ' '; at++)
		;
	*words = at + (*at == ' ');
	if (at == word)
		return 0;
	if (at[-1] == '*')
		return same + 1 >= (size_t)(at - word) ? (size_t)(at - word) : 0;
	return same == (size_t)(at - word) && !name[same] ? SIZE_MAX : 0;
}

static size_t
best_match(const char *names, const char *name)
{
	size_t best = 0;

	while (*names) {
		size_t matched = match(&names, name);

		if (matched > best)
			best = matched;
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
