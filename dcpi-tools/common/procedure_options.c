#include "dcpi-tools/common/procedure_options.h"

#include <string.h>

#include "base/error.h"

void
procedure_options_argument(struct procedure_options *procedure, struct options *options, char *text,
                           struct argp_state *state)
{
	if (!*text && !procedure->name)
		argp_error(state, PROCEDURE_MISSING);
	else if (!procedure->name)
		procedure->name = text;
	else
		options_add_image(options, text, state);
}

void
procedure_options_syntax(void *listing_syntax, char *text, struct argp_state *state)
{
	enum listing_syntax *syntax = listing_syntax;

	if (strcmp(text, "att") == 0)
		*syntax = LISTING_ATT;
	else if (strcmp(text, "intel") == 0)
		*syntax = LISTING_INTEL;
	else
		argp_error(state, "--asm is one of 'att' and 'intel'");
}

struct guard
procedure_guard(const char *shown)
{
	return (struct guard){
		.subject = shown ? shown : "?",
		.claim = "an image cannot be read: its file is damaged",
		.advice = "name another one with --image",
		.status = STATUS_FAILURE,
	};
}
