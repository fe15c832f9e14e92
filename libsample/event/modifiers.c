#include "event/modifiers.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* Where the modifiers of `name` begin, or its end. A PMU's fields end with the second slash; a colon may follow. */
static const char *
find_modifiers(const char *name, size_t *bare_length)
{
	const char *slash = strchr(name, '/');
	const char *colon = strrchr(name, ':');
	const char *end;

	if (slash) {
		end = strchr(slash + 1, '/');
		end = end ? end + 1 : name + strlen(name);
		*bare_length = (size_t)(end - name);
		return *end == ':' ? end + 1 : end;
	}
	if (!colon) {
		*bare_length = strlen(name);
		return name + *bare_length;
	}
	*bare_length = (size_t)(colon - name);
	return colon + 1;
}

static int
refuse_modifiers(const char *name, char *why, size_t size)
{
	snprintf(why, size,
	         "%s: what follows the name of an event must be u (user mode), k (kernel mode), p, pp, ppp or P "
	         "(precise), or I (not the idle task)",
	         name);
	return -DCPI_ENOEVENT;
}

static bool
apply_letter(struct event_modifiers *modifiers, char letter)
{
	switch (letter) {
	case 'u':
		modifiers->user = true;
		return true;
	case 'k':
		modifiers->kernel = true;
		return true;
	case 'I':
		modifiers->no_idle = true;
		return true;
	case 'p':
		modifiers->has_precise = true;
		modifiers->precise++;
		return modifiers->precise <= EVENT_PRECISE_MAX;
	case 'P':
		modifiers->has_precise = true;
		modifiers->precise = EVENT_PRECISE_MAX;
		return true;
	default:
		return false;
	}
}

int
event_modifiers_split(const char *name, char bare[EVENT_NAME_SIZE], struct event_modifiers *modifiers, char *why,
                      size_t size)
{
	const char *letters;
	size_t length;

	memset(modifiers, 0, sizeof(*modifiers));
	if (strnlen(name, EVENT_NAME_SIZE) == EVENT_NAME_SIZE) {
		snprintf(why, size, "an event's name has at most %d characters", EVENT_NAME_SIZE - 1);
		return -DCPI_ENOEVENT;
	}
	letters = find_modifiers(name, &length);
	memcpy(bare, name, length);
	bare[length] = '\0';
	if (length == 0) {
		snprintf(why, size, "an event's name is empty");
		return -DCPI_ENOEVENT;
	}
	if (name[length] == ':' && !*letters)
		return refuse_modifiers(name, why, size);
	for (; *letters; letters++)
		if (!apply_letter(modifiers, *letters))
			return refuse_modifiers(name, why, size);
	return 0;
}
