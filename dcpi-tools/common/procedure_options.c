#include "dcpi-tools/common/procedure_options.h"

#include <string.h>

#include "base/error.h"

void
procedure_options_argument(struct procedure_options *procedure, struct options *options, const char *text,
                           const struct argp_state *state)
{
	if (!*text && !procedure->name)
		procedure_options_none(state);
	else if (!procedure->name)
		procedure->name = text;
	else
		options_add_image(options, text, state);
}

void
procedure_options_none(const struct argp_state *state)
{
	argp_error(state, "which procedure? 'dcpiprof' shows which are hot");
}

void
procedure_options_syntax(enum listing_syntax *syntax, const char *text, const struct argp_state *state)
{
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
