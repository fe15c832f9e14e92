#include "dcpi-tools/import/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define SHOW_EVERY 4096

int
recording_open(struct perf_recording *recording, int fd, time_order_sink *take, void *context,
               struct perf_data_fault *fault)
{
	struct stat status;

	*recording = (struct perf_recording){.take = take, .context = context};
	*fault = (struct perf_data_fault){.text = NULL};
	recording->order = time_order_new(TIME_ORDER_BYTES, take, context);
	if (!recording->order)
		return -ENOMEM;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		recording->size = (uint64_t)status.st_size;
	return perf_data_open(fd, &recording->data, fault);
}

void
recording_close(struct perf_recording *recording)
{
	time_order_free(recording->order);
	perf_data_free(recording->data);
	memset(recording, 0, sizeof(*recording));
}

/* perf does not order records when only samples have a time. */
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
take(struct perf_recording *recording, const struct record *record, uint32_t event)
{
	if (!recording->has_samples) /* a recording describes its events at its beginning */
		recording->is_ordered = has_times(recording->data);
	recording->has_samples |= record->type == RECORD_SAMPLE;
	if (record->type == RECORD_OTHER)
		return record->other == PERF_DATA_ROUND ? time_order_round(recording->order) : 0;
	if (recording->is_ordered)
		return time_order_put(recording->order, record, event);
	return recording->take(recording->context, record, event);
}

static int
read_all(struct perf_recording *recording, struct progress *progress, const volatile sig_atomic_t *stop)
{
	struct record record;
	uint32_t event;
	int result, err;

	while ((result = perf_data_next(recording->data, &record, &event)) > 0) {
		if (stop && *stop)
			return -EINTR;
		err = take(recording, &record, event);
		if (err)
			return err;
		if (++recording->records % SHOW_EVERY == 0 && recording->size > 0)
			progress_show(progress, perf_data_offset(recording->data), recording->size);
	}
	if (stop && *stop)
		return -EINTR;
	if (result < 0 && result != -DCPI_EDAMAGED)
		return result;
	err = time_order_end(recording->order);
	return err ? err : result;
}

int
recording_read(struct perf_recording *recording, const volatile sig_atomic_t *stop)
{
	struct progress progress;
	int err;

	progress_begin(&progress, "of the recording");
	err = read_all(recording, &progress, stop);
	progress_end(&progress);
	return err;
}

int
recording_find_end(int fd, uint64_t *end_ns)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	*end_ns = S_ISREG(status.st_mode)
	                  ? (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec
	                  : time_now();
	return 0;
}

/* The name, and the numbers that distinguish models of one name. */
static void
describe_cpu(const struct perf_data_machine *machine, char *cpu, size_t size)
{
	const char *id = machine->cpu_id ? machine->cpu_id : "";
	char vendor[16];
	unsigned family, model;
	size_t used;
	uint64_t midr;

	snprintf(cpu, size, "%s", machine->cpu ? machine->cpu : "");
	used = strlen(cpu);
	if (sscanf(id, "%15[^,],%u,%u", vendor, &family, &model) == 3) {
		snprintf(cpu + used, size - used, " (%s family %u model %u)", vendor, family, model);
		return;
	}
	midr = strtoull(id, NULL, 16);
	if (strncmp(id, "0x", 2) == 0 && midr)
		snprintf(cpu, size, "ARM implementer 0x%02" PRIx64 ", part 0x%03" PRIx64, midr >> 24 & 0xff,
		         midr >> 4 & 0xfff);
}

void
recording_describe(const struct perf_data_machine *machine, const char *host, struct epoch *epoch)
{
	host = host ? host : machine->host;
	snprintf(epoch->host, sizeof(epoch->host), "%s", host ? host : "");
	snprintf(epoch->kernel, sizeof(epoch->kernel), "%s%s%s", machine->release ? machine->release : "",
	         machine->release && machine->architecture ? " " : "",
	         machine->architecture ? machine->architecture : "");
	describe_cpu(machine, epoch->cpu, sizeof(epoch->cpu));
	epoch->cpu_count = machine->cpu_count;
}
