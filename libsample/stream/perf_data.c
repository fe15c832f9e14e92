#include "stream/perf_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cpu_list.h"
#include "base/error.h"
#include "base/file.h"
#include "stream/byte_source.h"
#include "stream/perf_unpack.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define WORD             8 /* bytes */
#define MAGIC_SIZE       8
#define PIPE_HEADER_SIZE 16
#define FILE_HEADER_SIZE 104
#define SECTION_SIZE     16 /* offset and size */
#define WORD_BITS        64
#define DATA_SECTION_AT  40 /* of the header */
#define FIRST_TOOL_TYPE  64 /* the kernel's own record types end here */

/* Limits far above what perf writes. */
#define PERF_DATA_EVENTS_MAX    65536
#define PERF_DATA_SECTION_MAX   ((uint64_t)64 << 20) /* bytes of an optional part */
#define PERF_DATA_ATTR_SIZE_MAX 4096

/* perf's PERF_RECORD_MISC_BUILD_ID_SIZE: the size stands behind the bytes. */
#define MISC_BUILD_ID_SIZE (1U << 15)

/* perf's enum perf_event_update_type */
#define UPDATE_NAME 2

/* Formats: tools/perf/Documentation/perf.data-file-format.txt of linux. */
enum tool_record {
	TOOL_ATTR = 64,
	TOOL_EVENT_TYPE = 65,
	TOOL_TRACING_DATA = 66,
	TOOL_BUILD_ID = 67,
	TOOL_ROUND = PERF_DATA_ROUND,
	TOOL_AUXTRACE_INFO = 70,
	TOOL_AUXTRACE = 71,
	TOOL_EVENT_UPDATE = 78,
	TOOL_TIME_CONV = 79,
	TOOL_FEATURE = 80,
	TOOL_COMPRESSED = 81,
};

enum perf_feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOST = 3,
	FEATURE_RELEASE = 4,
	FEATURE_ARCHITECTURE = 6,
	FEATURE_CPU_COUNT = 7,
	FEATURE_CPU = 8,
	FEATURE_CPU_ID = 9,
	FEATURE_EVENTS = 12,
	FEATURE_NODES = 14,
	FEATURE_TIMES = 21,
	FEATURE_COUNT = 256,
};

/* Which event the counter with this id counts. */
struct perf_id {
	uint64_t id;
	uint32_t event;
	UT_hash_handle hh;
};

#define PERF_DATA_RECENT 64 /* a power of 2: ids of counters follow one another */

struct perf_data {
	struct byte_source source;
	bool is_pipe, is_swapped;
	struct perf_data_event *events;
	size_t event_count, event_capacity;
	struct perf_id *ids;
	struct perf_id *recent[PERF_DATA_RECENT]; /* those that were looked for last, by their lowest bits */
	uint64_t id_bytes;                        /* bytes of ids read so far; overlapping sections count twice */
	struct perf_data_build_id *build_ids;
	size_t build_id_count, build_id_capacity;
	struct perf_data_machine machine;
	struct perf_data_auxtrace auxtrace;
	struct counter_time counter_time;
	struct perf_unpack *unpack; /* NULL until something was compressed */
	uint64_t consumed;          /* of the record that was given last: it goes with the next call */
	uint64_t payload;           /* of it: bytes that follow the record */
	struct perf_data_fault fault;
	struct perf_data_fault late_fault; /* damage found behind the records; reported after the last record */
	int ended;                         /* 1: it did; else the error that every call gives */
	_Alignas(8) uint8_t scratch[RECORD_SIZE_MAX + 1];
};

/* Numbers of the file's byte order. */
static uint32_t
get_u32(const struct perf_data *data, struct byte_reader *reader)
{
	uint32_t value = read_u32_native(reader);

	return data->is_swapped ? __builtin_bswap32(value) : value;
}

static uint64_t
get_u64(const struct perf_data *data, struct byte_reader *reader)
{
	uint64_t value = read_u64_native(reader);

	return data->is_swapped ? __builtin_bswap64(value) : value;
}

/* An attribute of `size` bytes. 0 with the new event's index, -ENOMEM or -DCPI_EDAMAGED (without a fault). */
static int
add_event(struct perf_data *data, struct byte_reader *reader, size_t size, uint32_t *event)
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
		record_swap_attr(&added->attr);
	added->layout.sample_type = added->attr.sample_type;
	added->layout.sample_id_all = added->attr.sample_id_all;
	added->layout.read_format = added->attr.read_format;
	added->layout.branch_sample_type = added->attr.branch_sample_type;
	/* of the other byte order, registers and the copy of the stack are not usable */
	added->layout.sample_regs_user = data->is_swapped ? 0 : added->attr.sample_regs_user;
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

static int
add_ids(struct perf_data *data, struct byte_reader *reader, uint64_t count, uint32_t event)
{
	int err = 0;

	if (count > reader_left(reader) / WORD)
		return -DCPI_EDAMAGED;
	for (uint64_t i = 0; i < count && !err; i++)
		err = add_id(data, get_u64(data, reader), event);
	return err;
}

static int
name_event(struct perf_data *data, uint32_t event, const char *name, size_t size)
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

static void
free_events(struct perf_data *data)
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

/* The event of a counter; false: it is not known. */
static bool
find_id(struct perf_data *data, uint64_t id, uint32_t *event)
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

/* Where the id is in records that are not samples: bytes before the record's end. 0: there is none. */
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

/* perf makes the samples of all events have the id at one place, so that it is found before the event is known. */
static bool
find_event(struct perf_data *data, uint32_t type, const uint8_t *body, size_t size, uint32_t *event)
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
	id = get_u64(data, &reader);
	if (id && !find_id(data, id, event))
		*event = PERF_DATA_NO_EVENT;
	return true;
}

/* ---- descriptions: what a feature, or a record of perf itself, holds ---- */

/* A length, that many bytes, a NUL among them. NULL and failed when it is not so. */
static const char *
read_text(const struct perf_data *data, struct byte_reader *reader, size_t *size)
{
	const char *text;

	*size = get_u32(data, reader);
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
	count = get_u32(data, reader);
	name = read_text(data, reader, &size);
	if (!name)
		return -DCPI_EDAMAGED;
	for (uint32_t i = 0; i < count && !reader->failed; i++) {
		uint64_t id = get_u64(data, reader);

		if (i == 0)
			find_id(data, id, &event);
	}
	if (reader->failed)
		return -DCPI_EDAMAGED;
	return name_event(data, event, name, size);
}

static int
take_descriptions(struct perf_data *data, struct byte_reader *reader)
{
	uint32_t count = get_u32(data, reader), attr_size = get_u32(data, reader);
	int err = 0;

	if (reader->failed || count > PERF_DATA_EVENTS_MAX)
		return -DCPI_EDAMAGED;
	for (uint32_t i = 0; i < count && !err; i++)
		err = take_description(data, reader, attr_size, i);
	return err;
}

static int
take_build_id(struct perf_data *data, uint16_t misc, struct byte_reader *reader)
{
	struct perf_data_build_id *entries, *added;
	uint32_t pid = get_u32(data, reader);
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
		err = take_build_id(data, header.misc, &body);
		if (err)
			return err;
	}
	return 0;
}

/* Note the node of the CPUs in `list`, "0-3,8"; of a node with memory alone it is empty. 0 or -ENOMEM. */
static int
add_node(struct perf_data_machine *machine, const char *list)
{
	uint8_t *nodes = machine->cpu_nodes;
	uint32_t *cpus, needed = 0;
	const int count = cpu_list_parse(list, &cpus);

	if (count < 1)
		return count == -ENOMEM ? count : 0;
	for (int i = 0; i < count; i++)
		needed = cpus[i] >= needed ? cpus[i] + 1 : needed; /* at most CPU_NUMBER_MAX + 1 */
	if (!nodes || needed > machine->cpu_node_count) {
		nodes = realloc(nodes, needed);
		if (!nodes) {
			free(cpus);
			return -ENOMEM;
		}
		memset(nodes + machine->cpu_node_count, PERF_DATA_NO_NODE, needed - machine->cpu_node_count);
		machine->cpu_nodes = nodes;
		machine->cpu_node_count = needed;
	}
	for (int i = 0; i < count; i++)
		nodes[cpus[i]] = (uint8_t)machine->node_count;
	if (!machine->node_cpu_count)
		machine->node_cpu_count = (uint32_t)count;
	free(cpus);
	return 0;
}

/* The feature lists the nodes: the number of each, the sizes of its memory, and its CPUs. */
static int
take_nodes(struct perf_data *data, struct byte_reader *reader)
{
	struct perf_data_machine *machine = &data->machine;
	const uint32_t count = get_u32(data, reader);

	free(machine->cpu_nodes);
	machine->cpu_nodes = NULL;
	machine->node_count = machine->node_cpu_count = machine->cpu_node_count = 0;
	for (uint32_t i = 0; i < count && i < PERF_DATA_NODES; i++) {
		const char *list;
		size_t size;
		int err;

		get_u32(data, reader);
		get_u64(data, reader);
		get_u64(data, reader);
		list = read_text(data, reader, &size);
		if (!list)
			return -DCPI_EDAMAGED;
		err = add_node(machine, list);
		if (err)
			return err;
		machine->node_count++;
	}
	return reader->failed ? -DCPI_EDAMAGED : 0;
}

static int
take_feature(struct perf_data *data, unsigned feature, struct byte_reader *reader)
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
		get_u32(data, reader); /* that there could be */
		data->machine.cpu_count = get_u32(data, reader);
		return reader->failed ? -DCPI_EDAMAGED : 0;
	case FEATURE_NODES:
		return take_nodes(data, reader);
	case FEATURE_TIMES:
		data->machine.first_ns = get_u64(data, reader);
		data->machine.last_ns = get_u64(data, reader);
		return reader->failed ? -DCPI_EDAMAGED : 0;
	case FEATURE_EVENTS:
		return take_descriptions(data, reader);
	default:
		return 0;
	}
}

/* The attribute tells its own size, and ids of counters fill the rest. */
static int
take_attr(struct perf_data *data, struct byte_reader *body)
{
	struct byte_reader head = *body;
	uint32_t size, event;
	int err;

	get_u32(data, &head);
	size = get_u32(data, &head);
	err = add_event(data, body, size ? size : PERF_ATTR_SIZE_VER0, &event);
	return err ? err : add_ids(data, body, reader_left(body) / sizeof(uint64_t), event);
}

/* What perf called an event before 3.18, known by its configuration alone. */
static int
take_event_type(struct perf_data *data, struct byte_reader *body)
{
	uint64_t config = get_u64(data, body);
	int err = 0;

	if (body->failed)
		return -DCPI_EDAMAGED;
	for (uint32_t i = 0; i < data->event_count && !err; i++)
		if (data->events[i].attr.config == config && !data->events[i].name)
			err = name_event(data, i, (const char *)body->at, reader_left(body));
	return err;
}

static int
take_update(struct perf_data *data, struct byte_reader *body)
{
	uint64_t kind = get_u64(data, body), id = get_u64(data, body);
	uint32_t event;

	if (body->failed)
		return -DCPI_EDAMAGED;
	if (kind != UPDATE_NAME || !find_id(data, id, &event))
		return 0;
	return name_event(data, event, (const char *)body->at, reader_left(body));
}

static int
take_auxtrace_info(struct perf_data *data, struct byte_reader *body)
{
	struct perf_data_auxtrace *auxtrace = &data->auxtrace;

	auxtrace->type = get_u32(data, body);
	get_u32(data, body); /* reserved */
	if (body->failed)
		return -DCPI_EDAMAGED;
	free(auxtrace->words);
	auxtrace->count = reader_left(body) / WORD;
	auxtrace->words = calloc(auxtrace->count + 1, WORD);
	if (!auxtrace->words) {
		auxtrace->count = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < auxtrace->count; i++)
		auxtrace->words[i] = get_u64(data, body);
	return 0;
}

/* Shorter ones are of counters whose bits do not end. */
static int
take_time_conv(struct perf_data *data, struct byte_reader *body)
{
	struct counter_time time = {.mask = UINT64_MAX};
	const uint64_t shift = get_u64(data, body);
	bool has_zero = true, is_short = false;

	time.multiplier = get_u64(data, body);
	time.zero_ns = get_u64(data, body);
	if (body->failed || shift >= WORD_BITS)
		return -DCPI_EDAMAGED;
	time.shift = (unsigned)shift;
	if (reader_left(body) >= 3 * WORD) {
		const uint64_t cycles = get_u64(data, body), mask = get_u64(data, body);

		has_zero = read_u8(body);
		is_short = read_u8(body);
		if (is_short) {
			time.cycles = cycles;
			time.mask = mask;
		}
	}
	if (has_zero)
		data->counter_time = time;
	return 0;
}

/* What perf wrote into a record of its own, without the header. 0, -ENOMEM or -DCPI_EDAMAGED (without a fault). */
static int
take_description_record(struct perf_data *data, const struct perf_event_header *header, struct byte_reader *body)
{
	switch (header->type) {
	case TOOL_ATTR:
		return data->is_pipe ? take_attr(data, body) : 0;
	case TOOL_EVENT_TYPE:
		return take_event_type(data, body);
	case TOOL_EVENT_UPDATE:
		return take_update(data, body);
	case TOOL_BUILD_ID:
		return take_build_id(data, header->misc, body);
	case TOOL_FEATURE: {
		uint64_t feature = get_u64(data, body);

		return feature < FEATURE_COUNT ? take_feature(data, (unsigned)feature, body) : 0;
	}
	case TOOL_TRACING_DATA:
		data->payload = get_u32(data, body);
		break;
	case TOOL_AUXTRACE_INFO:
		return take_auxtrace_info(data, body);
	case TOOL_TIME_CONV:
		return take_time_conv(data, body);
	default:
		break;
	}
	return body->failed ? -DCPI_EDAMAGED : 0;
}

/* ---- the header, and what lies behind the records ---- */

static const char beyond_end[] = "the records are said to lie behind the end of the file";

struct section {
	uint64_t offset, size;
};

struct file_header {
	uint64_t attr_size; /* of an entry of `attrs`: attribute and section of ids */
	struct section attrs, data;
	uint64_t features[FEATURE_COUNT / WORD_BITS];
};

static int
set_damage(struct perf_data *data, uint64_t offset, const char *text)
{
	data->fault.offset = offset;
	data->fault.text = text;
	return -DCPI_EDAMAGED;
}

static struct section
read_section(const struct perf_data *data, struct byte_reader *reader)
{
	struct section section;

	section.offset = get_u64(data, reader);
	section.size = get_u64(data, reader);
	return section;
}

/* A part of the file as a whole, the caller's to free. 0, -ENOMEM, -DCPI_EDAMAGED with a fault, or errno. */
static int
load_section(struct perf_data *data, int fd, const struct section *section, uint8_t **bytes)
{
	ssize_t got;

	if (section->size > PERF_DATA_SECTION_MAX || section->offset > INT64_MAX - section->size)
		return set_damage(data, section->offset, "a part of the file is larger than any that perf writes");
	*bytes = malloc((size_t)section->size + 1);
	if (!*bytes)
		return -ENOMEM;
	got = file_read_at(fd, *bytes, (size_t)section->size, section->offset);
	if (got == -EINVAL) /* no file goes that far */
		got = 0;
	if (got == (ssize_t)section->size)
		return 0;
	free(*bytes);
	return got < 0 ? (int)got : set_damage(data, section->offset + (uint64_t)got, "the file ends too early");
}

static int
add_attr(struct perf_data *data, int fd, struct byte_reader *reader, size_t attr_size)
{
	struct byte_reader ids_reader;
	struct section ids;
	uint32_t event;
	uint8_t *bytes;
	int err;

	err = add_event(data, reader, attr_size, &event);
	if (err)
		return err;
	ids = read_section(data, reader);
	if (ids.size > PERF_DATA_SECTION_MAX - data->id_bytes)
		return set_damage(data, ids.offset, "there are more counters than perf writes");
	data->id_bytes += ids.size;
	err = load_section(data, fd, &ids, &bytes);
	if (err)
		return err;
	reader_init(&ids_reader, bytes, (size_t)ids.size);
	err = add_ids(data, &ids_reader, ids.size / sizeof(uint64_t), event);
	free(bytes);
	return err;
}

static int
read_attrs(struct perf_data *data, int fd, const struct file_header *header)
{
	struct byte_reader reader;
	uint8_t *bytes;
	int err;

	if (header->attr_size < PERF_ATTR_SIZE_VER0 + SECTION_SIZE || header->attr_size > PERF_DATA_ATTR_SIZE_MAX)
		return set_damage(data, PIPE_HEADER_SIZE, "the size of an event's attribute is not possible");
	err = load_section(data, fd, &header->attrs, &bytes);
	if (err)
		return err;
	reader_init(&reader, bytes, (size_t)header->attrs.size);
	while (reader_left(&reader) >= header->attr_size && !err)
		err = add_attr(data, fd, &reader, (size_t)header->attr_size - SECTION_SIZE);
	free(bytes);
	if (err == -DCPI_EDAMAGED && !data->fault.text)
		return set_damage(data, header->attrs.offset, "an event's attribute is damaged");
	return err;
}

static int
read_feature(struct perf_data *data, int fd, unsigned feature, const struct section *section)
{
	struct byte_reader reader;
	uint8_t *bytes;
	int err;

	err = load_section(data, fd, section, &bytes);
	if (err)
		return err;
	reader_init(&reader, bytes, (size_t)section->size);
	err = take_feature(data, feature, &reader);
	free(bytes);
	if (err == -DCPI_EDAMAGED)
		return set_damage(data, section->offset, "a description behind the records is damaged");
	return err;
}

static bool
is_wanted(unsigned feature)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
	case FEATURE_HOST:
	case FEATURE_RELEASE:
	case FEATURE_ARCHITECTURE:
	case FEATURE_CPU_COUNT:
	case FEATURE_CPU:
	case FEATURE_CPU_ID:
	case FEATURE_EVENTS:
	case FEATURE_NODES:
	case FEATURE_TIMES:
		return true;
	default:
		return false;
	}
}

/* Features lie behind the records; a table there gives the place of each, in the order of the header's bits. */
static int
read_features(struct perf_data *data, int fd, const struct file_header *header)
{
	struct section table = {header->data.offset + header->data.size, 0};
	struct byte_reader reader;
	uint8_t *bytes;
	int err;

	for (unsigned i = 0; i < FEATURE_COUNT / WORD_BITS; i++)
		table.size += (uint64_t)__builtin_popcountll(header->features[i]) * SECTION_SIZE;
	err = load_section(data, fd, &table, &bytes);
	if (err)
		return err;
	reader_init(&reader, bytes, (size_t)table.size);
	for (unsigned feature = 0; feature < FEATURE_COUNT && !err; feature++) {
		struct section section;

		if (!(header->features[feature / WORD_BITS] >> feature % WORD_BITS & 1))
			continue;
		section = read_section(data, &reader);
		if (is_wanted(feature))
			err = read_feature(data, fd, feature, &section);
	}
	free(bytes);
	return err;
}

/* Perf's first magic reads alike in both byte orders, so the size of attributes shows the order of such a file. */
static bool
find_order(struct perf_data *data, const uint8_t *magic, uint64_t attr_size)
{
	static const char native[] = "PERFILE2", foreign[] = "2ELIFREP", first[] = "PERFFILE";
	const bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

	if (memcmp(magic, is_little ? native : foreign, MAGIC_SIZE) == 0)
		return true;
	data->is_swapped = true;
	if (memcmp(magic, is_little ? foreign : native, MAGIC_SIZE) == 0)
		return true;
	data->is_swapped = attr_size > PERF_DATA_ATTR_SIZE_MAX;
	return memcmp(magic, first, MAGIC_SIZE) == 0;
}

static int
seek_records(struct perf_data *data, int fd, uint64_t offset)
{
	off_t end = lseek(fd, 0, SEEK_END);

	if (end < 0)
		return -errno;
	if (offset > (uint64_t)end)
		return set_damage(data, DATA_SECTION_AT, beyond_end);
	return lseek(fd, (off_t)offset, SEEK_SET) < 0 ? -errno : 0;
}

static int
read_file_header(struct perf_data *data, int fd, const uint8_t *bytes)
{
	struct file_header header;
	struct byte_reader reader;
	uint64_t end = UINT64_MAX;
	int err;

	reader_init(&reader, bytes + PIPE_HEADER_SIZE, FILE_HEADER_SIZE - PIPE_HEADER_SIZE);
	header.attr_size = get_u64(data, &reader);
	header.attrs = read_section(data, &reader);
	header.data = read_section(data, &reader);
	read_section(data, &reader); /* event types, which perf does not use any more */
	for (unsigned i = 0; i < FEATURE_COUNT / WORD_BITS; i++)
		header.features[i] = get_u64(data, &reader);
	err = read_attrs(data, fd, &header);
	if (err)
		return err;
	if (header.data.offset > INT64_MAX || header.data.size > INT64_MAX - header.data.offset)
		return set_damage(data, DATA_SECTION_AT, beyond_end);
	if (header.data.size > 0) { /* 0: perf was killed, and the records go on to the end */
		err = read_features(data, fd, &header);
		if (err && err != -DCPI_EDAMAGED)
			return err;
		data->late_fault = data->fault;
		data->fault.text = NULL;
		end = header.data.offset + header.data.size;
	}
	err = seek_records(data, fd, header.data.offset);
	if (err)
		return err;
	byte_source_fini(&data->source);
	return byte_source_init(&data->source, fd, header.data.offset, end);
}

static int
read_header(struct perf_data *data, int fd)
{
	const uint8_t *bytes;
	struct byte_reader reader;
	uint64_t attr_size = 0;
	int err;

	err = byte_source_init(&data->source, fd, 0, UINT64_MAX);
	if (err)
		return err;
	err = byte_source_need(&data->source, PIPE_HEADER_SIZE, &bytes);
	if (err)
		return err == -ENODATA ? set_damage(data, 0, "it is no recording of perf") : err;
	if (byte_source_need(&data->source, FILE_HEADER_SIZE, &bytes) == 0)
		memcpy(&attr_size, bytes + PIPE_HEADER_SIZE, sizeof(attr_size));
	else
		byte_source_need(&data->source, PIPE_HEADER_SIZE, &bytes);
	if (!find_order(data, bytes, attr_size))
		return set_damage(data, 0, "it is no recording of perf");
	reader_init(&reader, bytes + MAGIC_SIZE, PIPE_HEADER_SIZE - MAGIC_SIZE);
	data->is_pipe = get_u64(data, &reader) == PIPE_HEADER_SIZE;
	if (data->is_pipe)
		return byte_source_skip(&data->source, PIPE_HEADER_SIZE);
	if (byte_source_waiting(&data->source) < FILE_HEADER_SIZE)
		return set_damage(data, byte_source_waiting(&data->source), "the file ends too early");
	return read_file_header(data, fd, bytes);
}

/* ---- records ---- */

int
perf_data_open(int fd, struct perf_data **data, struct perf_data_fault *fault)
{
	int err;

	memset(fault, 0, sizeof(*fault));
	*data = calloc(1, sizeof(**data));
	if (!*data)
		return -ENOMEM;
	err = read_header(*data, fd);
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
	free_events(data);
	for (size_t i = 0; i < data->build_id_count; i++)
		free(data->build_ids[i].path);
	free(data->build_ids);
	free(data->machine.host);
	free(data->machine.release);
	free(data->machine.architecture);
	free(data->machine.cpu);
	free(data->machine.cpu_id);
	free(data->machine.cpu_nodes);
	free(data->auxtrace.words);
	free(data);
}

static void
load_header(const struct perf_data *data, const uint8_t *bytes, struct perf_event_header *header)
{
	memcpy(header, bytes, sizeof(*header));
	if (data->is_swapped)
		record_swap_header(header);
}

static int
damaged_here(struct perf_data *data, const char *text)
{
	return set_damage(data, data->source.offset, text);
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

/* A record that perf itself wrote. 0: it was taken. */
static int
take_tool_record(struct perf_data *data, const struct perf_event_header *header, const uint8_t *bytes)
{
	const uint8_t *body = bytes + sizeof(*header);
	const size_t size = header->size - sizeof(*header);
	struct byte_reader reader;
	int err;

	if (header->type == TOOL_COMPRESSED) {
		if (!data->unpack)
			data->unpack = perf_unpack_new();
		if (!data->unpack)
			return -ENOMEM;
		perf_unpack_put(data->unpack, body, size);
		return 0;
	}
	reader_init(&reader, body, size);
	err = take_description_record(data, header, &reader);
	return err == -DCPI_EDAMAGED ? damaged_here(data, "a description among the records is damaged") : err;
}

/* A piece of an auxiliary area follows the record that waits; it is skipped with the next call. */
static int
take_aux_data(struct perf_data *data, const struct perf_event_header *header, const uint8_t *bytes,
              struct record *record)
{
	struct byte_reader body;

	reader_init(&body, bytes + sizeof(*header), header->size - sizeof(*header));
	memset(record, 0, sizeof(*record));
	record->type = RECORD_AUX_DATA;
	record->pid = UINT32_MAX;
	record->aux_data.size = get_u64(data, &body);
	record->aux_data.offset = get_u64(data, &body);
	get_u64(data, &body); /* a reference that only perf knows */
	record->aux_data.index = get_u32(data, &body);
	record->tid = get_u32(data, &body);
	record->aux_data.cpu = get_u32(data, &body);
	record->aux_data.file_offset = data->source.offset + header->size;
	if (body.failed)
		return damaged_here(data, "a description among the records is damaged");
	data->payload = record->aux_data.size;
	return 1;
}

/* A record of the kernel's, or the end of a round. */
static int
decode(struct perf_data *data, const struct perf_event_header *header, const uint8_t *bytes, struct record *record,
       uint32_t *event)
{
	static const struct record_layout none;
	const struct record_layout *layout = &none;
	size_t consumed, body_size = header->size - sizeof(*header);

	if (find_event(data, header->type, bytes + sizeof(*header), body_size, event))
		layout = &data->events[*event == PERF_DATA_NO_EVENT ? 0 : *event].layout;
	else if (header->type == PERF_RECORD_SAMPLE)
		return damaged_here(data, "a sample comes before any event was described");
	if (data->is_swapped) {
		memcpy(data->scratch, bytes, header->size);
		record_swap(layout, header, data->scratch);
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
		if (header.type == TOOL_AUXTRACE) {
			*event = PERF_DATA_NO_EVENT;
			return take_aux_data(data, &header, bytes, record);
		}
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

const struct perf_data_auxtrace *
perf_data_auxtrace(const struct perf_data *data)
{
	return &data->auxtrace;
}

const struct counter_time *
perf_data_counter_time(const struct perf_data *data)
{
	return &data->counter_time;
}
