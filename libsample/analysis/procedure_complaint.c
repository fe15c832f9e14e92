#include <inttypes.h>

#include "analysis/procedure_search.h"
#include "base/escape.h"

#define NAMED_MAX 4 /* procedures that a complaint lists */

const char *
procedure_search_path(const struct search *search, uint32_t image, char shown[SHOWN_SIZE])
{
	return escape_text(search->query->selection->images[image].image->path, shown, SHOWN_SIZE);
}

static void
say_unknown(const struct search *search, FILE *why)
{
	char shown[SHOWN_SIZE];

	if (search->trouble && !search->opened) {
		fprintf(why, "%s cannot be analysed: %s", procedure_search_path(search, search->trouble_image, shown),
		        code_image_trouble(search->query->selection->images[search->trouble_image].image,
		                           search->trouble));
		return;
	}
	fputs(search->by_address ? "no procedure holds that address" : "no procedure is called that", why);
	if (search->near)
		fprintf(why, "; did you mean %s?", escape_text(search->near, shown, sizeof(shown)));
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
	fprintf(why, "%zu procedures with samples are called that; name one by %s:", count,
	        is_one_image ? "its address" : "its image");
	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		const struct match *match = &search->matches[i];

		fprintf(why, "%s 0x%" PRIx64 " in %s (%" PRIu64 " samples)", i ? "," : "", match->address,
		        procedure_search_path(search, match->image, shown), match->samples);
	}
	if (count > NAMED_MAX)
		fputs(", ...", why);
}

void
procedure_search_complain(const struct search *search, FILE *why)
{
	char shown[SHOWN_SIZE];

	if (search->count == 0)
		say_unknown(search, why);
	else if (search->matches[0].samples > 0)
		say_ambiguous(search, why);
	else
		fprintf(why, "it has no samples of %s in what was selected%s",
		        escape_text(search->query->selection->events[search->query->event].name, shown, sizeof(shown)),
		        search->count > 1 ? ", and neither has another of that name" : "");
}
