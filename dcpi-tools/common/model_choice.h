/*
 * model_choice.h - what an analysis takes for time, and for the pipeline, as the user asked
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MODEL_CHOICE_H
#define DCPI_TOOLS_MODEL_CHOICE_H

#include <jansson.h>

#include "analysis/skid.h"
#include "code/pipeline.h"
#include "dcpi-tools/common/options.h"
#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

struct model_choice {
	struct pipeline pipeline;
	struct skid skid; /* of the event that is time */
	char note[256];   /* why this model was chosen, where the CPU's name does not say it; else "" */
};

/* Rows of options.h for --event and --cpu: what time_event_ask() and model_ask() take as `name`. */
#define OPTION_TIME_EVENT(request, event)                                                                              \
	OPTION_TEXT(1, "event", "EVENT", request, event,                                                               \
	            "Take the samples of EVENT for time (default: cycles, else a clock)")
#define OPTION_CPU(request, cpu)                                                                                       \
	OPTION_TEXT(1, "cpu", "MODEL", request, cpu,                                                                   \
	            "The pipeline: a model's name, or its file (default: that of the epoch's CPU)")

/* The event called `name`, or for NULL the one that counts time. 0, or an exit status after a message. */
int time_event_ask(const struct selection *selection, const char *name, const char *directory, uint16_t *event);

/*
 * The model called `name`, or for NULL that of the CPU of the newest epoch that was sampled; for samples of `event`,
 * whose skid follows from how it was sampled. 0, or an exit status after a message.
 */
int model_ask(const struct selection *selection, const char *name, uint16_t event, struct model_choice *model);

/* A line for the head of a report, and the note below it. */
void model_print(const struct model_choice *model, const struct output *output);

json_t *model_json(const struct model_choice *model);

/*
 * Samples of time that an analysis leaves out since cores of another kind took them. A CPU with several kinds of cores
 * counts its time by an event of each: `cpu_core/cycles/`, `cpu_atom/cycles/`. One of them is analysed, by the pipeline
 * of its cores.
 */
struct other_cores {
	uint64_t samples[SELECTION_EVENTS_MAX]; /* by event of the selection */
};

/* Add samples of `event` if it is time on another kind of cores than `analyzed` is; else do nothing. */
void other_cores_add(struct other_cores *others, const struct selection *selection, uint16_t analyzed, size_t event,
                     uint64_t samples);

/* A line for each event with such samples. */
void other_cores_print(const struct other_cores *others, const struct selection *selection,
                       const struct output *output);

/* Add `left_out`, the samples by event, where there are some. Not 0: no memory. */
int other_cores_json(const struct other_cores *others, const struct selection *selection, json_t *object);

#endif
