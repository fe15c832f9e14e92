/*
 * summary_cost.h - what the samples of a report cost
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_SUMMARY_COST_H
#define DCPI_TOOLS_SUMMARY_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/selection.h"

/* What the epoch with the highest expected cost was to cost: false when that is not known of any. */
bool cost_expected_percent(const struct selection *selection, double *percent);

/* The limit that the newest epoch's rates were chosen from; 0 when they were given. */
double cost_limit_percent(const struct selection *selection);

/* Processor time of one sample, in the mean over all epochs; 0 when it is not known. */
uint64_t cost_of_sample_ns(const struct selection_event *event);

#endif
