#include "analysis/frequency.h"

const char *
frequency_method_name(unsigned method)
{
	static const char *const names[] = {
		[FREQUENCY_UNKNOWN] = "unknown", [FREQUENCY_COUNTED] = "counted", [FREQUENCY_BRANCHES] = "branches",
		[FREQUENCY_BURSTS] = "bursts",   [FREQUENCY_RETIRED] = "retired", [FREQUENCY_CLUSTER] = "cluster",
		[FREQUENCY_SUM] = "sum",         [FREQUENCY_FIT] = "fit",         [FREQUENCY_PROPAGATED] = "propagated",
	};

	return method < sizeof(names) / sizeof(names[0]) ? names[method] : "?";
}

const char *
frequency_confidence_name(unsigned confidence)
{
	static const char *const names[] = {"none", "low", "medium", "high", "exact"};

	return confidence < sizeof(names) / sizeof(names[0]) ? names[confidence] : "?";
}
