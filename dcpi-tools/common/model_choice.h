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
#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

struct model {
	struct pipeline pipeline;
	struct skid skid; /* of the event that is time */
	char note[256];   /* why it is this one, when that is not plain; else "" */
};

/* The event called `name`, or for NULL the one that counts time. 0, or an exit status after a message. */
int time_event_ask(const struct selection *selection, const char *name, const char *directory, uint16_t *event);

/*
 * The model called `name`, or for NULL that of the CPU of the newest epoch that was sampled; for samples of `event`,
 * whose skid is that of how it was sampled. 0, or an exit status after a message.
 */
int model_ask(const struct selection *selection, const char *name, uint16_t event, struct model *model);

/* A line for the head of a report, and the note below it. */
void model_print(const struct model *model, const struct output *output);

json_t *model_json(const struct model *model);

#endif
