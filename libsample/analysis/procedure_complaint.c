#include <inttypes.h>
#include <string.h>

#include "analysis/procedure_search.h"
#include "base/text.h"

#define NAMED_MAX 4 /* procedures that a complaint lists */

const char *
procedure_search_path(const struct search *search, uint32_t image, char shown[SHOWN_SIZE])
{
	return escape_text(search->query->selection->images[image].image->path, shown, SHOWN_SIZE);
}

/* Copied from a listing, say. */
static bool
looks_like_an_address(const char *name)
{
	return name[0] && name[strspn(name, "0123456789abcdefABCDEF")] == '\0' && strpbrk(name, "0123456789");
}

static void
say_parts(const struct search *search, FILE *why)
{
	char shown[SHOWN_SIZE];

	for (size_t i = 0; i < search->part_count; i++) {
		if (i == 0)
			fputs("; did you mean ", why);
		else
			fputs(i + 1 < search->part_count ? ", " : " or ", why);
		fputs(escape_text(search->parts[i].name, shown, sizeof(shown)), why);
	}
	fputc('?', why);
}

static void
say_unknown(const struct search *search, FILE *why)
{
	char shown[SHOWN_SIZE];

	if (search->trouble && (!search->opened || search->trouble_has_name)) {
		fprintf(why, "%s cannot be analysed: %s", procedure_search_path(search, search->trouble_image, shown),
		        code_image_trouble(search->query->selection->images[search->trouble_image].image,
		                           search->trouble));
		return;
	}
	fputs(search->by_address ? "no procedure holds that address" : "no procedure is called that", why);
	if (search->near)
		fprintf(why, "; did you mean %s?", escape_text(search->near, shown, sizeof(shown)));
	else if (looks_like_an_address(search->query->name))
		fprintf(why, "; an address is written 0x%s", search->query->name);
	else if (search->part_count)
		say_parts(search, why);
	else if (search->nameless.size)
		fprintf(why, "; %s was stripped: name a procedure by an address in it, 0x%" PRIx64 " for the hottest",
		        procedure_search_path(search, search->nameless.image, shown), search->nameless.address);
	else if (search->trouble)
		fprintf(why, "; %s was not searched: %s", procedure_search_path(search, search->trouble_image, shown),
		        code_image_trouble(search->query->selection->images[search->trouble_image].image,
		                           search->trouble));
}

static void
say_ambiguous(const struct search *search, FILE *why)
{
	bool is_one_image = true;
	char shown[SHOWN_SIZE];
	size_t count = 0;

	for (; count < search->count && search->matches[count].samples > 0; count++)
		is_one_image = is_one_image && search->matches[count].image == search->matches[0].image;
	fprintf(why, "%zu procedures with samples %s; name one by %s:", count,
	        search->by_address ? "hold that address" : "are called that",
	        is_one_image ? "its address" : "its image");
	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		const struct match *match = &search->matches[i];

		fprintf(why, "%s 0x%" PRIx64 " in %s (%" PRIu64 " samples)", i ? "," : "", match->address,
		        procedure_search_path(search, match->image, shown), match->samples);
	}
	if (count > NAMED_MAX)
		fputs(", ...", why);
}

/* Name the other events that it has samples of. */
static bool
say_other_events(const struct search *search, FILE *why)
{
	const struct selection *selection = search->query->selection;
	const struct match *match = &search->matches[0];
	char shown[SHOWN_SIZE];
	bool is_first = true;

	for (uint16_t event = 0; event < selection->event_count && search->count == 1; event++) {
		const uint64_t samples =
			code_image_samples(selection, match->image, match->offset, match->offset + match->size, event);

		if (!samples)
			continue;
		fprintf(why, "%s %" PRIu64 " of %s", is_first ? ", but" : ",", samples,
		        escape_text(selection->events[event].name, shown, sizeof(shown)));
		is_first = false;
	}
	if (!is_first)
		fputs(": --event takes another", why);
	return !is_first;
}

static void
say_without_samples(const struct search *search, FILE *why)
{
	char shown[SHOWN_SIZE];

	fprintf(why, "it has no samples of %s in what was selected",
	        escape_text(search->query->selection->events[search->query->event].name, shown, sizeof(shown)));
	if (search->count > 1)
		fputs(", and neither has another of that name", why);
	if (!say_other_events(search, why))
		fputs("; 'dcpiprof' shows which have", why);
}

void
procedure_search_complain(const struct search *search, FILE *why)
{
	if (search->count == 0)
		say_unknown(search, why);
	else if (search->matches[0].samples > 0)
		say_ambiguous(search, why);
	else
		say_without_samples(search, why);
}
