#include "dcpi-tools/mem/recorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/build_ids.h"
#include "dcpi-tools/import/recording.h"
#include "dcpi-tools/mem/perf_collect.h"

#define NAMES_SHOWN     3 /* events */
#define SOURCE_SIZE     512
#define POWER_LINE_SIZE 128

struct recorded_state {
	struct recorded_outcome *outcome;
	struct perf_recording recording;
	struct build_ids *build_ids;
	struct perf_collector *collector;
	struct spe_areas *areas; /* NULL: none */
	struct node_cpus cpus;   /* of the recorded machine */
	bool has_cpus;
	uint64_t first_ns, last_ns; /* of samples with addresses, by the recording's clock */
};

static bool
has_addresses(const struct perf_data_event *event)
{
	return event->layout.sample_type & PERF_SAMPLE_DATA_SRC;
}

/* ---- records ---- */

/* The nodes of the machine's CPUs. A pipe has them before the first sample, a file from its beginning. */
static void
find_cpus(struct recorded_state *state)
{
	const struct perf_data_machine *machine = perf_data_machine(state->recording.data);
	const char *architecture = machine->architecture ? machine->architecture : "";
	struct node_cpus *cpus = &state->cpus;

	if (state->has_cpus)
		return;
	state->has_cpus = true;
	cpus->nodes = machine->node_count ? machine->node_count : 1;
	cpus->node_cpus = machine->node_cpu_count;
	cpus->line_bytes = strncmp(architecture, "ppc", 3) == 0 ? POWER_LINE_SIZE : 0;
	memset(cpus->node, MEMORY_NODE_HERE, sizeof(cpus->node));
	for (uint32_t i = 0; i < machine->cpu_node_count && i < NODE_CPUS_MAX; i++) {
		if (machine->cpu_nodes[i] != PERF_DATA_NO_NODE)
			cpus->node[i] = machine->cpu_nodes[i];
	}
}

/* A sample with an address, of an event or of SPE. */
static int
take_access(void *context, const struct record *sample)
{
	struct recorded_state *state = context;

	find_cpus(state);
	if (!state->outcome->samples++ || sample->time < state->first_ns)
		state->first_ns = sample->time;
	if (sample->time > state->last_ns)
		state->last_ns = sample->time;
	return perf_collector_take(state->collector, sample);
}

static int
take_sample(struct recorded_state *state, const struct record *record, uint32_t number)
{
	size_t count;
	const struct perf_data_event *events = perf_data_events(state->recording.data, &count);
	struct record sample;

	if (number >= count || !has_addresses(&events[number])) {
		state->outcome->others++;
		return 0;
	}
	if (events[number].layout.sample_type & PERF_SAMPLE_CPU)
		return take_access(state, record);
	sample = *record;
	sample.sample.cpu = RECORD_NO_CPU;
	return take_access(state, &sample);
}

/* With the build-id that the recording lists for the file: so names are those of the file that was recorded. */
static int
take_mapping(struct recorded_state *state, const struct record *record)
{
	struct record mapping = *record;
	struct image image = {.kind = IMAGE_USER, .path = record->mmap.path};
	size_t count;
	const struct perf_data_build_id *list = perf_data_build_ids(state->recording.data, &count);
	const int err = build_ids_update(state->build_ids, list, count);

	if (err)
		return err;
	if (!record->mmap.build_id_size) {
		build_ids_complete(state->build_ids, &image);
		memcpy(mapping.mmap.build_id, image.build_id, sizeof(image.build_id));
		mapping.mmap.build_id_size = image.build_id_size;
	}
	return perf_collector_take(state->collector, &mapping);
}

/* A record, in the order of time: what SPE sampled before it comes first. */
static int
take(void *context, const struct record *record, uint32_t event)
{
	struct recorded_state *state = context;
	int err = 0;

	if (state->areas && record->time)
		err = spe_areas_take(state->areas, record->time, take_access, state);
	if (state->areas && !err)
		err = spe_areas_follow(state->areas, record);
	if (err)
		return err;
	switch (record->type) {
	case RECORD_SAMPLE:
		return take_sample(state, record, event);
	case RECORD_MMAP:
		return take_mapping(state, record);
	default:
		return perf_collector_take(state->collector, record);
	}
}

/* ---- afterwards: a pipe describes its events among the records ---- */

static enum recorded_kind
kind_of(const struct recorded_state *state, bool has_directory)
{
	size_t count;
	const struct perf_data_event *events = perf_data_events(state->recording.data, &count);
	bool with_addresses = false, is_monotonic = true;

	for (size_t i = 0; i < count; i++) {
		if (!has_addresses(&events[i]))
			continue;
		with_addresses = true;
		is_monotonic &= events[i].attr.use_clockid && events[i].attr.clockid == CLOCK_MONOTONIC;
	}
	if (state->areas && !with_addresses)
		return state->outcome->spe.timeless ? RECORDED_SPE_NO_TIME : RECORDED_ACCESSES;
	if (!with_addresses)
		return perf_data_auxtrace(state->recording.data)->type == PERF_DATA_ARM_SPE ? RECORDED_SPE_PIPE
		                                                                            : RECORDED_NO_ADDRESSES;
	return has_directory && !is_monotonic ? RECORDED_OTHER_CLOCK : RECORDED_ACCESSES;
}

/* Whether the event names the source of samples. */
static bool
is_source(const struct recorded_state *state, const struct perf_data_event *event)
{
	if (state->areas && event->attr.type == spe_areas_event_type(state->areas))
		return true;
	return has_addresses(event) && event->attr.type != PERF_TYPE_SOFTWARE;
}

static int
name_source(struct recorded_state *state)
{
	struct memory_profile *profile = &state->outcome->profile;
	size_t count, named = 0;
	const struct perf_data_event *events = perf_data_events(state->recording.data, &count);
	char text[SOURCE_SIZE] = "Recording of";
	size_t at = strlen(text);

	for (size_t i = 0; i < count && at < sizeof(text); i++) {
		const char *name = events[i].name && *events[i].name ? events[i].name : "accesses";

		if (!is_source(state, &events[i]) || named++ >= NAMES_SHOWN)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %.100s", named > 1 ? "," : "", name);
	}
	if (named > NAMES_SHOWN && at < sizeof(text))
		at += (size_t)snprintf(text + at, sizeof(text) - at, " and %zu more", named - NAMES_SHOWN);
	if (at < sizeof(text) && state->cpus.node_cpus)
		snprintf(text + at, sizeof(text) - at, " (%u node%s)", state->cpus.nodes,
		         text_plural(state->cpus.nodes));
	else if (at < sizeof(text))
		snprintf(text + at, sizeof(text) - at, " (nodes not known)");
	profile->source = memory_profile_add_text(profile, text);
	return profile->source == MEMORY_NOTHING ? -ENOMEM : 0;
}

static int
finish(struct recorded_state *state, int fd)
{
	const uint64_t duration = state->last_ns - state->first_ns;
	struct recorded_outcome *outcome = state->outcome;
	int err = recording_find_end(fd, &outcome->end_ns);

	if (!err)
		err = perf_collector_finish(state->collector, state->first_ns, state->last_ns);
	outcome->start_ns = outcome->end_ns - (duration < outcome->end_ns ? duration : 0);
	outcome->unmapped = perf_collector_left_out(state->collector);
	recording_describe(perf_data_machine(state->recording.data), NULL, &outcome->machine);
	return err ? err : name_source(state);
}

static int
read_all(struct recorded_state *state, const struct recorded_request *request)
{
	struct recorded_outcome *outcome = state->outcome;
	const struct perf_collector_options options = {
		.source = SOURCE_PMU,
		.cpus = &state->cpus,
		.directory = request->directory,
		.access_max = request->access_max,
		.counts = &outcome->counts,
	};
	int result, err = memory_profile_init(&outcome->profile);

	state->build_ids = build_ids_new();
	state->collector = err ? NULL : perf_collector_new(&outcome->profile, &options);
	if (!state->collector || !state->build_ids)
		return -ENOMEM;
	err = spe_areas_find(request->fd, &state->areas);
	if (err)
		return err;
	if (state->areas && (request->directory || !spe_areas_has_clock_of_records(state->areas))) {
		outcome->kind = request->directory ? RECORDED_SPE_OBJECTS : RECORDED_SPE_OTHER_CLOCK;
		return -EINVAL;
	}
	err = recording_open(&state->recording, request->fd, take, state, &outcome->fault);
	if (err)
		return err;
	result = recording_read(&state->recording, NULL);
	outcome->fault = perf_data_fault(state->recording.data);
	if (result && result != -DCPI_EDAMAGED)
		return result;
	if (state->areas) {
		err = spe_areas_take(state->areas, UINT64_MAX, take_access, state);
		outcome->spe = spe_areas_counts(state->areas);
	}
	if (err)
		return err;
	outcome->kind = kind_of(state, request->directory);
	if (outcome->kind == RECORDED_OTHER_CLOCK)
		return -EINVAL;
	err = outcome->samples ? finish(state, request->fd) : 0;
	return err ? err : result;
}

int
recorded_read(const struct recorded_request *request, struct recorded_outcome *outcome)
{
	struct recorded_state *state = calloc(1, sizeof(*state));
	int err = -ENOMEM;

	memset(outcome, 0, sizeof(*outcome));
	if (!state)
		return err;
	state->outcome = outcome;
	err = read_all(state, request);
	perf_collector_free(state->collector);
	spe_areas_free(state->areas);
	recording_close(&state->recording);
	build_ids_free(state->build_ids);
	free(state);
	return err;
}

void
recorded_fini(struct recorded_outcome *outcome)
{
	memory_profile_fini(&outcome->profile);
}
