#include "profile/epoch.h"

#include <string.h>

#include "base/error.h"
#include "profile/codec.h"

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
epoch_value_is_kept(const void *data, size_t size)
{
	return value_flags(data, size) & EPOCH_FLAG_KEPT;
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
	/* A clock that was set back must not make a value that cannot be read. */
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
