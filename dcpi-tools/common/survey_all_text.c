#include <inttypes.h>
#include <string.h>

#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/survey_all.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/time_text.h"

#define IMAGES_NAMED 3 /* at most, for each reason */

void
survey_all_print_head(const struct survey_all *survey, const struct output *output)
{
	const struct selection *selection = survey->selection;
	const struct selection_event *event = &selection->events[survey->event];
	char range[2 * TIME_TEXT_SIZE];
	FILE *stream = output->stream;

	fputs("Samples:    ", stream);
	text_print(event->name, stream);
	fprintf(stream, " %" PRIu64 ", %.2f%% of all; %s\n", survey->samples,
	        share_percent(survey->samples, event->totals.samples),
	        time_format_range(selection->start_ns, selection->end_ns, range));
	summary_print_weights(event, "Weights:    ", stream);
	other_cores_print(&survey->left_out, selection, output);
	model_print(&survey->model, output);
	if (!survey->is_relative)
		return;
	fputs(output_style(output, STYLE_WARNING), stream);
	fputs("Frequency:  right within a procedure only unless counted; cycles (CPI) are within x2 at best, samples "
	      "are what they are\n",
	      stream);
	fputs(output_plain(output, STYLE_WARNING), stream);
}

/* "[kernel], /usr/bin/gzip and 2 more": those of one reason; they are sorted. */
static void
print_images(const struct survey_all *survey, size_t first, FILE *stream)
{
	size_t count = 0;

	for (size_t i = first; i < survey->gap_count; i++) {
		const struct survey_gap *gap = &survey->gaps[i];

		if (gap->image == SURVEY_NO_IMAGE || strcmp(gap->why, survey->gaps[first].why) != 0)
			continue;
		if (++count > IMAGES_NAMED)
			continue;
		fputs(count > 1 ? ", " : "", stream);
		text_print(survey->titles[gap->image], stream);
	}
	if (count > IMAGES_NAMED)
		fprintf(stream, " and %zu more", count - IMAGES_NAMED);
	if (count)
		fputs(": ", stream);
}

static bool
is_first_of_reason(const struct survey_all *survey, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(survey->gaps[i].why, survey->gaps[index].why) == 0)
			return false;
	return true;
}

static uint64_t
samples_of_reason(const struct survey_all *survey, const char *why)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < survey->gap_count; i++)
		if (strcmp(survey->gaps[i].why, why) == 0)
			sum += survey->gaps[i].samples;
	return sum;
}

void
survey_all_print_gaps(const struct survey_all *survey, const struct output *output)
{
	const uint64_t missing = survey->samples - survey->analyzed;
	FILE *stream = output->stream;

	fprintf(stream, "Analysed:     %6.2f%% of the samples: %zu procedure%s of %zu image%s\n",
	        share_percent(survey->analyzed, survey->samples), survey->procedure_count,
	        survey->procedure_count == 1 ? "" : "s", survey->image_count, survey->image_count == 1 ? "" : "s");
	if (!missing)
		return;
	fprintf(stream, "Not analysed: %6.2f%%\n", share_percent(missing, survey->samples));
	for (size_t i = 0; i < survey->gap_count; i++) {
		if (!is_first_of_reason(survey, i))
			continue;
		fprintf(stream, "              %6.2f%%  ",
		        share_percent(samples_of_reason(survey, survey->gaps[i].why), survey->samples));
		print_images(survey, i, stream);
		fprintf(stream, "%s\n", survey->gaps[i].why);
	}
}
