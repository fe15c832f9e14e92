#include "dcpi-tools/import/perf_import.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/error.h"
#include "dcpi-tools/import/import_tables.h"
#include "dcpi-tools/import/pending.h"
#include "dcpi-tools/import/recording.h"
#include "unwind/call_stack.h"

#define BRANCH_EVENTS     2
#define LOOK_EVERY        32                   /* samples, between two checks of how much is in memory */
#define RUN_MAX           ((uint64_t)64 << 10) /* bytes; nothing runs so far without a branch that is taken */
#define KERNEL_BIT        (UINT64_C(1) << 63)
#define BRANCH_WRONG_PATH 1  /* PERF_BR_SPEC_WRONG_PATH (linux 6.1): executed, and squashed */
#define BRANCH_SPEC_SHIFT 24 /* of the flags, behind in_tx, abort, cycles and type */

/* ---- The events ---- */

/* The sum of periods is not samples times period. */
static bool
varies(const struct perf_event_attr *attr)
{
	return attr->freq && attr->sample_type & PERF_SAMPLE_PERIOD;
}

static uint16_t
find(const struct import_events *events, const char *name)
{
	for (size_t i = 0; i < events->count; i++)
		if (strcmp(events->events[i].name, name) == 0)
			return (uint16_t)i;
	return IMPORT_NO_EVENT;
}

static void
describe(const struct perf_data_event *recorded, const char *name, struct event *event)
{
	const struct perf_event_attr *attr = &recorded->attr;

	*event = (struct event){
		.encoding = {.type = attr->type,
	                     .config = attr->config,
	                     .config1 = attr->config1,
	                     .config2 = attr->config2},
		.period = attr->freq ? 0 : attr->sample_period,
		.rate = attr->freq ? attr->sample_freq : 0,
		.precise = attr->precise_ip,
		.available = true,
		.user = !attr->exclude_user,
		.kernel = !attr->exclude_kernel,
		.idle = !attr->exclude_idle,
	};
	snprintf(event->name, sizeof(event->name), "%s", name);
	snprintf(event->requested, sizeof(event->requested), "%s", name);
	event_unit_of(name, event->encoding.unit);
}

/* An event of which each count is one. */
static uint16_t
add_counted(struct import_events *events, const char *name, const char *unit, const char *note)
{
	struct event *event = &events->events[events->count];

	*event = (struct event){.encoding = {.type = EVENT_TYPE_DCPIX}, .period = 1, .available = true, .user = true};
	snprintf(event->name, sizeof(event->name), "%s", name);
	snprintf(event->requested, sizeof(event->requested), "%s", name);
	snprintf(event->note, sizeof(event->note), "%s", note);
	snprintf(event->encoding.unit, sizeof(event->encoding.unit), "%s", unit);
	return (uint16_t)events->count++;
}

static void
add_samples(struct import_events *events, const struct perf_data_event *recorded, size_t count, size_t room)
{
	for (size_t i = 0; i < count; i++) {
		const struct perf_event_attr *attr = &recorded[i].attr;
		struct import_slot *slot = &events->slots[i];
		char name[EVENT_NAME_SIZE];

		*slot = (struct import_slot){IMPORT_NO_EVENT, IMPORT_NO_EVENT, IMPORT_NO_EVENT, IMPORT_NO_EVENT, 0};
		if (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY)
			continue;
		if (recorded[i].name && recorded[i].name[0])
			snprintf(name, EVENT_NAME_SIZE, "%s", recorded[i].name);
		else
			event_name_of(attr, name);
		slot->samples = find(events, name);
		if (slot->samples != IMPORT_NO_EVENT)
			continue;
		if (events->count == room) {
			events->left_out++;
			continue;
		}
		slot->samples = (uint16_t)events->count;
		describe(&recorded[i], name, &events->events[events->count++]);
	}
}

/* The index of a derived event, new or not; IMPORT_NO_EVENT when there is no room. */
static uint16_t
add_derived(struct import_events *events, const struct event *derived, size_t room)
{
	const uint16_t found = find(events, derived->name);

	if (found != IMPORT_NO_EVENT || events->count >= room)
		return found;
	events->events[events->count] = *derived;
	return (uint16_t)events->count++;
}

static void
add_sums(struct import_events *events, const struct perf_data_event *recorded, size_t count, size_t room)
{
	for (size_t i = 0; i < count; i++) {
		struct import_slot *slot = &events->slots[i];
		struct event sum;

		if (slot->samples != IMPORT_NO_EVENT && varies(&recorded[i].attr) &&
		    event_sum_of(&events->events[slot->samples], &sum))
			slot->sum = add_derived(events, &sum, room);
	}
}

/*
 * Registers of samples whose frames in user mode are not in the call chain, but in a copy of the stack: what
 * `perf record --call-graph dwarf` asks for. 0: of no such event. Some processors record a register beside a chain.
 */
static uint64_t
registers_of(const struct perf_data_event *recorded)
{
	const uint64_t both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	const struct perf_event_attr *attr = &recorded->attr;

	if ((attr->sample_type & both) != both ||
	    (attr->sample_type & PERF_SAMPLE_CALLCHAIN && !attr->exclude_callchain_user))
		return 0;
	return recorded->layout.sample_regs_user;
}

/* An event with stacks has them with their sum, if its period varies, or not at all. */
static void
add_stacks(struct import_events *events, const struct perf_data_event *recorded, size_t count, bool sums, size_t room)
{
	for (size_t i = 0; i < count; i++) {
		const bool has_sum = sums && varies(&recorded[i].attr);
		struct import_slot *slot = &events->slots[i];
		struct event stacks, sum;

		slot->registers = registers_of(&recorded[i]);
		if (slot->samples == IMPORT_NO_EVENT ||
		    (!(recorded[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN) && !slot->registers) ||
		    !event_stacks_of(&events->events[slot->samples], &stacks) ||
		    (has_sum && !event_sum_of(&stacks, &sum)) || events->count + has_sum >= room)
			continue;
		slot->stacks = add_derived(events, &stacks, room);
		if (has_sum)
			slot->stacks_sum = add_derived(events, &sum, room);
	}
}

int
import_events_init(struct import_events *events, const struct perf_data_event *recorded, size_t count, bool sums)
{
	bool branches = false;
	size_t room = EVENTS_MAX;

	memset(events, 0, sizeof(*events));
	events->branch_stacks = events->runs = IMPORT_NO_EVENT;
	events->slots = calloc(count + 1, sizeof(*events->slots));
	if (!events->slots)
		return -ENOMEM;
	events->slot_count = count;
	for (size_t i = 0; i < count; i++)
		branches |= (recorded[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
	if (branches)
		room -= BRANCH_EVENTS;
	add_samples(events, recorded, count, room);
	if (sums)
		add_sums(events, recorded, count, room);
	add_stacks(events, recorded, count, sums, room);
	if (branches) {
		events->branch_stacks =
			add_counted(events, "branch-stacks", "branches", "taken, as a branch recorder saw them");
		events->runs =
			add_counted(events, "branch-runs", "runs", "executed between two branches that were taken");
	}
	return 0;
}

void
import_events_fini(struct import_events *events)
{
	free(events->slots);
	memset(events, 0, sizeof(*events));
}

/* ---- The recording ---- */

/* A recording on its way into a database. */
struct perf_importer {
	const struct perf_import_request *request;
	struct perf_import_report *report;
	struct perf_recording recording;
	struct attribution *attribution;
	struct build_ids *build_ids;
	struct import_tables *tables;
	enum unwind_machine machine; /* that was recorded; 0: one that is not unwound */
	struct chain_frames frames;  /* of the last stack */
	struct import_events events; /* once it has begun */
	bool has_begun;
	struct import_pending pending;
	uint64_t first_ns, last_ns; /* of samples, by the recording's clock */
	uint64_t samples;
};

static enum unwind_machine
machine_of(const struct perf_data_machine *machine)
{
	struct utsname here;
	const char *name = machine->architecture;

	if (!name)
		name = uname(&here) == 0 ? here.machine : "";
	return strcmp(name, "x86_64") == 0 ? UNWIND_X86_64 : strcmp(name, "aarch64") == 0 ? UNWIND_AARCH64 : 0;
}

/* What is known of build-ids so far. */
static int
update_build_ids(struct perf_importer *importer)
{
	const struct perf_data_build_id *list;
	size_t count;

	list = perf_data_build_ids(importer->recording.data, &count);
	return build_ids_update(importer->build_ids, list, count);
}

/* Before the first sample: a recording describes its events at its beginning. */
static int
begin(struct perf_importer *importer)
{
	const struct perf_data_event *recorded;
	size_t count;
	int err = update_build_ids(importer);

	if (err)
		return err;
	importer->machine = machine_of(perf_data_machine(importer->recording.data));
	recorded = perf_data_events(importer->recording.data, &count);
	err = import_events_init(&importer->events, recorded, count, importer->request->sums);
	if (err)
		return err;
	importer->report->events_left_out = importer->events.left_out;
	importer->has_begun = true;
	return 0;
}

/* The epoch that a recording becomes, but for its number and its times. */
static void
describe_epoch(const struct perf_data_machine *machine, const struct perf_import_request *request,
               const struct import_events *events, struct epoch *epoch)
{
	snprintf(epoch->label, sizeof(epoch->label), "%s", request->label);
	recording_describe(machine, request->host, epoch);
	epoch->event_count = events->count;
	memcpy(epoch->events, events->events, events->count * sizeof(*epoch->events));
}

static int
write_pending(struct perf_importer *importer)
{
	struct import_pending *pending = &importer->pending;
	const struct perf_data_machine *machine = perf_data_machine(importer->recording.data);
	uint64_t duration, end = 0;
	int err;

	/* times in a recording are of its kernel's clock */
	err = recording_find_end(importer->request->fd, &end);
	if (err)
		return err;
	err = update_build_ids(importer);
	if (err)
		return err;
	duration = importer->last_ns - importer->first_ns;
	if (machine->last_ns > machine->first_ns && machine->last_ns - machine->first_ns > duration)
		duration = machine->last_ns - machine->first_ns;
	if (pending->epoch.id == 0) {
		describe_epoch(machine, importer->request, &importer->events, &pending->epoch);
		pending->epoch.start_ns = pending->slice.start_ns = end - (duration < end ? duration : 0);
	}
	pending->epoch.end_ns = pending->slice.end_ns = end;
	for (size_t i = 0; i < pending->epoch.event_count; i++)
		slice_event_add(&importer->report->events[i], &pending->slice.events[i]);
	return pending_write(pending);
}

/* The image and offset of a branch's address, in the process of `record`. False: not known. */
static bool
find_place(struct perf_importer *importer, const struct record *record, uint64_t address, struct sample_key *key)
{
	struct record there = *record;

	there.sample.address = address;
	there.mode = address & KERNEL_BIT ? CPU_MODE_KERNEL : CPU_MODE_USER;
	return attribution_sample(importer->attribution, &there, key) == 0;
}

static int
add_transfer(struct perf_importer *importer, uint16_t event, const struct sample_key *from, const struct sample_key *to)
{
	struct sample_key key = *from;
	int err;

	key.event = event;
	err = tally_add(importer->pending.tally, &key, 1);
	if (err)
		return err;
	importer->pending.slice.events[event].samples++;
	return pending_add_edge(&importer->pending, event, from->image, from->offset, to->offset);
}

/* Was the branch executed speculatively, and squashed? */
static bool
is_wrong_path(const struct perf_branch_entry *branch)
{
	uint64_t flags;

	memcpy(&flags, (const uint8_t *)branch + 2 * sizeof(uint64_t), sizeof(flags));
	return (flags >> BRANCH_SPEC_SHIFT & 3) == BRANCH_WRONG_PATH;
}

/* The latest branch comes first; what ran lies between the target of a branch and the origin of the next. */
static int
count_branches(struct perf_importer *importer, const struct record *record)
{
	struct sample_key next_from = {0}, from = {0}, to = {0};
	bool has_next = false;
	int err = 0;

	for (uint32_t i = 0; !err && i < record->sample.branch_count; i++) {
		struct perf_branch_entry branch;
		bool knows_from, knows_to;

		memcpy(&branch, record->sample.branches + i * sizeof(branch), sizeof(branch));
		if (is_wrong_path(&branch))
			continue;
		knows_from = branch.from && find_place(importer, record, branch.from, &from);
		knows_to = branch.to && find_place(importer, record, branch.to, &to);
		/* a run: the instructions from the target of one branch up to the next branch */
		if (knows_to && has_next && to.image == next_from.image && next_from.offset >= to.offset &&
		    next_from.offset - to.offset <= RUN_MAX)
			err = add_transfer(importer, importer->events.runs, &to, &next_from);
		if (!err && knows_from && knows_to && from.image == to.image)
			err = add_transfer(importer, importer->events.branch_stacks, &from, &to);
		has_next = knows_from;
		next_from = from;
	}
	return err;
}

/* Periods of a damaged recording may be anything. Counts in the database do not wrap, so their totals must not. */
static void
add_period(uint64_t *sum, uint64_t period)
{
	*sum = period <= UINT64_MAX - *sum ? *sum + period : UINT64_MAX;
}

/* Does the sample say who called? */
static bool
has_stack(const struct record *record, const struct import_slot *slot)
{
	return record->sample.call_chain_count > 0 || (slot->registers && record->sample.registers);
}

/* Find the frames of a sample's stack; of a machine that is not unwound, those in the kernel. 0 or -ENOMEM. */
static int
find_frames(struct perf_importer *importer, const struct record *record, const struct import_slot *slot)
{
	const struct call_stack_tables tables = {importer->machine, import_tables_find, importer->tables};
	struct chain_frames *frames = &importer->frames;

	if (slot->registers && importer->machine)
		call_stack_find(importer->attribution, &tables, record, slot->registers, CALL_CHAIN_MAX, NULL, frames);
	else
		call_chain_find(importer->attribution, record, frames);
	return import_tables_error(importer->tables);
}

/* A sample whose own image is not known has no stack: its context may not be known, either. */
static int
count_stack(struct perf_importer *importer, const struct record *record, const struct import_slot *slot)
{
	struct slice_event *events = importer->pending.slice.events;
	const uint64_t period = slot->stacks_sum == IMPORT_NO_EVENT ? 0 : record->sample.period;
	const struct chain_frames *frames = &importer->frames;
	uint32_t node;
	int err;

	events[slot->stacks].samples++;
	if (period)
		add_period(&events[slot->stacks_sum].samples, period);
	err = find_frames(importer, record, slot);
	if (err)
		return err;
	if (frames->cause) {
		events[slot->stacks].unknown[frames->cause - 1]++;
		if (period)
			add_period(&events[slot->stacks_sum].unknown[frames->cause - 1], period);
		return 0;
	}
	if (frames->is_truncated)
		importer->report->truncated[frames->end]++;
	err = chain_frames_intern(importer->pending.stacks, &importer->frames, &node);
	if (err)
		return err;
	return pending_add_stack(&importer->pending, slot->stacks, frames->context, node, slot->stacks_sum, period);
}

/* Count a sample, and the stack and the branches that were recorded with it. 0, -ENOMEM, -ENOSPC. */
static int
count_sample(struct perf_importer *importer, const struct record *record, const struct import_slot *slot)
{
	struct import_pending *pending = &importer->pending;
	struct slice_event *samples = &pending->slice.events[slot->samples];
	struct slice_event *sum = slot->sum == IMPORT_NO_EVENT ? NULL : &pending->slice.events[slot->sum];
	struct sample_key key;
	int cause, err = 0;

	samples->samples++;
	if (sum)
		add_period(&sum->samples, record->sample.period);
	cause = attribution_sample(importer->attribution, record, &key);
	if (cause) {
		samples->unknown[cause - 1]++;
		if (sum)
			add_period(&sum->unknown[cause - 1], record->sample.period);
	} else {
		key.event = slot->samples;
		if (sum && record->sample.period)
			err = tally_add_with_sum(pending->tally, &key, 1, slot->sum, record->sample.period);
		else
			err = tally_add(pending->tally, &key, 1);
	}
	if (!err && has_stack(record, slot) && slot->stacks != IMPORT_NO_EVENT)
		err = count_stack(importer, record, slot);
	else if (has_stack(record, slot))
		importer->report->call_chains_left_out++;
	if (!err && record->sample.branch_count > 0 && importer->events.branch_stacks != IMPORT_NO_EVENT)
		err = count_branches(importer, record);
	return err;
}

static int
take_sample(struct perf_importer *importer, const struct record *record, uint32_t event)
{
	struct perf_import_report *report = importer->report;
	int err = 0;

	if (!importer->has_begun)
		err = begin(importer);
	if (!err && ++importer->samples % LOOK_EVERY == 0 && pending_is_full(&importer->pending))
		err = write_pending(importer);
	if (err)
		return err;
	if (event >= importer->events.slot_count || importer->events.slots[event].samples == IMPORT_NO_EVENT) {
		report->no_event++;
		return 0;
	}
	report->call_chains += has_stack(record, &importer->events.slots[event]);
	if (record->time && (importer->first_ns == 0 || record->time < importer->first_ns))
		importer->first_ns = record->time;
	if (record->time > importer->last_ns)
		importer->last_ns = record->time;
	return count_sample(importer, record, &importer->events.slots[event]);
}

/* A record that names no event is counted for the first one: right where there is only one, else a guess. */
static struct slice_event *
event_of(struct perf_importer *importer, uint32_t event)
{
	uint16_t index = 0;

	if (!importer->has_begun && begin(importer))
		return NULL;
	if (event < importer->events.slot_count)
		index = importer->events.slots[event].samples;
	return index < importer->events.count ? &importer->pending.slice.events[index] : NULL;
}

static void
take_loss(struct perf_importer *importer, const struct record *record, uint32_t event)
{
	struct slice_event *of = event_of(importer, event);

	if (!of)
		return;
	if (record->type == RECORD_LOST)
		of->lost += record->lost.count;
	else
		of->throttled++;
}

/* A record, in the order of time. */
static int
take(void *context, const struct record *record, uint32_t event)
{
	struct perf_importer *importer = context;
	int err;

	switch (record->type) {
	case RECORD_SAMPLE:
		return take_sample(importer, record, event);
	case RECORD_LOST:
	case RECORD_THROTTLE:
		take_loss(importer, record, event);
		return 0;
	case RECORD_OTHER:
	case RECORD_UNTHROTTLE:
	case RECORD_AUX:
	case RECORD_RUNNING:
	case RECORD_AUX_DATA:
		return 0;
	default:
		attribution_expire(importer->attribution, record->time);
		/* samples in mappings beyond the limit count as UNKNOWN_MEMORY */
		err = attribution_apply(importer->attribution, record);
		return err == -ENOSPC ? 0 : err;
	}
}

static int
init(struct perf_importer *importer)
{
	static const struct attribution_options options = {.procfs = "", .sysfs = "", .cgroupfs = "", .offline = true};
	struct import_pending *pending = &importer->pending;
	int err = pending_init(pending);

	if (err)
		return err;
	pending->profile = importer->request->profile;
	importer->attribution = attribution_new(&options, pending->images, pending->contexts);
	importer->build_ids = build_ids_new();
	importer->tables = import_tables_new(&(struct import_tables_options){
		.build_ids = importer->build_ids,
		.known = importer->request->known,
		.memory_limit = IMPORT_TABLES_BYTES,
	});
	if (!importer->attribution || !importer->build_ids || !importer->tables)
		return -ENOMEM;
	import_tables_begin(importer->tables, pending->images);
	pending->attribution = importer->attribution;
	pending->build_ids = importer->build_ids;
	pending->tables = importer->tables;
	return 0;
}

static void
fini(struct perf_importer *importer)
{
	recording_close(&importer->recording);
	attribution_free(importer->attribution);
	import_tables_free(importer->tables);
	build_ids_free(importer->build_ids);
	pending_fini(&importer->pending);
	import_events_fini(&importer->events);
	free(importer);
}

static void
fill_report(struct perf_importer *importer)
{
	struct perf_import_report *report = importer->report;

	report->epoch = importer->pending.epoch;
	report->images = importer->pending.images_written;
	report->duration_ns = importer->last_ns - importer->first_ns;
	report->late = time_order_late(importer->recording.order);
	report->bytes = perf_data_offset(importer->recording.data);
	report->fault = perf_data_fault(importer->recording.data);
	for (size_t i = 0; i < importer->events.slot_count; i++) {
		const uint16_t index = importer->events.slots[i].samples;
		bool is_first = index != IMPORT_NO_EVENT;

		for (size_t j = 0; j < i; j++)
			is_first &= importer->events.slots[j].samples != index;
		if (is_first)
			report->samples += report->events[index].samples;
	}
}

int
perf_import(const struct perf_import_request *request, struct perf_import_report *report)
{
	struct perf_importer *importer = calloc(1, sizeof(*importer));
	int err;

	memset(report, 0, sizeof(*report));
	if (!importer)
		return -ENOMEM;
	importer->request = request;
	importer->report = report;
	err = init(importer);
	if (!err)
		err = recording_open(&importer->recording, request->fd, take, importer, &report->fault);
	if (err) {
		fini(importer);
		return err;
	}
	err = recording_read(&importer->recording, request->stop);
	if ((!err || err == -DCPI_EDAMAGED) && importer->samples > report->no_event) {
		const int write_err = write_pending(importer);

		err = write_err ? write_err : err;
	}
	fill_report(importer);
	fini(importer);
	return err;
}
