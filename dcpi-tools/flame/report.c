#include "dcpi-tools/flame/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/flame/svg.h"

#define ALPHA      0.05 /* how often any frame may be coloured, if none has changed */
#define CONFIDENCE 0.95

/* What the comparison needs to know of the set's event. */
static int
keep_event(struct flame_report *report, size_t set, const struct selection_event *event)
{
	report->scale.weights[set] = (double)event->period;
	report->scale.is_random[set] = event->weights.has_sum;
	report->units[set] = strdup(event->unit);
	if (!report->event)
		report->event = strdup(event->name);
	return report->units[set] && report->event ? 0 : -ENOMEM;
}

static int
add_set(struct flame_report *report, const struct report_choice *choice, const struct profile_set_visit *visit)
{
	const struct selection_event *event = shown_events_event(choice->selection, &choice->shown_events, 0);
	const struct call_tree_request request = {
		.selection = choice->selection,
		.event = choice->shown_events.events[0],
		.wanted = choice->wanted,
		.image_titles = choice->titles,
		.symbolizer = visit->symbolizer,
		.demangle = report->request->demangle,
		.no_inline = report->request->no_inline,
	};
	struct call_tree tree;
	int err = call_tree_make(&request, &tree);

	if (err)
		return database_cannot_read(visit->database, err);
	if (tree.samples == 0) {
		call_tree_fini(&tree);
		return report_choice_empty(visit->database);
	}
	report->start_ns = choice->selection->start_ns;
	report->end_ns = choice->selection->end_ns;
	err = flame_graph_add(&report->graph, visit->index, &tree, choice->selection);
	if (!err)
		err = keep_event(report, visit->index, event);
	call_tree_fini(&tree);
	return err ? database_cannot_read(visit->database, err) : STATUS_OK;
}

static int
take_set(void *context, const struct profile_set_visit *visit)
{
	struct flame_report *report = context;
	const struct flame_request *request = report->request;
	struct report_choice choice;
	int status =
		report_choose_of(&choice, visit->selection, visit->database, &request->options, &request->shown_events);

	if (!status)
		status = add_set(report, &choice, visit);
	report_choice_fini(&choice);
	return status;
}

/* Weights are compared where both sets' are known, and of one unit. */
static int
compare_sets(struct flame_report *report)
{
	struct compare_scale *scale = &report->scale;

	if (scale->weights[0] <= 0 || scale->weights[1] <= 0 || strcmp(report->units[0], report->units[1]) != 0)
		scale->weights[0] = scale->weights[1] = 0;
	scale->z = statistics_z(CONFIDENCE);
	return flame_graph_compare(&report->graph, scale, ALPHA);
}

/* What the samples have in common: those options that distinguish sets are in the sets' own titles. */
static int
describe_filter(struct flame_report *report, const struct flame_request *request)
{
	const struct selection_request *common = &request->sets.sets[0].request;
	const struct {
		const char *name, *value;
	} parts[] = {{"comm", common->comm}, {"cgroup", common->cgroup}};
	const char *separator = "";
	size_t size;
	FILE *stream = open_memstream(&report->filter, &size);

	if (!stream)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!parts[i].value)
			continue;
		fprintf(stream, "%s%s %s", separator, parts[i].name, parts[i].value);
		separator = ", ";
	}
	for (size_t i = 0; i < request->options.image_count; i++) {
		fprintf(stream, "%simage %s", separator, request->options.images[i]);
		separator = ", ";
	}
	return fclose(stream) == 0 ? 0 : -ENOMEM;
}

/* "run1 -> run2"; one set has no title of its own, so when it was sampled. */
static int
describe(struct flame_report *report, const struct flame_request *request)
{
	const struct profile_set *sets = request->sets.sets;
	const int err = describe_filter(report, request);
	char when[2 * TIME_TEXT_SIZE];
	int length;

	if (err)
		return err;
	if (report->graph.set_count == 2)
		length = asprintf(&report->title, "%s \xe2\x86\x92 %s", sets[0].title, sets[1].title);
	else
		length = asprintf(&report->title, "Flame graph, %s",
		                  time_format_range(report->start_ns, report->end_ns, when));
	if (length < 0)
		report->title = NULL;
	return report->title ? 0 : -ENOMEM;
}

int
flame_report_make(struct flame_report *report, const struct flame_request *request)
{
	struct profile_sets *sets = (struct profile_sets *)&request->sets;
	int status, err;

	*report = (struct flame_report){.request = request};
	err = flame_graph_init(&report->graph);
	if (err)
		return message_cannot(NULL, "draw the flame graph", err, NULL);
	sets->stacks = sets->is_joined = true;
	status = profile_sets_read(sets, 1, 2, take_set, report);
	if (status)
		return status;
	err = flame_graph_place(&report->graph, request->least_percent / 100);
	if (!err && report->graph.set_count == 2)
		err = compare_sets(report);
	if (!err)
		err = describe(report, request);
	return err ? message_cannot(NULL, "draw the flame graph", err, NULL) : STATUS_OK;
}

void
flame_report_fini(struct flame_report *report)
{
	flame_graph_fini(&report->graph);
	free(report->units[0]);
	free(report->units[1]);
	free(report->event);
	free(report->title);
	free(report->filter);
}

int
flame_report_write(const struct flame_report *report)
{
	const struct flame_request *request = report->request;
	const char *path = request->path ? request->path : "-";
	const struct flame_svg svg = {
		.graph = &report->graph,
		.title = report->title,
		.event = report->event,
		.filter = report->filter,
		.alpha = ALPHA,
		.has_script = request->has_script,
	};
	struct atomic_file file;
	int err = atomic_file_open(&file, path);

	if (!err)
		err = atomic_file_close(&file, flame_svg_print(&svg, file.stream));
	return err ? message_cannot(path, "write the flame graph", err, NULL) : STATUS_OK;
}
