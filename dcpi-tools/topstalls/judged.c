#include "dcpi-tools/topstalls/judged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/symbolizer.h"

/* Images come one after the other. */
static int
take_truth(struct judged *judged, const struct procedure_input *input)
{
	const uint32_t image = input->code->index;

	if (!judged->epoch || (judged->has_image && judged->image == image))
		return 0;
	stall_truth_fini(&judged->truth);
	judged->image = image;
	judged->has_image = true;
	return stall_truth_read(judged->profile, input->selection->images[image].number, judged->epoch, &judged->truth);
}

int
judged_add(struct judged *judged, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	const struct procedure procedure = {
		.kind = input->symbol->name ? PROCEDURE_NAMED : PROCEDURE_UNNAMED,
		.offset = input->symbol->offset,
		.name = input->symbol->name,
	};
	const bool is_sampled_run = input->exact && input->exact->is_sampled_run;
	struct judged_procedure *grown;
	struct verdict *verdicts = NULL;
	int err = take_truth(judged, input);

	if (!err)
		err = stall_truth_judge(&judged->truth, input->code, analysis, &verdicts);
	if (err)
		return err;
	verdict_sum_add(&judged->sum, analysis, is_sampled_run, verdicts);
	grown = array_grow(judged->procedures, &judged->capacity, judged->count + 1, sizeof(*grown));
	if (grown) {
		judged->procedures = grown;
		grown += judged->count;
		*grown = (struct judged_procedure){
			.title = procedure_title(&procedure, input->code->image, judged->demangle),
			.image = input->code->index,
			.samples = analysis->time_samples,
		};
		judged->count += grown->title != NULL;
		verdict_sum_add(&grown->sum, analysis, is_sampled_run, verdicts);
	}
	free(verdicts);
	return grown && grown->title ? 0 : -ENOMEM;
}

/* Equal ones in the order of images and names: the same every time. */
static int
compare(const void *left, const void *right)
{
	const struct judged_procedure *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return strcmp(a->title, b->title);
}

void
judged_sort(struct judged *judged)
{
	if (judged->count)
		qsort(judged->procedures, judged->count, sizeof(*judged->procedures), compare);
}

void
judged_fini(struct judged *judged)
{
	for (size_t i = 0; i < judged->count; i++)
		free(judged->procedures[i].title);
	free(judged->procedures);
	stall_truth_fini(&judged->truth);
}

static double
percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 100;
}

double
judged_within(const struct verdict_sum *sum, size_t limit)
{
	return percent_of(sum->within[limit], sum->samples);
}

double
judged_causes(const struct verdict_sum *sum)
{
	return percent_of(sum->causes, sum->stall_cycles);
}

double
judged_culprits(const struct verdict_sum *sum)
{
	return percent_of(sum->culprits, sum->stall_cycles);
}
