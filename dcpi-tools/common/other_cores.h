/*
 * other_cores.h - samples of time that an analysis leaves out since cores of another kind took them
 *
 * A CPU with several kinds of cores counts its time by an event of each: `cpu_core/cycles/`, `cpu_atom/cycles/`. One of
 * them is analysed, by the pipeline of its cores. Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_OTHER_CORES_H
#define DCPI_TOOLS_OTHER_CORES_H

#include <jansson.h>

#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

struct other_cores {
	uint64_t samples[SELECTION_EVENTS_MAX]; /* by event of the selection */
};

/* Add samples of `event` where it is time on other cores than `analyzed` is; else do nothing. */
void other_cores_add(struct other_cores *others, const struct selection *selection, uint16_t analyzed, size_t event,
                     uint64_t samples);

/* A line for each event with such samples. */
void other_cores_print(const struct other_cores *others, const struct selection *selection,
                       const struct output *output);

/* Add `left_out`, the samples by event, where there are some. Not 0: no memory. */
int other_cores_json(const struct other_cores *others, const struct selection *selection, json_t *object);

#endif
