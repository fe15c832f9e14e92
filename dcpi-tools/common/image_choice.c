#include "dcpi-tools/common/image_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "dcpi-tools/common/columns.h"
#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define HOTTEST_SAID 3 /* images that a complaint names */

static void
append_hottest(const struct selection *selection, char **titles, uint16_t event, FILE *text)
{
	struct histogram_request by_image = {.selection = selection, .image_titles = titles};
	struct columns columns = {.count = 1, .events = {event}};
	struct histogram histogram;

	if (histogram_make(&by_image, &histogram) < 0)
		return;
	histogram_sort(&histogram, &columns);
	for (size_t i = 0; i < histogram.row_count && i < HOTTEST_SAID; i++) {
		char *shown = text_shown(histogram.rows[i].image_title);

		fprintf(text, "%s%s", i ? ", " : "; the hottest images are ", shown ? shown : "?");
		free(shown);
	}
	histogram_fini(&histogram);
}

static void
append_suggestion(const char *near, FILE *text)
{
	char *shown = text_shown(near);

	fprintf(text, "; did you mean %s?", shown ? shown : "?");
	free(shown);
}

static void
complain(const struct selection *selection, char **titles, uint16_t event, const char *pattern)
{
	const char *near = image_suggest(selection, pattern);
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	fputs("no image with samples is called that", stream);
	if (near)
		append_suggestion(near, stream);
	else
		append_hottest(selection, titles, event, stream);
	fclose(stream);
	message_print(pattern, "%s", text);
	free(text);
}

int
images_choose(const struct selection *selection, char **titles, const struct image_request *request, bool **wanted)
{
	*wanted = NULL;
	if (request->count == 0)
		return 0;
	*wanted = calloc(selection->image_count + 1, sizeof(**wanted));
	if (!*wanted)
		return message_cannot(NULL, "choose the images", -ENOMEM, NULL);
	for (size_t i = 0; i < request->count; i++) {
		if (images_match(selection, request->patterns[i], *wanted) > 0)
			continue;
		complain(selection, titles, request->event, request->patterns[i]);
		free(*wanted);
		*wanted = NULL;
		return STATUS_EMPTY;
	}
	return 0;
}
