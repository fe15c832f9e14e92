#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "stream/perf_data_internal.h"

/* perf's PERF_RECORD_MISC_BUILD_ID_SIZE: the size stands behind the bytes. */
#define MISC_BUILD_ID_SIZE (1U << 15)

/* perf's enum perf_event_update_type */
#define UPDATE_NAME 2

/* A length, that many bytes, a NUL among them. NULL and failed when it is not so. */
static const char *
read_text(const struct perf_data *data, struct byte_reader *reader, size_t *size)
{
	const char *text;

	*size = perf_read_u32(data, reader);
	text = (const char *)read_bytes(reader, *size);
	if (text && memchr(text, '\0', *size))
		return text;
	reader->failed = true;
	return NULL;
}

static int
take_text(const struct perf_data *data, struct byte_reader *reader, char **text)
{
	size_t size;
	const char *found = read_text(data, reader, &size);
	char *copy;

	if (!found)
		return -DCPI_EDAMAGED;
	copy = strdup(found);
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

/* Name an event that its attribute announced: it is found by its counters' ids, or else by its position. */
static int
take_description(struct perf_data *data, struct byte_reader *reader, uint32_t attr_size, uint32_t place)
{
	const char *name;
	uint32_t count, event = place;
	size_t size;

	read_bytes(reader, attr_size);
	count = perf_read_u32(data, reader);
	name = read_text(data, reader, &size);
	if (!name)
		return -DCPI_EDAMAGED;
	for (uint32_t i = 0; i < count && !reader->failed; i++) {
		uint64_t id = perf_read_u64(data, reader);

		if (i == 0)
			perf_data_find_id(data, id, &event);
	}
	if (reader->failed)
		return -DCPI_EDAMAGED;
	return perf_data_name_event(data, event, name, size);
}

static int
take_descriptions(struct perf_data *data, struct byte_reader *reader)
{
	uint32_t count = perf_read_u32(data, reader), attr_size = perf_read_u32(data, reader);
	int err = 0;

	if (reader->failed || count > PERF_DATA_EVENTS_MAX)
		return -DCPI_EDAMAGED;
	for (uint32_t i = 0; i < count && !err; i++)
		err = take_description(data, reader, attr_size, i);
	return err;
}

static int
perf_data_take_build_id(struct perf_data *data, uint16_t misc, struct byte_reader *reader)
{
	struct perf_data_build_id *entries, *added;
	uint32_t pid = perf_read_u32(data, reader);
	const uint8_t *bytes = read_bytes(reader, BUILD_ID_SIZE_MAX + 4);
	const char *path = (const char *)reader->at;

	if (!bytes || !memchr(path, '\0', reader_left(reader)))
		return -DCPI_EDAMAGED;
	entries = array_grow(data->build_ids, &data->build_id_capacity, data->build_id_count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	data->build_ids = entries;
	added = &entries[data->build_id_count];
	added->pid = pid;
	added->mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	added->build_id_size = BUILD_ID_SIZE_MAX;
	if (misc & MISC_BUILD_ID_SIZE && bytes[BUILD_ID_SIZE_MAX] <= BUILD_ID_SIZE_MAX)
		added->build_id_size = bytes[BUILD_ID_SIZE_MAX];
	memcpy(added->build_id, bytes, BUILD_ID_SIZE_MAX);
	added->path = strdup(path);
	if (!added->path)
		return -ENOMEM;
	data->build_id_count++;
	return 0;
}

/* Records of build-ids, one behind the other. */
static int
take_build_ids(struct perf_data *data, struct byte_reader *reader)
{
	while (reader_left(reader) > 0) {
		struct perf_event_header header;
		struct byte_reader body;
		const uint8_t *bytes;
		int err;

		read_native(reader, &header, sizeof(header));
		if (data->is_swapped)
			record_swap_header(&header);
		if (header.size < sizeof(header))
			return -DCPI_EDAMAGED;
		bytes = read_bytes(reader, header.size - sizeof(header));
		if (!bytes)
			return -DCPI_EDAMAGED;
		reader_init(&body, bytes, header.size - sizeof(header));
		err = perf_data_take_build_id(data, header.misc, &body);
		if (err)
			return err;
	}
	return 0;
}

int
perf_data_take_feature(struct perf_data *data, unsigned feature, struct byte_reader *reader)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
		return take_build_ids(data, reader);
	case FEATURE_HOST:
		return take_text(data, reader, &data->machine.host);
	case FEATURE_RELEASE:
		return take_text(data, reader, &data->machine.release);
	case FEATURE_ARCHITECTURE:
		return take_text(data, reader, &data->machine.architecture);
	case FEATURE_CPU:
		return take_text(data, reader, &data->machine.cpu);
	case FEATURE_CPU_ID:
		return take_text(data, reader, &data->machine.cpu_id);
	case FEATURE_CPU_COUNT:
		perf_read_u32(data, reader); /* that there could be */
		data->machine.cpu_count = perf_read_u32(data, reader);
		return reader->failed ? -DCPI_EDAMAGED : 0;
	case FEATURE_TIMES:
		data->machine.first_ns = perf_read_u64(data, reader);
		data->machine.last_ns = perf_read_u64(data, reader);
		return reader->failed ? -DCPI_EDAMAGED : 0;
	case FEATURE_EVENTS:
		return take_descriptions(data, reader);
	default:
		return 0;
	}
}

void
perf_data_free_features(struct perf_data *data)
{
	for (size_t i = 0; i < data->build_id_count; i++)
		free(data->build_ids[i].path);
	free(data->build_ids);
	free(data->machine.host);
	free(data->machine.release);
	free(data->machine.architecture);
	free(data->machine.cpu);
	free(data->machine.cpu_id);
}

/* The attribute tells its own size, and ids of counters fill the rest. */
static int
take_attr(struct perf_data *data, struct byte_reader *body)
{
	struct byte_reader head = *body;
	uint32_t size, event;
	int err;

	perf_read_u32(data, &head);
	size = perf_read_u32(data, &head);
	err = perf_data_add_event(data, body, size ? size : PERF_ATTR_SIZE_VER0, &event);
	return err ? err : perf_data_add_ids(data, body, reader_left(body) / sizeof(uint64_t), event);
}

/* What perf called an event before 3.18, known by its configuration alone. */
static int
take_event_type(struct perf_data *data, struct byte_reader *body)
{
	uint64_t config = perf_read_u64(data, body);
	int err = 0;

	if (body->failed)
		return -DCPI_EDAMAGED;
	for (uint32_t i = 0; i < data->event_count && !err; i++)
		if (data->events[i].attr.config == config && !data->events[i].name)
			err = perf_data_name_event(data, i, (const char *)body->at, reader_left(body));
	return err;
}

static int
take_update(struct perf_data *data, struct byte_reader *body)
{
	uint64_t kind = perf_read_u64(data, body), id = perf_read_u64(data, body);
	uint32_t event;

	if (body->failed)
		return -DCPI_EDAMAGED;
	if (kind != UPDATE_NAME || !perf_data_find_id(data, id, &event))
		return 0;
	return perf_data_name_event(data, event, (const char *)body->at, reader_left(body));
}

int
perf_data_take_tool_record(struct perf_data *data, const struct perf_event_header *header, struct byte_reader *body,
                           uint64_t *payload)
{
	switch (header->type) {
	case TOOL_ATTR:
		return data->is_pipe ? take_attr(data, body) : 0;
	case TOOL_EVENT_TYPE:
		return take_event_type(data, body);
	case TOOL_EVENT_UPDATE:
		return take_update(data, body);
	case TOOL_BUILD_ID:
		return perf_data_take_build_id(data, header->misc, body);
	case TOOL_FEATURE: {
		uint64_t feature = perf_read_u64(data, body);

		return feature < FEATURE_COUNT ? perf_data_take_feature(data, (unsigned)feature, body) : 0;
	}
	case TOOL_TRACING_DATA:
		*payload = perf_read_u32(data, body);
		break;
	case TOOL_AUXTRACE:
		*payload = perf_read_u64(data, body);
		break;
	default:
		break;
	}
	return body->failed ? -DCPI_EDAMAGED : 0;
}
