#include "dcpi-tools/import/perf_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/describe.h"
#include "dcpi-tools/import/importing.h"

#define LOOK_EVERY 32 /* samples, between two looks whether there is too much in memory */
#define SHOW_EVERY 4096

/* Before the first sample: what was recorded, all of which a recording tells at its beginning. */
static int
begin(struct importing *importing)
{
	const struct perf_data_event *recorded;
	size_t count;
	int err;

	recorded = perf_data_events(importing->data, &count);
	err = import_events_init(&importing->events, recorded, count, importing->request->sums);
	if (err)
		return err;
	importing->report->events_left_out = importing->events.left_out;
	importing->has_begun = true;
	return 0;
}

/* The clock of a recording is its kernel's; its end is when the file was written last, that of a pipe is now. */
static int
find_end(int fd, uint64_t *end_ns)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	*end_ns = S_ISREG(status.st_mode)
	                  ? (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec
	                  : time_now();
	return 0;
}

static int
write_pending(struct importing *importing)
{
	struct pending *pending = &importing->pending;
	const struct perf_data_machine *machine = perf_data_machine(importing->data);
	const struct perf_data_build_id *list;
	uint64_t duration, end = 0;
	size_t count;
	int err;

	err = find_end(importing->request->fd, &end);
	if (err)
		return err;
	list = perf_data_build_ids(importing->data, &count);
	err = build_ids_update(importing->build_ids, list, count);
	if (err)
		return err;
	duration = importing->last_ns - importing->first_ns;
	if (machine->last_ns > machine->first_ns && machine->last_ns - machine->first_ns > duration)
		duration = machine->last_ns - machine->first_ns;
	if (pending->epoch.id == 0) {
		describe_epoch(machine, importing->request, &importing->events, &pending->epoch);
		pending->epoch.start_ns = pending->slice.start_ns = end - (duration < end ? duration : 0);
	}
	pending->epoch.end_ns = pending->slice.end_ns = end;
	for (size_t i = 0; i < pending->epoch.event_count; i++)
		slice_event_add(&importing->report->events[i], &pending->slice.events[i]);
	return pending_write(pending);
}

static int
take_sample(struct importing *importing, const struct record *record, uint32_t event)
{
	struct perf_import_report *report = importing->report;
	int err = 0;

	if (!importing->has_begun)
		err = begin(importing);
	if (!err && ++importing->samples % LOOK_EVERY == 0 && pending_is_full(&importing->pending))
		err = write_pending(importing);
	if (err)
		return err;
	report->call_chains += record->sample.has_call_chain;
	if (event >= importing->events.slot_count || importing->events.slots[event].samples == IMPORT_NO_EVENT) {
		report->no_event++;
		return 0;
	}
	if (record->time && (importing->first_ns == 0 || record->time < importing->first_ns))
		importing->first_ns = record->time;
	if (record->time > importing->last_ns)
		importing->last_ns = record->time;
	return importing_count(importing, record, &importing->events.slots[event]);
}

/* Where a record names no event, it is that of the only one; with several there is no telling. */
static struct slice_event *
event_of(struct importing *importing, uint32_t event)
{
	uint16_t index = 0;

	if (!importing->has_begun && begin(importing))
		return NULL;
	if (event < importing->events.slot_count)
		index = importing->events.slots[event].samples;
	return index < importing->events.count ? &importing->pending.slice.events[index] : NULL;
}

static void
take_loss(struct importing *importing, const struct record *record, uint32_t event)
{
	struct slice_event *of = event_of(importing, event);

	if (!of)
		return;
	if (record->type == RECORD_LOST)
		of->lost += record->lost.count;
	else
		of->throttled++;
}

/* A record whose turn it is. */
static int
take(void *context, const struct record *record, uint32_t event)
{
	struct importing *importing = context;
	int err;

	switch (record->type) {
	case RECORD_SAMPLE:
		return take_sample(importing, record, event);
	case RECORD_LOST:
	case RECORD_THROTTLE:
		take_loss(importing, record, event);
		return 0;
	case RECORD_OTHER:
	case RECORD_UNTHROTTLE:
		return 0;
	default:
		attribution_expire(importing->attribution, record->time);
		/* Mappings beyond the limit are told by their samples: UNKNOWN_MEMORY. */
		err = attribution_apply(importing->attribution, record);
		return err == -ENOSPC ? 0 : err;
	}
}

/* perf orders nothing when records other than samples have no time. */
static bool
has_times(const struct perf_data *data)
{
	const struct perf_data_event *events;
	size_t count;

	events = perf_data_events(data, &count);
	for (size_t i = 0; i < count; i++)
		if (!events[i].layout.sample_id_all || !(events[i].layout.sample_type & PERF_SAMPLE_TIME))
			return false;
	return true;
}

static int
read_record(struct importing *importing, const struct record *record, uint32_t event)
{
	if (record->type == RECORD_OTHER)
		return record->other == PERF_DATA_ROUND ? time_order_round(importing->order) : 0;
	if (!importing->is_ordered)
		return take(importing, record, event);
	return time_order_put(importing->order, record, event);
}

static void
show_progress(struct importing *importing)
{
	if (++importing->records % SHOW_EVERY == 0 && importing->size > 0)
		progress_show(&importing->progress, perf_data_offset(importing->data), importing->size);
}

static int
read_all(struct importing *importing)
{
	struct record record;
	uint32_t event;
	int result, err = 0;

	importing->is_ordered = true;
	while ((result = perf_data_next(importing->data, &record, &event)) > 0) {
		if (importing->records == 0 || !importing->has_begun)
			importing->is_ordered = has_times(importing->data);
		err = *importing->request->stop ? -EINTR : read_record(importing, &record, event);
		if (err)
			return err;
		show_progress(importing);
	}
	if (*importing->request->stop)
		return -EINTR;
	if (result < 0 && result != -DCPI_EDAMAGED)
		return result;
	err = time_order_end(importing->order);
	return err ? err : result;
}

static int
init(struct importing *importing)
{
	static const struct attribution_options options = {.procfs = "", .sysfs = "", .cgroupfs = "", .offline = true};
	struct pending *pending = &importing->pending;
	int err = pending_init(pending);

	if (err)
		return err;
	pending->profile = importing->request->profile;
	importing->attribution = attribution_new(&options, pending->images, pending->contexts);
	importing->build_ids = build_ids_new();
	importing->order = time_order_new(TIME_ORDER_BYTES, take, importing);
	pending->attribution = importing->attribution;
	pending->build_ids = importing->build_ids;
	return importing->attribution && importing->build_ids && importing->order ? 0 : -ENOMEM;
}

static void
fini(struct importing *importing)
{
	time_order_free(importing->order);
	attribution_free(importing->attribution);
	build_ids_free(importing->build_ids);
	pending_fini(&importing->pending);
	import_events_fini(&importing->events);
	perf_data_free(importing->data);
	free(importing);
}

static void
fill_report(struct importing *importing)
{
	struct perf_import_report *report = importing->report;

	report->epoch = importing->pending.epoch;
	report->images = importing->pending.images_written;
	report->duration_ns = importing->last_ns - importing->first_ns;
	report->late = time_order_late(importing->order);
	report->bytes = perf_data_offset(importing->data);
	report->fault = perf_data_fault(importing->data);
	for (size_t i = 0; i < importing->events.slot_count; i++) {
		const uint16_t index = importing->events.slots[i].samples;
		bool is_first = index != IMPORT_NO_EVENT;

		for (size_t j = 0; j < i; j++)
			is_first &= importing->events.slots[j].samples != index;
		if (is_first)
			report->samples += report->events[index].samples;
	}
}

int
perf_import(const struct perf_import_request *request, struct perf_import_report *report)
{
	struct importing *importing = calloc(1, sizeof(*importing));
	struct stat status;
	int err, write_err;

	memset(report, 0, sizeof(*report));
	if (!importing)
		return -ENOMEM;
	importing->request = request;
	importing->report = report;
	err = init(importing);
	if (!err)
		err = perf_data_open(request->fd, &importing->data, &report->fault);
	if (err) {
		fini(importing);
		return err;
	}
	if (fstat(request->fd, &status) == 0 && S_ISREG(status.st_mode))
		importing->size = (uint64_t)status.st_size;
	progress_begin(&importing->progress, "of the recording");
	err = read_all(importing);
	if ((!err || err == -DCPI_EDAMAGED) && importing->samples > report->no_event) {
		write_err = write_pending(importing);
		if (write_err)
			err = write_err;
	}
	progress_end(&importing->progress);
	fill_report(importing);
	fini(importing);
	return err;
}
