#include "profile/epoch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/counts.h"
#include "profile/edges.h"
#include "profile/label_times.h"
#include "profile/profile_internal.h"

#define SLICE_CPU_BYTES_MIN 5 /* of an encoded slice_cpu */

enum event_flag {
	EVENT_FLAG_AVAILABLE = 1,
	EVENT_FLAG_USER = 2,
	EVENT_FLAG_KERNEL = 4,
	EVENT_FLAG_IDLE = 8,
	EVENT_FLAGS_END = 16,
};

enum epoch_flag {
	EPOCH_FLAG_KEPT = 1,
	EPOCH_FLAG_IMPORTED = 2,
	EPOCH_FLAG_CONTINUES = 4,
	EPOCH_FLAG_INCOMING = 8, /* since schema 7 */
	EPOCH_FLAGS_END = 16,
};

static void
write_event(struct byte_writer *writer, const struct event *event)
{
	unsigned flags = 0;

	flags |= event->available ? EVENT_FLAG_AVAILABLE : 0;
	flags |= event->user ? EVENT_FLAG_USER : 0;
	flags |= event->kernel ? EVENT_FLAG_KERNEL : 0;
	flags |= event->idle ? EVENT_FLAG_IDLE : 0;
	write_string(writer, event->name);
	write_string(writer, event->requested);
	write_string(writer, event->note);
	write_varint(writer, event->encoding.type);
	write_varint(writer, event->encoding.config);
	write_varint(writer, event->encoding.config1);
	write_varint(writer, event->encoding.config2);
	write_string(writer, event->encoding.unit);
	write_varint(writer, event->period);
	write_varint(writer, event->rate);
	write_varint(writer, event->precise);
	write_varint(writer, flags);
	write_varint(writer, event->cost_ns);
}

static void
read_event(struct byte_reader *reader, unsigned format, struct event *event)
{
	unsigned flags;

	read_string(reader, event->name, sizeof(event->name));
	read_string(reader, event->requested, sizeof(event->requested));
	read_string(reader, event->note, sizeof(event->note));
	event->encoding.type = read_varint_u32(reader);
	event->encoding.config = read_varint(reader);
	event->encoding.config1 = read_varint(reader);
	event->encoding.config2 = read_varint(reader);
	read_string(reader, event->encoding.unit, sizeof(event->encoding.unit));
	event->period = read_varint(reader);
	event->rate = read_varint(reader);
	event->precise = (uint8_t)read_varint_below(reader, EVENT_PRECISE_MAX + 1);
	flags = (unsigned)read_varint_below(reader, EVENT_FLAGS_END);
	event->available = flags & EVENT_FLAG_AVAILABLE;
	event->user = flags & EVENT_FLAG_USER;
	event->kernel = flags & EVENT_FLAG_KERNEL;
	event->idle = flags & EVENT_FLAG_IDLE;
	if (format >= FORMAT_2)
		event->cost_ns = read_varint(reader);
}

size_t
epoch_weighed_event(const struct epoch *epoch, size_t index)
{
	size_t i = 0;

	while (i < epoch->event_count && !event_is_sum_of(&epoch->events[index], &epoch->events[i]))
		i++;
	return i;
}

static uint64_t
value_flags(const void *data, size_t size)
{
	struct byte_reader reader;
	uint64_t flags;

	reader_init(&reader, data, size);
	if (read_format_until(&reader, FORMAT_4) < FORMAT_3)
		return 0;
	flags = read_varint(&reader);
	return reader.failed ? 0 : flags;
}

bool
epoch_value_is_incoming(const void *data, size_t size)
{
	return value_flags(data, size) & EPOCH_FLAG_INCOMING;
}

void
epoch_encode(const struct epoch *epoch, struct byte_writer *writer)
{
	unsigned flags = 0;

	flags |= epoch->is_kept ? EPOCH_FLAG_KEPT : 0;
	flags |= epoch->is_imported ? EPOCH_FLAG_IMPORTED : 0;
	flags |= epoch->continues ? EPOCH_FLAG_CONTINUES : 0;
	flags |= epoch->is_incoming ? EPOCH_FLAG_INCOMING : 0;
	write_u8(writer, FORMAT_4);
	write_varint(writer, flags);
	write_varint(writer, epoch->start_ns);
	/* Clamped: when the clock was set back, the value must still be decodable. */
	write_varint(writer, epoch->end_ns > epoch->start_ns ? epoch->end_ns - epoch->start_ns : 0);
	write_string(writer, epoch->label);
	write_string(writer, epoch->host);
	write_string(writer, epoch->kernel);
	write_string(writer, epoch->cpu);
	write_varint(writer, epoch->cpu_count);
	write_varint(writer, epoch->overhead_limit_ppm);
	write_varint(writer, epoch->start_cpu_ns);
	write_varint(writer, epoch->event_count);
	for (size_t i = 0; i < epoch->event_count; i++)
		write_event(writer, &epoch->events[i]);
}

int
epoch_decode(uint32_t id, const void *data, size_t size, struct epoch *epoch)
{
	struct byte_reader reader;
	uint64_t duration;
	unsigned format, flags;

	memset(epoch, 0, sizeof(*epoch));
	reader_init(&reader, data, size);
	format = read_format_until(&reader, FORMAT_4);
	flags = format >= FORMAT_3 ? (unsigned)read_varint_below(&reader, EPOCH_FLAGS_END) : 0;
	epoch->is_kept = flags & EPOCH_FLAG_KEPT;
	epoch->is_imported = flags & EPOCH_FLAG_IMPORTED;
	epoch->continues = flags & EPOCH_FLAG_CONTINUES;
	epoch->is_incoming = flags & EPOCH_FLAG_INCOMING;
	epoch->id = id;
	epoch->start_ns = read_varint(&reader);
	duration = read_varint(&reader);
	if (duration > UINT64_MAX - epoch->start_ns)
		return -DCPI_EDAMAGED;
	epoch->end_ns = epoch->start_ns + duration;
	read_string(&reader, epoch->label, sizeof(epoch->label));
	read_string(&reader, epoch->host, sizeof(epoch->host));
	read_string(&reader, epoch->kernel, sizeof(epoch->kernel));
	read_string(&reader, epoch->cpu, sizeof(epoch->cpu));
	epoch->cpu_count = read_varint_u32(&reader);
	if (format >= FORMAT_2)
		epoch->overhead_limit_ppm = read_varint_u32(&reader);
	if (format >= FORMAT_4)
		epoch->start_cpu_ns = read_varint(&reader);
	epoch->event_count = read_varint_below(&reader, EVENTS_MAX + 1);
	for (size_t i = 0; i < epoch->event_count; i++)
		read_event(&reader, format, &epoch->events[i]);
	return reader_done(&reader) ? 0 : -DCPI_EDAMAGED;
}

/* ---- slices ---- */

double
slice_event_running_percent(const struct slice_event *event)
{
	if (event->enabled_ns == 0)
		return -1;
	return 100.0 * (double)event->running_ns / (double)event->enabled_ns;
}

void
slice_fini(struct slice *slice)
{
	free(slice->cpus);
	slice->cpus = NULL;
	slice->cpu_count = 0;
}

uint64_t
slice_event_unknown(const struct slice_event *event)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < UNKNOWN_CAUSE_COUNT; i++)
		sum = add_saturating(sum, event->unknown[i]);
	return sum;
}

void
slice_event_add(struct slice_event *sum, const struct slice_event *more)
{
	sum->samples = add_saturating(sum->samples, more->samples);
	sum->lost = add_saturating(sum->lost, more->lost);
	sum->throttled = add_saturating(sum->throttled, more->throttled);
	sum->dropped = add_saturating(sum->dropped, more->dropped);
	sum->enabled_ns = add_saturating(sum->enabled_ns, more->enabled_ns);
	sum->running_ns = add_saturating(sum->running_ns, more->running_ns);
	for (size_t i = 0; i < UNKNOWN_CAUSE_COUNT; i++)
		sum->unknown[i] = add_saturating(sum->unknown[i], more->unknown[i]);
}

static int
slice_cpu_compare(const struct slice_cpu *a, const struct slice_cpu *b)
{
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

static int
slice_add_cpus(struct slice *slice, const struct slice *more)
{
	struct slice_cpu *sum;
	size_t i = 0, j = 0, count = 0;

	if (more->cpu_count == 0)
		return 0;
	sum = calloc(slice->cpu_count + more->cpu_count, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	while (i < slice->cpu_count || j < more->cpu_count) {
		int order = i == slice->cpu_count  ? 1
		            : j == more->cpu_count ? -1
		                                   : slice_cpu_compare(&slice->cpus[i], &more->cpus[j]);

		sum[count] = order <= 0 ? slice->cpus[i++] : more->cpus[j++];
		if (order == 0) {
			const struct slice_cpu *cpu = &more->cpus[j++];

			sum[count].lost = add_saturating(sum[count].lost, cpu->lost);
			sum[count].throttled = add_saturating(sum[count].throttled, cpu->throttled);
			sum[count].skipped = add_saturating(sum[count].skipped, cpu->skipped);
		}
		count++;
	}
	free(slice->cpus);
	slice->cpus = sum;
	slice->cpu_count = count;
	return 0;
}

int
slice_add(struct slice *slice, const struct slice *more)
{
	int err;

	if (slice->epoch != more->epoch || slice->event_count != more->event_count)
		return -EINVAL;
	err = slice_add_cpus(slice, more);
	if (err)
		return err;
	slice->end_ns = more->end_ns;
	slice->daemon_cpu_ns = add_saturating(slice->daemon_cpu_ns, more->daemon_cpu_ns);
	slice->sideband_lost = add_saturating(slice->sideband_lost, more->sideband_lost);
	slice->skipped = add_saturating(slice->skipped, more->skipped);
	for (size_t i = 0; i < slice->event_count; i++)
		slice_event_add(&slice->events[i], &more->events[i]);
	return 0;
}

static bool
slice_cpu_is_zero(const struct slice_cpu *cpu)
{
	return cpu->lost == 0 && cpu->throttled == 0 && cpu->skipped == 0;
}

static void
write_slice_cpus(struct byte_writer *writer, const struct slice *slice)
{
	size_t count = 0;

	for (size_t i = 0; i < slice->cpu_count; i++)
		count += !slice_cpu_is_zero(&slice->cpus[i]);
	write_varint(writer, count);
	for (size_t i = 0; i < slice->cpu_count; i++) {
		const struct slice_cpu *cpu = &slice->cpus[i];

		if (slice_cpu_is_zero(cpu))
			continue;
		write_varint(writer, cpu->cpu);
		write_varint(writer, cpu->event);
		write_varint(writer, cpu->lost);
		write_varint(writer, cpu->throttled);
		write_varint(writer, cpu->skipped);
	}
}

void
slice_encode(const struct slice *slice, struct byte_writer *writer)
{
	write_u8(writer, FORMAT_2);
	write_varint(writer, slice->epoch);
	write_varint(writer, slice->start_ns);
	/* Clamped: when the clock was set back, the value must still be decodable. */
	write_varint(writer, slice->end_ns > slice->start_ns ? slice->end_ns - slice->start_ns : 0);
	write_varint(writer, slice->daemon_cpu_ns);
	write_varint(writer, slice->sideband_lost);
	write_varint(writer, slice->skipped);
	write_varint(writer, slice->event_count);
	for (size_t i = 0; i < slice->event_count; i++) {
		const struct slice_event *event = &slice->events[i];

		write_varint(writer, event->samples);
		write_varint(writer, event->lost);
		write_varint(writer, event->throttled);
		write_varint(writer, event->dropped);
		write_varint(writer, event->enabled_ns);
		write_varint(writer, event->running_ns);
		write_varint(writer, UNKNOWN_CAUSE_COUNT);
		for (size_t j = 0; j < UNKNOWN_CAUSE_COUNT; j++)
			write_varint(writer, event->unknown[j]);
	}
	write_slice_cpus(writer, slice);
}

/* Causes that are newer than the value are zero. A new cause needs a new schema: old readers refuse the value. */
static void
read_slice_event(struct byte_reader *reader, unsigned format, struct slice_event *event)
{
	uint64_t causes;

	event->samples = read_varint(reader);
	event->lost = read_varint(reader);
	event->throttled = read_varint(reader);
	if (format >= FORMAT_2) {
		event->dropped = read_varint(reader);
		event->enabled_ns = read_varint(reader);
		event->running_ns = read_varint(reader);
	}
	causes = read_varint_below(reader, UNKNOWN_CAUSE_COUNT + 1);
	for (uint64_t i = 0; i < causes; i++)
		event->unknown[i] = read_varint(reader);
}

static void
read_slice_cpu(struct byte_reader *reader, size_t event_count, struct slice_cpu *cpu)
{
	cpu->cpu = (uint32_t)read_varint_below(reader, SLICE_CPUS_MAX);
	cpu->event = (uint16_t)read_varint_below(reader, SLICE_SIDEBAND + 1);
	cpu->lost = read_varint(reader);
	cpu->throttled = read_varint(reader);
	cpu->skipped = read_varint(reader);
	if ((cpu->event >= event_count && cpu->event != SLICE_SIDEBAND) || slice_cpu_is_zero(cpu))
		reader->failed = true;
}

static int
read_slice_cpus(struct byte_reader *reader, struct slice *slice)
{
	uint64_t count = read_varint_below(reader, reader_left(reader) / SLICE_CPU_BYTES_MIN + 1);

	if (reader->failed)
		return -DCPI_EDAMAGED;
	if (count == 0)
		return 0;
	slice->cpus = calloc(count, sizeof(*slice->cpus));
	if (!slice->cpus)
		return -ENOMEM;
	slice->cpu_count = count;
	for (size_t i = 0; i < count; i++) {
		read_slice_cpu(reader, slice->event_count, &slice->cpus[i]);
		if (i > 0 && slice_cpu_compare(&slice->cpus[i - 1], &slice->cpus[i]) >= 0)
			reader->failed = true;
	}
	return 0;
}

int
slice_decode(uint32_t id, const void *data, size_t size, struct slice *slice)
{
	struct byte_reader reader;
	uint64_t duration;
	unsigned format;
	int err;

	memset(slice, 0, sizeof(*slice));
	reader_init(&reader, data, size);
	format = read_format_until(&reader, FORMAT_2);
	slice->id = id;
	slice->epoch = read_varint_u32(&reader);
	slice->start_ns = read_varint(&reader);
	duration = read_varint(&reader);
	if (duration > UINT64_MAX - slice->start_ns)
		return -DCPI_EDAMAGED;
	slice->end_ns = slice->start_ns + duration;
	slice->daemon_cpu_ns = read_varint(&reader);
	slice->sideband_lost = read_varint(&reader);
	slice->skipped = read_varint(&reader);
	slice->event_count = read_varint_below(&reader, EVENTS_MAX + 1);
	for (size_t i = 0; i < slice->event_count; i++)
		read_slice_event(&reader, format, &slice->events[i]);
	err = read_slice_cpus(&reader, slice);
	if (!err && !reader_done(&reader))
		err = -DCPI_EDAMAGED;
	if (err)
		slice_fini(slice);
	return err;
}

/* ---- in the store ---- */

int
epoch_walk_next(struct store_walk *walk, struct epoch *epoch)
{
	uint32_t id;
	int result, err;

	while ((result = store_walk_next(walk)) > 0) {
		err = store_key_number(&walk->key, &id);
		if (!err)
			err = epoch_decode(id, walk->value.mv_data, walk->value.mv_size, epoch);
		if (err)
			return err;
		if (!epoch->is_incoming)
			return 1;
	}
	return result;
}

int
epoch_read(const struct store *store, MDB_txn *txn, uint32_t id, struct epoch *epoch)
{
	MDB_val value;
	int err = store_get(store, txn, TABLE_EPOCHS, id, &value);

	return err ? err : epoch_decode(id, value.mv_data, value.mv_size, epoch);
}

int
epoch_write(const struct store *store, MDB_txn *txn, const struct epoch *epoch)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	epoch_encode(epoch, &writer);
	err = store_put(store, txn, TABLE_EPOCHS, epoch->id, &writer);
	writer_fini(&writer);
	return err;
}

int
slice_list_read(const struct store *store, MDB_txn *txn, struct slice_list *list)
{
	struct slice_entry *added;
	struct store_walk walk;
	struct slice slice;
	uint32_t id;
	int result;

	memset(list, 0, sizeof(*list));
	store_walk_begin(store, txn, TABLE_SLICES, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		result = store_key_number(&walk.key, &id);
		if (!result)
			result = slice_decode(id, walk.value.mv_data, walk.value.mv_size, &slice);
		if (result)
			break;
		slice_fini(&slice);
		added = ARRAY_APPEND(list->slices, list->count, list->capacity);
		if (!added) {
			result = -ENOMEM;
			break;
		}
		*added = (struct slice_entry){id, slice.epoch, slice.start_ns, slice.end_ns};
	}
	store_walk_end(&walk);
	return result;
}

void
slice_list_fini(struct slice_list *list)
{
	free(list->slices);
}

int
epoch_marks_read(const struct store *store, MDB_txn *txn, struct slice_list *list, struct epoch_marks *marks)
{
	struct epoch_marks found = {0};
	struct store_walk walk;
	uint32_t id;
	int result;

	store_walk_begin(store, txn, TABLE_EPOCHS, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		const uint64_t flags = value_flags(walk.value.mv_data, walk.value.mv_size);
		const bool is_incoming = flags & EPOCH_FLAG_INCOMING;
		const bool is_kept = !is_incoming && flags & EPOCH_FLAG_KEPT;

		/* A damaged key is skipped: retention goes on, and dcpictl check reports it. */
		if ((!is_kept && !is_incoming) || store_key_number(&walk.key, &id) != 0)
			continue;
		found.kept += is_kept;
		found.incoming += is_incoming;
		for (size_t i = 0; list && i < list->count; i++) {
			if (list->slices[i].epoch != id)
				continue;
			list->slices[i].is_kept = is_kept;
			list->slices[i].is_incoming = is_incoming;
		}
	}
	store_walk_end(&walk);
	if (marks)
		*marks = found;
	return result;
}

int
slice_read(const struct store *store, MDB_txn *txn, uint32_t id, struct slice *slice)
{
	MDB_val value;
	int err = store_get(store, txn, TABLE_SLICES, id, &value);

	return err ? err : slice_decode(id, value.mv_data, value.mv_size, slice);
}

int
slice_write(const struct store *store, MDB_txn *txn, const struct slice *slice)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	int err;

	slice_encode(slice, &writer);
	err = store_put(store, txn, TABLE_SLICES, slice->id, &writer);
	writer_fini(&writer);
	return err;
}

void
slice_subtract(struct slice *slice, const uint64_t taken[EVENTS_MAX])
{
	for (size_t i = 0; i < slice->event_count; i++) {
		uint64_t *samples = &slice->events[i].samples;

		*samples -= taken[i] < *samples ? taken[i] : *samples;
	}
}

/* Slices of an epoch are merged: one of them has the rows of its memory profile. */
static int
move_memory_row(const struct store *store, MDB_txn *txn, const MDB_val *key, const MDB_val *value, void *to)
{
	uint8_t data[4 + PROFILE_MEMORY_KEY_SIZE];
	MDB_val name = {sizeof(data), data}, moved = *value;

	if (key->mv_size != sizeof(data))
		return -DCPI_EDAMAGED;
	memcpy(data, key->mv_data, sizeof(data));
	put_be(data, *(const uint32_t *)to, 4);
	return store_error(mdb_put(txn, store->tables[TABLE_MEMORY], &name, &moved, 0));
}

int64_t
slice_take_blocks(struct profile *profile, MDB_txn *txn, uint32_t from, uint32_t to, size_t max,
                  uint64_t taken[EVENTS_MAX])
{
	int64_t more, count = counts_take(profile, txn, from, to, max, taken);

	if (count < 0)
		return count;
	more = edges_take(&profile->store, txn, from, to, max - (size_t)count);
	if (more < 0)
		return more;
	count += more;
	more = label_times_take(&profile->store, txn, from, to, max - (size_t)count);
	if (more < 0)
		return more;
	count += more;
	more = store_take(&profile->store, txn, TABLE_MEMORY, from, max - (size_t)count, to ? move_memory_row : NULL,
	                  &to);
	return more < 0 ? more : count + more;
}

/* ---- the machine that an epoch is of ---- */

#define CPUINFO_SIZE 16384 /* bytes: the first processor's part is what is looked for */

/* The beginning of file `directory`/`name` in `text`, "" when it cannot be read. */
static void
read_beginning(const char *directory, const char *name, char *text, size_t size)
{
	char path[256];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = TEMP_FAILURE_RETRY(read(fd, text, size - 1));
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
}

/* The value of the first "key : value" line whose key is `key`; false when there is none. */
static bool
find_value(const char *cpuinfo, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = cpuinfo; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length + strspn(line + length, " \t")] == ':') {
			const char *start = strchr(line, ':') + 1;

			start += strspn(start, " \t");
			snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
			return true;
		}
	}
	return false;
}

static bool
has_flag(const char *cpuinfo, const char *flag)
{
	size_t length = strlen(flag);
	char *flags = malloc(CPUINFO_SIZE);
	bool found = false;

	if (flags && find_value(cpuinfo, "flags", flags, CPUINFO_SIZE))
		for (const char *at = flags; !found && *at; at += strcspn(at, " "), at += *at == ' ')
			found = strcspn(at, " ") == length && strncmp(at, flag, length) == 0;
	free(flags);
	return found;
}

/*
 * Add vendor, family and model of an x86: a hypervisor may shorten its name to "AMD EPYC", which does not
 * identify its pipeline. It may also give the numbers of another model; AMX shows Golden Cove or a later one.
 */
static void
append_family(const char *cpuinfo, char *name, size_t size)
{
	char vendor[16], family[8], model[8];
	size_t length = strlen(name);

	if (find_value(cpuinfo, "vendor_id", vendor, sizeof(vendor)) &&
	    find_value(cpuinfo, "cpu family", family, sizeof(family)) &&
	    find_value(cpuinfo, "model", model, sizeof(model)))
		snprintf(name + length, size - length, " (%s family %s model %s%s)", vendor, family, model,
		         has_flag(cpuinfo, "amx_tile") ? " with amx_tile" : "");
}

void
epoch_host_cpu_model(const char *cpuinfo, char *model, size_t size)
{
	static const char *const keys[] = {"model name", "cpu model", "cpu", "uarch"}; /* x86, MIPS, POWER, RISC-V */
	char implementer[32], part[32];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (find_value(cpuinfo, keys[i], model, size) && *model) {
			append_family(cpuinfo, model, size);
			return;
		}
	}
	if (find_value(cpuinfo, "CPU implementer", implementer, sizeof(implementer)) &&
	    find_value(cpuinfo, "CPU part", part, sizeof(part)))
		snprintf(model, size, "ARM implementer %s, part %s", implementer, part);
	else
		*model = '\0';
}

void
epoch_host_describe(const char *procfs, struct epoch *epoch)
{
	struct utsname name;
	char *cpuinfo = malloc(CPUINFO_SIZE);

	if (uname(&name) == 0) {
		snprintf(epoch->host, sizeof(epoch->host), "%s", name.nodename);
		snprintf(epoch->kernel, sizeof(epoch->kernel), "%s %s %s", name.release, name.version, name.machine);
	}
	if (cpuinfo) {
		read_beginning(procfs, "cpuinfo", cpuinfo, CPUINFO_SIZE);
		epoch_host_cpu_model(cpuinfo, epoch->cpu, sizeof(epoch->cpu));
	}
	free(cpuinfo);
	if (!*epoch->cpu)
		read_beginning(procfs, "device-tree/model", epoch->cpu, sizeof(epoch->cpu));
}
