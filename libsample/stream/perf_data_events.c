#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "stream/perf_data_parts.h"
#include "stream/perf_swap.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define WORD 8 /* bytes */

struct perf_id {
	uint64_t id;
	uint32_t event;
	UT_hash_handle hh;
};

uint32_t
perf_read_u32(const struct perf_data *data, struct byte_reader *reader)
{
	uint32_t value = read_u32_native(reader);

	return data->is_swapped ? __builtin_bswap32(value) : value;
}

uint64_t
perf_read_u64(const struct perf_data *data, struct byte_reader *reader)
{
	uint64_t value = read_u64_native(reader);

	return data->is_swapped ? __builtin_bswap64(value) : value;
}

int
perf_data_add_event(struct perf_data *data, struct byte_reader *reader, size_t size, uint32_t *event)
{
	const uint8_t *bytes = read_bytes(reader, size);
	struct perf_data_event *events, *added;

	if (!bytes || size < PERF_ATTR_SIZE_VER0 || data->event_count == PERF_DATA_EVENTS_MAX)
		return -DCPI_EDAMAGED;
	events = array_grow(data->events, &data->event_capacity, data->event_count + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	data->events = events;
	added = &events[data->event_count];
	memset(added, 0, sizeof(*added));
	memcpy(&added->attr, bytes, size < sizeof(added->attr) ? size : sizeof(added->attr));
	if (data->is_swapped)
		perf_swap_attr(&added->attr);
	added->layout.sample_type = added->attr.sample_type;
	added->layout.sample_id_all = added->attr.sample_id_all;
	added->layout.read_format = added->attr.read_format;
	added->layout.branch_sample_type = added->attr.branch_sample_type;
	added->layout.no_build_ids = !added->attr.build_id;
	*event = (uint32_t)data->event_count++;
	return 0;
}

static int
add_id(struct perf_data *data, uint64_t id, uint32_t event)
{
	struct perf_id *entry;

	HASH_FIND(hh, data->ids, &id, sizeof(id), entry);
	if (entry)
		return 0;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->id = id;
	entry->event = event;
	HASH_ADD(hh, data->ids, id, sizeof(entry->id), entry);
	if (entry->hh.tbl)
		return 0;
	free(entry);
	return -ENOMEM;
}

int
perf_data_add_ids(struct perf_data *data, struct byte_reader *reader, uint64_t count, uint32_t event)
{
	int err = 0;

	if (count > reader_left(reader) / WORD)
		return -DCPI_EDAMAGED;
	for (uint64_t i = 0; i < count && !err; i++)
		err = add_id(data, perf_read_u64(data, reader), event);
	return err;
}

int
perf_data_name_event(struct perf_data *data, uint32_t event, const char *name, size_t size)
{
	char *copy;

	if (event >= data->event_count || strnlen(name, size) == 0)
		return 0;
	copy = strndup(name, size);
	if (!copy)
		return -ENOMEM;
	free(data->events[event].name);
	data->events[event].name = copy;
	return 0;
}

void
perf_data_free_events(struct perf_data *data)
{
	struct perf_id *entry = data->ids, *next;

	HASH_CLEAR(hh, data->ids);
	for (; entry; entry = next) {
		next = entry->hh.next;
		free(entry);
	}
	for (size_t i = 0; i < data->event_count; i++)
		free(data->events[i].name);
	free(data->events);
}

bool
perf_data_find_id(struct perf_data *data, uint64_t id, uint32_t *event)
{
	struct perf_id **recent = &data->recent[id % PERF_DATA_RECENT], *entry = *recent;

	if (!entry || entry->id != id)
		HASH_FIND(hh, data->ids, &id, sizeof(id), entry);
	if (!entry)
		return false;
	*recent = entry;
	*event = entry->event;
	return true;
}

/* Where the id lies in a sample: from its start. SIZE_MAX: nowhere. */
static size_t
id_in_sample(uint64_t fields)
{
	if (fields & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(fields & PERF_SAMPLE_ID))
		return SIZE_MAX;
	fields &= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	return (size_t)__builtin_popcountll(fields) * WORD;
}

/* And in every other record: how far before its end it begins. 0: nowhere. */
static size_t
id_before_end(const struct record_layout *layout)
{
	uint64_t fields = layout->sample_type;

	if (!layout->sample_id_all)
		return 0;
	if (fields & PERF_SAMPLE_IDENTIFIER)
		return WORD;
	if (!(fields & PERF_SAMPLE_ID))
		return 0;
	fields &= PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
	return (size_t)__builtin_popcountll(fields) * WORD;
}

/* perf sees to it that the id lies at the same place whatever the event is. */
bool
perf_data_find_event(struct perf_data *data, uint32_t type, const uint8_t *body, size_t size, uint32_t *event)
{
	const struct record_layout *layout;
	struct byte_reader reader;
	uint64_t id;
	size_t at;

	if (data->event_count == 0)
		return false;
	*event = 0;
	if (data->event_count == 1)
		return true;
	layout = &data->events[0].layout;
	if (type == PERF_RECORD_SAMPLE)
		at = id_in_sample(layout->sample_type);
	else
		at = size - (id_before_end(layout) <= size ? id_before_end(layout) : 0);
	if (at == SIZE_MAX || at + WORD > size)
		return true;
	reader_init(&reader, body + at, WORD);
	id = perf_read_u64(data, &reader);
	if (id && !perf_data_find_id(data, id, event))
		*event = PERF_DATA_NO_EVENT;
	return true;
}
