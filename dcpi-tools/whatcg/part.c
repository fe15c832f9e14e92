#include "dcpi-tools/whatcg/part.h"

#include <math.h>
#include <string.h>

#include "dcpi-tools/common/summary.h"

#define TENTHS 10.0

int
part_compare(const void *a, const void *b)
{
	const struct whatcg_part *one = a, *other = b;

	if (one->samples != other->samples)
		return one->samples < other->samples ? 1 : -1;
	if (one->image != other->image)
		return one->image > other->image ? 1 : -1;
	return one->title && other->title ? strcmp(one->title, other->title) : 0;
}

void
part_rest(const struct whatcg_part *part, double tallied, double *vague, double *missing)
{
	const double analyzed = round(TENTHS * share_percent(part->analyzed, part->samples)) / TENTHS;

	*vague = fmax(analyzed - tallied, 0);
	*missing = fmax(100 - tallied - *vague, 0);
}
