#include "dcpi-tools/common/analysis_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/procedure.h"
#include "base/error.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/symbolizer.h"
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

/* The CPU of the newest epoch that was sampled; epochs of dcpix have no CPU of their own. */
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
model_ask(const struct selection *selection, const char *name, uint16_t event, struct model_choice *model)
{
	const char *cpu = sampled_cpu(selection);
	char directory[4096], machine[MACHINE_NAME_SIZE], pipeline[PIPELINE_NAME_SIZE];
	const bool is_emulated = emulated_cpu_names(cpu, machine, pipeline);
	int err;

	pipeline_directory(directory, sizeof(directory));
	err = pipeline_choose(directory, name || !is_emulated ? name : pipeline, cpu, &model->pipeline, model->note,
	                      sizeof(model->note));
	if (err) {
		message_print(NULL, "%s", model->note);
		return error_exit_status(err);
	}
	if (is_emulated && !emulated_cpu_apply(cpu, &model->pipeline))
		snprintf(model->note, sizeof(model->note), "with the memory of %s, which was emulated", machine);
	model->skid = skid_of_selection(selection, selection->events[event].name, &model->pipeline);
	return STATUS_OK;
}

void
model_print(const struct model_choice *model, const struct output *output)
{
	const struct pipeline *pipeline = &model->pipeline;
	const struct skid *skid = &model->skid;
	FILE *stream = output->stream;

	fprintf(stream, "Model:      %s (%s)", pipeline->title, pipeline->name);
	if (pipeline->kind == PIPELINE_KIND_IN_ORDER) {
		fputs(", in order", stream);
	} else {
		fputs(", out of order", stream);
		if (skid->instructions)
			fprintf(stream, "; samples are moved back by %u instruction%s", skid->instructions,
			        text_plural(skid->instructions));
		else if (skid->source != SKID_NONE)
			fputs("; samples are where they were taken", stream);
		if (skid->source == SKID_PRECISE)
			fputs(skid->instructions ? " (precise, of the next one)" : " (precise)", stream);
		else if (skid->source == SKID_ASSUMED)
			fputs(" as a timer's (a counter's skid is unknown here)", stream);
		if (skid->differs)
			fputs("; older epochs have others", stream);
	}
	fputc('\n', stream);
	if (!model->note[0])
		return;
	fputs("            ", stream);
	text_print(model->note, stream);
	fputc('\n', stream);
}

json_t *
model_json(const struct model_choice *model)
{
	static const char *const skid_names[SKID_SOURCES] = {"none", "precise", "timer", "pmu", "unknown"};
	const struct pipeline *pipeline = &model->pipeline;

	return json_pack("{s:s, s:s, s:b, s:i, s:s, s:o}", "name", pipeline->name, "title", pipeline->title, "in_order",
	                 pipeline->kind == PIPELINE_KIND_IN_ORDER, "skid", (int)model->skid.instructions, "skid_of",
	                 skid_names[model->skid.source], "note",
	                 model->note[0] ? json_shown(model->note) : json_null());
}

/* "/cycles/" of "cpu_core/cycles/"; NULL: the event is not one PMU's. */
static const char *
event_of_pmu(const struct selection_event *event)
{
	const char *slash = strchr(event->name, '/');

	return slash > event->name ? slash : NULL;
}

void
other_cores_add(struct other_cores *others, const struct selection *selection, uint16_t analyzed, size_t event,
                uint64_t samples)
{
	const struct selection_event *one = &selection->events[analyzed], *other = &selection->events[event];
	const char *here = event_of_pmu(one), *there = event_of_pmu(other);

	if (here && there && strcmp(here, there) == 0 && strcmp(one->unit, other->unit) == 0 &&
	    strcmp(one->name, other->name) != 0)
		others->samples[event] += samples;
}

void
other_cores_print(const struct other_cores *others, const struct selection *selection, const struct output *output)
{
	FILE *stream = output->stream;

	fputs(output_style(output, STYLE_WARNING), stream);
	for (size_t i = 0; i < selection->event_count; i++) {
		if (others->samples[i] == 0)
			continue;
		fputs("Left out:   ", stream);
		text_print(selection->events[i].name, stream);
		fprintf(stream, " %" PRIu64 ", of cores of another kind; --event ", others->samples[i]);
		text_print(selection->events[i].name, stream);
		fputs(" shows them, with --cpu for their model\n", stream);
	}
	fputs(output_plain(output, STYLE_WARNING), stream);
}

int
other_cores_json(const struct other_cores *others, const struct selection *selection, json_t *object)
{
	json_t *left_out = NULL;
	int failed = 0;

	for (size_t i = 0; i < selection->event_count; i++) {
		if (others->samples[i] == 0)
			continue;
		left_out = left_out ? left_out : json_object();
		failed |= json_object_set_new(left_out, selection->events[i].name, json_count(others->samples[i]));
	}
	return left_out ? failed | json_object_set_new(object, "left_out", left_out) : 0;
}

static int
find_procedure(const struct procedure_query *query, struct procedure_choice *choice)
{
	struct procedure procedure;
	char why[1024];
	int err;

	err = procedure_find(query, &choice->found, why, sizeof(why));
	if (err && !why[0])
		return message_cannot(query->name, "find the procedure", err, NULL);
	if (err) {
		message_print(query->name, "%s", why);
		return err == -DCPI_EDAMAGED ? STATUS_FAILURE : error_exit_status(err); /* not the database */
	}
	procedure = procedure_of_symbol(choice->found.symbol);
	choice->title = procedure_title(&procedure, choice->found.code.image, true);
	return choice->title ? STATUS_OK : message_cannot(NULL, "name the procedure", -ENOMEM, NULL);
}

int
procedure_choose(const struct selection *selection, const struct procedure_options *procedure, uint16_t event,
                 struct procedure_choice *choice)
{
	const struct image_request images = {
		.patterns = procedure->options.images,
		.count = procedure->options.image_count,
		.event = event,
	};
	struct procedure_query query = {.selection = selection, .name = procedure->name, .event = event};
	bool *wanted;
	int status;

	memset(choice, 0, sizeof(*choice));
	choice->title_count = selection->image_count;
	status = images_ask(selection, &images, &choice->titles, &wanted);
	if (status)
		return status;
	query.wanted = wanted;
	status = find_procedure(&query, choice);
	free(wanted);
	return status;
}

void
procedure_choice_fini(struct procedure_choice *choice)
{
	code_image_close(&choice->found.code);
	free(choice->title);
	image_titles_free(choice->titles, choice->title_count);
	memset(choice, 0, sizeof(*choice));
}

json_t *
procedure_choice_json(const struct procedure_choice *choice, const char *schema)
{
	const struct image *image = choice->found.code.image;
	char build_id[BUILD_ID_TEXT_SIZE];

	build_id_format(image, build_id);
	return json_pack("{s:s, s:o, s:o, s:s?}", "schema", schema, "procedure", json_shown(choice->title), "image",
	                 json_shown(image->path), "build_id", build_id[0] ? build_id : NULL);
}

void
instruction_format(const struct code_image *code, const struct instruction *instruction, enum listing_syntax syntax,
                   char text[INSTRUCTION_TEXT_SIZE])
{
	const uint8_t *bytes;
	size_t size;

	bytes = image_contents_code(code->contents, instruction->address, &size);
	if (bytes)
		decoder_text(procedures_decoder(code->procedures), bytes, size, instruction->address, syntax, text,
		             INSTRUCTION_TEXT_SIZE);
	else
		snprintf(text, INSTRUCTION_TEXT_SIZE, "?");
}

void
procedure_options_argument(void *procedure_options, char *text, struct argp_state *state)
{
	struct procedure_options *procedure = procedure_options;

	if (!*text && !procedure->name)
		argp_error(state, PROCEDURE_MISSING);
	else if (!procedure->name)
		procedure->name = text;
	else
		options_add_image(&procedure->options, text, state);
}

void
procedure_options_syntax(void *listing_syntax, char *text, struct argp_state *state)
{
	enum listing_syntax *syntax = listing_syntax;

	if (strcmp(text, "att") == 0)
		*syntax = LISTING_ATT;
	else if (strcmp(text, "intel") == 0)
		*syntax = LISTING_INTEL;
	else
		argp_error(state, "--asm is one of 'att' and 'intel'");
}

void
image_guard_enter(struct image_guard *guard, const char *name, const char *advice)
{
	guard->shown = text_shown(name);
	guard->guard = (struct guard){
		.subject = guard->shown ? guard->shown : "?",
		.claim = "an image cannot be read: its file is damaged",
		.advice = advice ? advice : "name another one with --image",
		.status = STATUS_FAILURE,
	};
	guard_enter(&guard->guard);
}

void
image_guard_leave(struct image_guard *guard)
{
	guard_leave(&guard->guard);
	free(guard->shown);
}
