#include "dcpi-tools/common/frequency_source.h"

#include <inttypes.h>
#include <math.h>

#include "dcpi-tools/common/json.h"

enum frequency_method
frequency_source(const struct procedure_analysis *analysis, const struct recorded *recorded, uint32_t *epoch)
{
	uint8_t best = FREQUENCY_UNKNOWN;

	*epoch = 0;
	for (size_t i = 0; i < analysis->graph->block_count; i++) {
		const uint8_t method = analysis->frequencies.blocks[i].method;

		if (method != FREQUENCY_UNKNOWN && (best == FREQUENCY_UNKNOWN || method < best))
			best = method;
	}
	if (best == FREQUENCY_COUNTED)
		*epoch = recorded->exact.epoch;
	if (best == FREQUENCY_BRANCHES)
		*epoch = recorded->branches.epoch;
	if (best == FREQUENCY_BURSTS)
		*epoch = recorded->bursts.epoch;
	return (enum frequency_method)best;
}

#define RELATIVE "all are right relative to one another only; they and cycles (CPI) are within x2 at best"

void
frequency_source_print(const struct procedure_analysis *analysis, const struct recorded *recorded, FILE *stream)
{
	const bool is_relative = analysis->frequencies.is_relative;
	uint32_t epoch;

	switch (frequency_source(analysis, recorded, &epoch)) {
	case FREQUENCY_COUNTED:
		fprintf(stream, "Frequency:  counted by %s in epoch %" PRIu32 "%s\n",
		        recorded->is_emulated ? "dcpiemu" : "dcpix", epoch,
		        is_relative ? "; what a cycle is in samples is not known: cycles (CPI) are within x2 at best"
		                    : ", cycles (CPI) by the samples");
		return;
	case FREQUENCY_BRANCHES:
		fprintf(stream, "Frequency:  by the branch stacks of epoch %" PRIu32 ";\n            " RELATIVE "\n",
		        epoch);
		return;
	case FREQUENCY_BURSTS:
		fprintf(stream, "Frequency:  by the bursts of epoch %" PRIu32 ";\n            " RELATIVE "\n", epoch);
		return;
	case FREQUENCY_RETIRED:
		fprintf(stream, "Frequency:  by the samples of instructions%s\n",
		        is_relative ? ";\n            " RELATIVE : "");
		return;
	default:
		if (is_relative)
			fputs("Frequency:  " RELATIVE "\n", stream);
	}
}

json_t *
frequency_source_json(const struct procedure_analysis *analysis, const struct recorded *recorded)
{
	uint32_t epoch;
	const enum frequency_method method = frequency_source(analysis, recorded, &epoch);

	return json_pack("{s:s, s:o}", "method", frequency_method_name(method), "epoch",
	                 epoch ? json_count(epoch) : json_null());
}

void
frequency_format(double value, bool is_relative, char *text, size_t size)
{
	double unit;

	if (!is_relative || value <= 0) {
		snprintf(text, size, value < 100 ? "%.3g" : "%.0f", value);
		return;
	}
	unit = pow(10, floor(log10(value)) - 1);
	snprintf(text, size, value < 10 ? "~%.2g" : "~%.0f", round(value / unit) * unit);
}
