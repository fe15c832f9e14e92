/*
 * perf_data_internal.h - what the files of perf_data.h share
 *
 * Formats: tools/perf/Documentation/perf.data-file-format.txt of linux. Private to the room.
 */
#ifndef DCPI_STREAM_PERF_DATA_INTERNAL_H
#define DCPI_STREAM_PERF_DATA_INTERNAL_H

#include "base/bytes.h"
#include "stream/byte_source.h"
#include "stream/perf_data.h"
#include "stream/perf_unpack.h"

/* Limits far above what perf writes. */
#define PERF_DATA_EVENTS_MAX    65536
#define PERF_DATA_SECTION_MAX   ((uint64_t)64 << 20) /* bytes of an optional part */
#define PERF_DATA_ATTR_SIZE_MAX 4096

enum tool_record {
	TOOL_ATTR = 64,
	TOOL_EVENT_TYPE = 65,
	TOOL_TRACING_DATA = 66,
	TOOL_BUILD_ID = 67,
	TOOL_ROUND = PERF_DATA_ROUND,
	TOOL_AUXTRACE = 71,
	TOOL_EVENT_UPDATE = 78,
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
	FEATURE_TIMES = 21,
	FEATURE_COUNT = 256,
};

struct perf_id; /* a hash entry: id of a counter -> event */

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
	struct perf_unpack *unpack; /* NULL until something was compressed */
	uint64_t consumed;          /* of the record that was given last: it goes with the next call */
	uint64_t payload;           /* of it: bytes that follow the record */
	struct perf_data_fault fault;
	struct perf_data_fault late_fault; /* damage found behind the records; reported after the last record */
	int ended;                         /* 1: it did; else the error that every call gives */
	_Alignas(8) uint8_t scratch[RECORD_SIZE_MAX + 1];
};

/* Numbers of the file's byte order. */
uint32_t perf_read_u32(const struct perf_data *data, struct byte_reader *reader);
uint64_t perf_read_u64(const struct perf_data *data, struct byte_reader *reader);

/* An attribute of `size` bytes. 0 with the new event's index, -ENOMEM or -DCPI_EDAMAGED (without a fault). */
int perf_data_add_event(struct perf_data *data, struct byte_reader *reader, size_t size, uint32_t *event);
int perf_data_add_ids(struct perf_data *data, struct byte_reader *reader, uint64_t count, uint32_t event);
int perf_data_name_event(struct perf_data *data, uint32_t event, const char *name, size_t size);

/* The event of a counter; false: it is not known. */
bool perf_data_find_id(struct perf_data *data, uint64_t id, uint32_t *event);

/* Take what a feature, or a record of `pid`, `build-id`, `path`, holds. 0, -ENOMEM, or -DCPI_EDAMAGED (without a
 * fault). */
int perf_data_take_feature(struct perf_data *data, unsigned feature, struct byte_reader *reader);
void perf_data_free_features(struct perf_data *data);

/* Take a record that perf itself wrote, without its header; *payload: bytes that follow it. Errors as above. */
int perf_data_take_tool_record(struct perf_data *data, const struct perf_event_header *header, struct byte_reader *body,
                               uint64_t *payload);

#endif
