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
	int found = procedure_choose_time_event(selection, name, why, sizeof(why));

	if (found < 0) {
		message_print(directory, "%s", why);
		return error_exit_status(found);
	}
	*event = (uint16_t)found;
	return STATUS_OK;
}

/* The CPU of the newest epoch that was sampled: what dcpix counted has none of its own. */
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
	if (!err) {
		model->skid = skid_of_selection(selection, selection->events[event].name, &model->pipeline);
		return STATUS_OK;
	}
	message_print(NULL, "%s", model->note);
	return error_exit_status(err);
}

static void
print_skid(const struct skid *skid, FILE *stream)
{
	if (skid->instructions)
		fprintf(stream, "; samples are moved back by %u instruction%s", skid->instructions,
		        skid->instructions > 1 ? "s" : "");
	else if (skid->source != SKID_NONE)
		fputs("; samples are where they were taken", stream);
	if (skid->source == SKID_PRECISE)
		fputs(skid->instructions ? " (precise, of the next one)" : " (precise)", stream);
	else if (skid->source == SKID_ASSUMED)
		fputs(" as a timer's (a counter's skid is unknown here)", stream);
	if (skid->differs)
		fputs("; older epochs have others", stream);
}

void
model_print(const struct model *model, const struct output *output)
{
	const struct pipeline *pipeline = &model->pipeline;
	FILE *stream = output->stream;

	fprintf(stream, "Model:      %s (%s)", pipeline->title, pipeline->name);
	if (pipeline->kind == PIPELINE_KIND_IN_ORDER)
		fputs(", in order\n", stream);
	else {
		fputs(", out of order", stream);
		print_skid(&model->skid, stream);
		fputc('\n', stream);
	}
	if (!model->note[0])
		return;
	fputs("            ", stream);
	text_print(model->note, stream);
	fputc('\n', stream);
}

json_t *
model_json(const struct model *model)
{
	static const char *const skid_names[SKID_SOURCES] = {"none", "precise", "timer", "pmu", "unknown"};
	const struct pipeline *pipeline = &model->pipeline;

	return json_pack("{s:s, s:s, s:b, s:i, s:s, s:o}", "name", pipeline->name, "title", pipeline->title, "in_order",
	                 pipeline->kind == PIPELINE_KIND_IN_ORDER, "skid", (int)model->skid.instructions, "skid_of",
	                 skid_names[model->skid.source], "note",
	                 model->note[0] ? json_shown(model->note) : json_null());
}
