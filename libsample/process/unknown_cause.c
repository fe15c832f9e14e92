#include "process/unknown_cause.h"

struct unknown_cause_text {
	const char *name;
	const char *text;
};

static const struct unknown_cause_text causes[] = {
#define UNKNOWN_CAUSE_ENTRY(value, name, text) [value] = {name, text},
	UNKNOWN_CAUSES(UNKNOWN_CAUSE_ENTRY)
#undef UNKNOWN_CAUSE_ENTRY
};

const char *
unknown_cause_name(unsigned cause)
{
	return cause < UNKNOWN_CAUSE_COUNT ? causes[cause].name : "other";
}

const char *
unknown_cause_text(unsigned cause)
{
	return cause < UNKNOWN_CAUSE_COUNT ? causes[cause].text : "for another reason";
}
