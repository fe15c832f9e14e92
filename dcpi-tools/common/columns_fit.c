#include "dcpi-tools/common/columns_fit.h"

#include <string.h>

#include "dcpi-tools/common/text.h"

#define COUNT_WIDTH 7   /* that a count has at least */
#define NAMES_WIDTH 40  /* that names of procedure and image should have */
#define PIPE_WIDTH  132 /* of a line that no terminal limits */

/* Exact counts are always the most: that does not make them the most telling. */
static bool
is_counted(const struct columns_fit_request *request, size_t column)
{
	return strcmp(request->selection->events[request->columns->events[column]].name, "executions") == 0;
}

static bool
is_hotter(const struct columns_fit_request *request, size_t column, size_t than)
{
	const uint16_t *events = request->columns->events;

	if (is_counted(request, column) != is_counted(request, than))
		return is_counted(request, than);
	return request->totals[events[column]] > request->totals[events[than]];
}

static size_t
width_of(const struct columns_fit_request *request, uint16_t event)
{
	const size_t heading = text_width(request->selection->events[event].name);

	return 1 + (heading > COUNT_WIDTH ? heading : COUNT_WIDTH) + request->shares;
}

/* The event with the most samples that is not taken yet, as an index into the columns; their number: none is left. */
static size_t
next_hottest(const struct columns_fit_request *request, const bool *taken)
{
	const struct columns *columns = request->columns;
	size_t hottest = columns->count;

	for (size_t i = 0; i < columns->count; i++)
		if (!taken[i] && (hottest == columns->count || is_hotter(request, i, hottest)))
			hottest = i;
	return hottest;
}

/* Mark what is shown: the first, then by samples as long as there is room. */
static void
choose(const struct columns_fit_request *request, size_t room, bool *shown)
{
	const struct columns *columns = request->columns;
	bool taken[SELECTION_EVENTS_MAX] = {false};
	size_t used = width_of(request, columns->events[0]);

	shown[0] = taken[0] = true;
	for (size_t i; (i = next_hottest(request, taken)) < columns->count;) {
		used += width_of(request, columns->events[i]);
		if (used > room)
			return;
		shown[i] = taken[i] = true;
	}
}

void
columns_fit(const struct columns_fit_request *request, const struct output *output, struct columns_fit *fit)
{
	const size_t width = output->width ? output->width : PIPE_WIDTH;
	bool shown[SELECTION_EVENTS_MAX] = {false};

	memset(fit, 0, sizeof(*fit));
	if (!request->asked)
		choose(request, width > NAMES_WIDTH ? width - NAMES_WIDTH : 0, shown);
	for (size_t i = 0; i < request->columns->count; i++) {
		struct columns *columns = request->asked || shown[i] ? &fit->shown : &fit->left_out;

		columns->events[columns->count++] = request->columns->events[i];
	}
}

void
columns_fit_print(const struct columns_fit *fit, const struct selection *selection, FILE *stream)
{
	if (fit->left_out.count == 0)
		return;
	fputs("Not shown: ", stream);
	for (size_t i = 0; i < fit->left_out.count; i++) {
		fputs(i ? ", " : "", stream);
		text_print(selection->events[fit->left_out.events[i]].name, stream);
	}
	fputs(" (--event NAME)\n", stream);
}
