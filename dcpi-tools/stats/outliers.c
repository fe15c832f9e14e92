/* Who is far from the others, and why. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/statistics.h"
#include "dcpi-tools/stats/report.h"

int
stats_report_row_outliers(const struct report *report, const struct report_row *row, double *above)
{
	const size_t count = report->sets->count;
	double *values = calloc(2 * count, sizeof(*values)), *factors, median;
	int err;

	if (!values)
		return -ENOMEM;
	factors = values + count;
	for (size_t i = 0; i < count; i++) {
		values[i] = (double)row->row->counts[i] * report->factors[i];
		factors[i] = report->factors[i] * row->weights[i];
	}
	err = variation_outliers(values, factors, count, row->variation.noise, &median, above);
	free(values);
	return err;
}

const struct report_row *
stats_report_outlier_reason(const struct report *report, size_t set, double *part)
{
	const double distance = report->totals[set] - report->median_total;
	const size_t count = report->sets->count;
	double *values = calloc(count, sizeof(*values)), most = 0;
	const struct report_row *reason = NULL;

	for (size_t i = 0; i < report->row_count && values; i++) {
		const struct report_row *row = &report->list[i];
		double own;

		for (size_t j = 0; j < count; j++)
			values[j] = (double)row->row->counts[j] * report->factors[j];
		own = values[set];
		own = (own - statistics_median(values, count)) / distance;
		if (own <= most)
			continue;
		most = own;
		reason = row;
	}
	free(values);
	*part = most;
	return reason;
}
