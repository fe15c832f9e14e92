#include "stream/perf_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stream/perf_data_parts.h"
#include "stream/perf_swap.h"

/* The kernel's own record types end here. */
#define FIRST_TOOL_TYPE 64

int
perf_data_open(int fd, struct perf_data **data, struct perf_data_fault *fault)
{
	int err;

	memset(fault, 0, sizeof(*fault));
	*data = calloc(1, sizeof(**data));
	if (!*data)
		return -ENOMEM;
	err = perf_data_read_header(*data, fd);
	if (!err)
		return 0;
	*fault = (*data)->fault;
	perf_data_free(*data);
	*data = NULL;
	return err;
}

void
perf_data_free(struct perf_data *data)
{
	if (!data)
		return;
	byte_source_fini(&data->source);
	perf_unpack_free(data->unpack);
	perf_data_free_events(data);
	perf_data_free_features(data);
	free(data);
}

static void
load_header(const struct perf_data *data, const uint8_t *bytes, struct perf_event_header *header)
{
	memcpy(header, bytes, sizeof(*header));
	if (data->is_swapped)
		perf_swap_header(header);
}

static int
damaged_here(struct perf_data *data, const char *text)
{
	return perf_data_damaged(data, data->source.offset, text);
}

/* The next record that was compressed: 1, or 0 when no more waits whole. */
static int
next_unpacked(struct perf_data *data, struct perf_event_header *header, const uint8_t **bytes)
{
	uint8_t *unpacked;
	size_t waiting;
	int err;

	if (!data->unpack)
		return 0;
	err = perf_unpack_need(data->unpack, sizeof(*header), &unpacked, &waiting);
	if (!err && waiting >= sizeof(*header)) {
		load_header(data, unpacked, header);
		if (header->size < sizeof(*header))
			return damaged_here(data, "a compressed record is smaller than its own header");
		err = perf_unpack_need(data->unpack, header->size, &unpacked, &waiting);
	}
	if (err)
		return damaged_here(data, "the compressed records cannot be unpacked");
	if (waiting < sizeof(*header) || waiting < header->size)
		return 0;
	perf_unpack_skip(data->unpack, header->size);
	*bytes = unpacked;
	return 1;
}

/* The end of the data: was it where it should be? */
static int
end_of_data(struct perf_data *data)
{
	uint8_t *unpacked;
	size_t waiting = 0;

	if (byte_source_waiting(&data->source) > 0)
		return damaged_here(data, "the recording ends inside a record");
	if (data->source.end_offset != UINT64_MAX && data->source.offset != data->source.end_offset)
		return damaged_here(data, "the recording ends too early");
	if (data->unpack && (perf_unpack_need(data->unpack, 1, &unpacked, &waiting) || waiting > 0))
		return damaged_here(data, "the recording ends inside a compressed record");
	if (!data->late_fault.text)
		return 0;
	data->fault = data->late_fault;
	return -DCPI_EDAMAGED;
}

/* The next record as it lies in the file: 1, or 0 at its end. */
static int
next_written(struct perf_data *data, struct perf_event_header *header, const uint8_t **bytes)
{
	int err;

	err = byte_source_skip(&data->source, data->consumed);
	if (!err)
		err = byte_source_skip(&data->source, data->payload);
	data->consumed = data->payload = 0;
	if (err == -ENODATA)
		return damaged_here(data, "the recording ends inside what follows a record");
	if (!err)
		err = byte_source_need(&data->source, sizeof(*header), bytes);
	if (err)
		return err == -ENODATA ? end_of_data(data) : err;
	load_header(data, *bytes, header);
	if (header->size < sizeof(*header))
		return damaged_here(data, "a record is smaller than its own header");
	err = byte_source_need(&data->source, header->size, bytes);
	if (err)
		return err == -ENODATA ? end_of_data(data) : err;
	data->consumed = header->size;
	return 1;
}

static int
put_packed(struct perf_data *data, const uint8_t *body, size_t size)
{
	if (!data->unpack)
		data->unpack = perf_unpack_new();
	if (!data->unpack)
		return -ENOMEM;
	perf_unpack_put(data->unpack, body, size);
	return 0;
}

/* A record that perf itself wrote. 0: it was taken. */
static int
take_tool_record(struct perf_data *data, const struct perf_event_header *header, const uint8_t *bytes)
{
	const uint8_t *body = bytes + sizeof(*header);
	size_t size = header->size - sizeof(*header);
	struct byte_reader reader;
	uint64_t payload = 0;
	int err;

	if (header->type == TOOL_COMPRESSED)
		return put_packed(data, body, size);
	reader_init(&reader, body, size);
	err = perf_data_take_tool_record(data, header, &reader, &payload);
	data->payload = payload;
	return err == -DCPI_EDAMAGED ? damaged_here(data, "a description among the records is damaged") : err;
}

/* A record of the kernel's, or the end of a round. */
static int
decode(struct perf_data *data, const struct perf_event_header *header, const uint8_t *bytes, struct record *record,
       uint32_t *event)
{
	static const struct record_layout none;
	const struct record_layout *layout = &none;
	size_t consumed, body_size = header->size - sizeof(*header);

	if (perf_data_find_event(data, header->type, bytes + sizeof(*header), body_size, event))
		layout = &data->events[*event == PERF_DATA_NO_EVENT ? 0 : *event].layout;
	else if (header->type == PERF_RECORD_SAMPLE)
		return damaged_here(data, "a sample comes before any event was described");
	if (data->is_swapped) {
		memcpy(data->scratch, bytes, header->size);
		perf_swap_record(layout, header, data->scratch);
		bytes = data->scratch;
	}
	if (record_decode(layout, bytes, header->size, record, &consumed) < 0)
		return damaged_here(data, "a record contradicts its own size");
	return 1;
}

static int
read_next(struct perf_data *data, struct record *record, uint32_t *event)
{
	struct perf_event_header header = {0};
	const uint8_t *bytes = data->scratch;
	int result;

	for (;;) {
		bool is_unpacked;

		result = next_unpacked(data, &header, &bytes);
		is_unpacked = result > 0;
		if (result == 0)
			result = next_written(data, &header, &bytes);
		if (result <= 0)
			return result;
		if (header.type < FIRST_TOOL_TYPE || header.type == TOOL_ROUND)
			return decode(data, &header, bytes, record, event);
		if (is_unpacked)
			return damaged_here(data, "a compressed record holds what the kernel does not write");
		result = take_tool_record(data, &header, bytes);
		if (result)
			return result;
	}
}

int
perf_data_next(struct perf_data *data, struct record *record, uint32_t *event)
{
	int result;

	if (data->ended)
		return data->ended > 0 ? 0 : data->ended;
	result = read_next(data, record, event);
	if (result <= 0)
		data->ended = result < 0 ? result : 1;
	return result;
}

struct perf_data_fault
perf_data_fault(const struct perf_data *data)
{
	return data->fault;
}

uint64_t
perf_data_offset(const struct perf_data *data)
{
	return data->source.offset;
}

const struct perf_data_event *
perf_data_events(const struct perf_data *data, size_t *count)
{
	*count = data->event_count;
	return data->events;
}

const struct perf_data_build_id *
perf_data_build_ids(const struct perf_data *data, size_t *count)
{
	*count = data->build_id_count;
	return data->build_ids;
}

const struct perf_data_machine *
perf_data_machine(const struct perf_data *data)
{
	return &data->machine;
}
