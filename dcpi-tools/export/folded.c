#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/export/report.h"

/* One line of the output: a stack, and its samples. */
struct folded_stack {
	char *text; /* "image;procedure" */
	uint64_t samples;
};

/* Escaped, and without the separator of frames. */
static char *
frame(const char *text)
{
	char *shown = text_shown(text);

	for (char *at = shown; at && (at = strchr(at, ';')); at++)
		*at = ':';
	return shown;
}

static char *
stack_text(const char *image, const char *procedure)
{
	char *outer = frame(image), *inner = frame(procedure), *text = NULL;

	if (outer && inner && asprintf(&text, "%s;%s", outer, inner) < 0)
		text = NULL;
	free(outer);
	free(inner);
	return text;
}

static int
compare(const void *a, const void *b)
{
	const struct folded_stack *left = a, *right = b;

	return strcmp(left->text, right->text);
}

/* Put a frame before *text, which is NULL at first. False when memory ends: then there is no text. */
static bool
put_before(char **text, const char *title)
{
	char *longer = NULL, *outer = frame(title);

	if (outer && asprintf(&longer, "%s%s%s", outer, *text ? ";" : "", *text ? *text : "") < 0)
		longer = NULL;
	free(outer);
	free(*text);
	*text = longer;
	return longer != NULL;
}

/* "main;parse;scan", the outermost first. */
static char *
frames_text(const struct export_report *report, uint32_t node)
{
	const struct stack_node *nodes = report->choice.selection->stacks.nodes;
	char truncated[EXPORT_TRUNCATED_SIZE], *text = NULL;
	bool is_whole = true;

	for (uint32_t at = node; at && is_whole; at = nodes[at].caller) {
		const struct sampled_offset *point = sample_points_frame(&report->points, at);
		const struct export_place *place = point ? &report->places[point - report->points.points] : NULL;

		for (uint32_t i = 0; place && i < place->inlined_count && is_whole; i++)
			is_whole = put_before(
				&text, strings_get(report->strings, report->inlined[place->first_inlined + i].title));
		if (is_whole)
			is_whole = put_before(&text, point ? report->points.procedures[point->procedure].title
			                                   : export_truncated(&nodes[at], truncated));
	}
	return text;
}

/* Procedures of one name in one image are one stack. */
static void
print_stacks(struct folded_stack *stacks, size_t count, FILE *stream)
{
	qsort(stacks, count, sizeof(*stacks), compare);
	for (size_t i = 0; i < count; i++) {
		uint64_t samples = stacks[i].samples;

		for (; i + 1 < count && compare(&stacks[i], &stacks[i + 1]) == 0; i++)
			samples += stacks[i + 1].samples;
		if (samples > 0)
			fprintf(stream, "%s %" PRIu64 "\n", stacks[i].text, samples);
	}
}

static int
fill(const struct export_report *report, struct folded_stack *stacks)
{
	const struct sample_points *points = &report->points;
	const uint16_t event = report->choice.shown_events.events[0];
	const bool is_flat = report->stacks == NULL;
	size_t count = is_flat ? points->procedure_count : report->stack_count;

	for (size_t i = 0; i < count; i++) {
		const struct sample_procedure *procedure = &points->procedures[i];

		stacks[i].text = is_flat ? stack_text(report->choice.titles[procedure->image], procedure->title)
		                         : frames_text(report, report->stacks[i].node);
		if (!stacks[i].text)
			return -ENOMEM;
		if (!is_flat)
			stacks[i].samples = export_stack_samples(report, &report->stacks[i], event);
	}
	for (size_t i = 0; is_flat && i < points->count; i++)
		stacks[points->points[i].procedure].samples += sample_points_samples(points, &points->points[i], event);
	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++, count++) {
		stacks[count].text = stack_text("[unknown]", unknown_cause_name(cause));
		stacks[count].samples = export_report_unknown(report, event, cause);
		if (!stacks[count].text)
			return -ENOMEM;
	}
	return 0;
}

int
export_write_folded(const struct export_report *report, FILE *stream)
{
	const struct selection_event *event = export_report_event(report, 0);
	const size_t count =
		(report->stacks ? report->stack_count : report->points.procedure_count) + UNKNOWN_CAUSE_COUNT;
	struct folded_stack *stacks = calloc(count, sizeof(*stacks));
	char weights[SUMMARY_WEIGHTS_SIZE];
	int err;

	if (!stacks)
		return -ENOMEM;
	err = fill(report, stacks);
	if (!err) {
		print_stacks(stacks, count, stream);
		if (summary_weights(event, weights)) /* the format has no comments */
			message_print(NULL, "%s", weights);
	}
	for (size_t i = 0; i < count; i++)
		free(stacks[i].text);
	free(stacks);
	return err;
}
