#include "dcpi-tools/common/other_cores.h"

#include <inttypes.h>
#include <string.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"

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
