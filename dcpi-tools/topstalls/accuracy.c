#include "dcpi-tools/topstalls/accuracy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/common/symbolizer.h"

/* Procedures come image by image. */
static int
take_truth(struct accuracy *accuracy, const struct procedure_input *input)
{
	const uint32_t image = input->code->index;

	if (!accuracy->epoch || (accuracy->has_image && accuracy->image == image))
		return 0;
	stall_truth_fini(&accuracy->truth);
	accuracy->image = image;
	accuracy->has_image = true;
	return stall_truth_read(accuracy->profile, input->selection->images[image].number, accuracy->epoch,
	                        &accuracy->truth);
}

int
accuracy_add(struct accuracy *accuracy, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	const struct procedure procedure = {
		.kind = input->symbol->name ? PROCEDURE_NAMED : PROCEDURE_UNNAMED,
		.offset = input->symbol->offset,
		.name = input->symbol->name,
	};
	const bool is_sampled_run = input->exact && input->exact->is_sampled_run;
	struct accuracy_procedure *grown;
	struct verdict *verdicts = NULL;
	int err = take_truth(accuracy, input);

	if (!err)
		err = stall_truth_judge(&accuracy->truth, input->code, analysis, &verdicts);
	if (err)
		return err;
	verdict_sum_add(&accuracy->sum, analysis, is_sampled_run, verdicts);
	grown = array_grow(accuracy->procedures, &accuracy->capacity, accuracy->count + 1, sizeof(*grown));
	if (grown) {
		accuracy->procedures = grown;
		grown += accuracy->count;
		*grown = (struct accuracy_procedure){
			.title = procedure_title(&procedure, input->code->image, accuracy->demangle),
			.image = input->code->index,
			.samples = analysis->time_samples,
		};
		accuracy->count += grown->title != NULL;
		verdict_sum_add(&grown->sum, analysis, is_sampled_run, verdicts);
	}
	free(verdicts);
	return grown && grown->title ? 0 : -ENOMEM;
}

/* Ties are broken by image and name, so that the order is reproducible. */
static int
compare(const void *left, const void *right)
{
	const struct accuracy_procedure *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return strcmp(a->title, b->title);
}

void
accuracy_sort(struct accuracy *accuracy)
{
	if (accuracy->count)
		qsort(accuracy->procedures, accuracy->count, sizeof(*accuracy->procedures), compare);
}

void
accuracy_fini(struct accuracy *accuracy)
{
	for (size_t i = 0; i < accuracy->count; i++)
		free(accuracy->procedures[i].title);
	free(accuracy->procedures);
	stall_truth_fini(&accuracy->truth);
}

static double
percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 100;
}

double
accuracy_within_percent(const struct verdict_sum *sum, size_t limit)
{
	return percent_of(sum->within[limit], sum->samples);
}

double
accuracy_causes_percent(const struct verdict_sum *sum)
{
	return percent_of(sum->causes, sum->stall_cycles);
}

double
accuracy_culprits_percent(const struct verdict_sum *sum)
{
	return percent_of(sum->culprits, sum->stall_cycles);
}
