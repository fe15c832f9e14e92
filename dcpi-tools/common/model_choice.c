#include "dcpi-tools/common/model_choice.h"

#include <string.h>

#include "analysis/procedure.h"
#include "base/error.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "machine/emulated_cpu.h"

int
time_event_ask(const struct selection *selection, const char *name, const char *directory, uint16_t *event)
{
	char why[256];
	int found = time_event_choose(selection, name, why, sizeof(why));

	if (found < 0) {
		message_print(directory, "%s", why);
		return error_exit_status(found);
	}
	*event = (uint16_t)found;
	return STATUS_OK;
}

/* Of the newest epoch with such samples: what dcpix counted has no CPU of its own. */
static const char *
sampled_cpu(const struct selection *selection)
{
	for (size_t i = selection_epochs_matched(selection); i-- > 0;) {
		const struct epoch *epoch = &selection->epochs[i];

		if (epoch->event_count == 0 || epoch->events[0].encoding.type != EVENT_TYPE_DCPIX)
			return epoch->cpu;
	}
	return "";
}

int
model_ask(const struct selection *selection, const char *name, uint16_t event, struct model *model)
{
	const char *cpu = sampled_cpu(selection);
	char directory[4096], machine[MACHINE_NAME_SIZE], pipeline[PIPELINE_NAME_SIZE];
	const bool is_emulated = emulated_cpu_names(cpu, machine, pipeline);
	int err;

	pipeline_directory(directory, sizeof(directory));
	err = pipeline_choose(directory, name || !is_emulated ? name : pipeline, cpu, &model->pipeline, model->note,
	                      sizeof(model->note));
	if (!err && is_emulated && !emulated_cpu_apply(cpu, &model->pipeline))
		snprintf(model->note, sizeof(model->note), "with the memory of %s, which was emulated", machine);
	if (!err && strcmp(selection->events[event].name, "executions") == 0)
		model->pipeline.skid = 0;
	if (!err)
		return STATUS_OK;
	message_print(NULL, "%s", model->note);
	return error_exit_status(err);
}

void
model_print(const struct model *model, const struct output *output)
{
	const struct pipeline *pipeline = &model->pipeline;
	FILE *stream = output->stream;

	fprintf(stream, "Model:      %s (%s)", pipeline->title, pipeline->name);
	if (pipeline->kind == PIPELINE_KIND_IN_ORDER)
		fputs(", in order\n", stream);
	else if (pipeline->skid)
		fprintf(stream, ", out of order; samples are moved back by %u instruction%s\n", pipeline->skid,
		        pipeline->skid > 1 ? "s" : "");
	else
		fputs(", out of order\n", stream);
	if (!model->note[0])
		return;
	fputs("            ", stream);
	text_print(model->note, stream);
	fputc('\n', stream);
}

json_t *
model_json(const struct model *model)
{
	const struct pipeline *pipeline = &model->pipeline;

	return json_pack("{s:s, s:s, s:b, s:i, s:o}", "name", pipeline->name, "title", pipeline->title, "in_order",
	                 pipeline->kind == PIPELINE_KIND_IN_ORDER, "skid", (int)pipeline->skid, "note",
	                 model->note[0] ? json_shown(model->note) : json_null());
}
