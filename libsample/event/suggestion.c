#include "event/suggestion.h"

#include <stdio.h>

#include "base/suggest.h"

void
suggestion_init(struct suggestion *suggestion, const char *word)
{
	suggestion->word = word;
	suggestion->best[0] = '\0';
}

void
suggestion_consider(struct suggestion *suggestion, const char *candidate)
{
	const char *const names[] = {suggestion->best, candidate};
	const char *best = suggest_name(suggestion->word, names, 2);

	if (best == candidate)
		snprintf(suggestion->best, sizeof(suggestion->best), "%s", candidate);
}

const char *
suggestion_get(const struct suggestion *suggestion)
{
	return suggestion->best[0] ? suggestion->best : NULL;
}
