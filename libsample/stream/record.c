#include "stream/record.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/error.h"
#include "stream/record_wide.h"

/* The kernel's own record types end here; what tools add to files begins, and carries no id fields. */
#define FIRST_TOOL_TYPE 64

#define SAMPLE_FIELDS                                                                                                  \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |             \
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CGROUP)
#define NARROW_FIELDS (SAMPLE_FIELDS & ~(uint64_t)PERF_SAMPLE_CGROUP)
#define TRAILER_FIELDS                                                                                                 \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |               \
	 PERF_SAMPLE_IDENTIFIER)
#define FIELD_SIZE 8 /* each of them */

#define NO_PID UINT32_MAX

/* How many bits of SAMPLE_FIELDS are set. Where the CPU has no instruction for it a population count is a call, so bits
 * are added up side by side. */
static size_t
fields_size(uint64_t fields)
{
	uint32_t bits = (uint32_t)fields;

	bits -= bits >> 1 & 0x55555555;
	bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f;
	return (bits * 0x01010101 >> 24) * FIELD_SIZE;
}

static uint64_t
load_u64(const uint8_t *data)
{
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	return value;
}

static void
load_pid_tid(const uint8_t *data, struct record *record)
{
	memcpy(&record->pid, data, sizeof(record->pid));
	memcpy(&record->tid, data + sizeof(record->pid), sizeof(record->tid));
}

/* One call per sample: the size is checked once for all fields, and nothing is cleared that is not read. */
static const uint8_t *
decode_narrow_fields(uint64_t fields, const uint8_t *at, struct record *record)
{
	if (fields & PERF_SAMPLE_IDENTIFIER) {
		record->id = load_u64(at);
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_IP) {
		record->sample.address = load_u64(at);
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_TID) {
		load_pid_tid(at, record);
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_TIME) {
		record->time = load_u64(at);
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_ADDR)
		at += FIELD_SIZE;
	if (fields & PERF_SAMPLE_ID) {
		record->id = load_u64(at);
		at += FIELD_SIZE;
	}
	at += fields_size(fields & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
	if (fields & PERF_SAMPLE_PERIOD) {
		record->sample.period = load_u64(at);
		at += FIELD_SIZE;
	}
	return at;
}

static bool
decode_sample(const struct record_layout *layout, const uint8_t *at, size_t size, struct record *record)
{
	uint64_t fields = layout->sample_type, wide = fields & ~(uint64_t)SAMPLE_FIELDS;
	size_t narrow = fields_size(fields & (wide ? NARROW_FIELDS : SAMPLE_FIELDS));

	if (wide ? size < narrow : size != narrow)
		return false;
	record->type = RECORD_SAMPLE;
	record->pid = record->tid = NO_PID;
	record->time = record->id = 0;
	memset(&record->sample, 0, sizeof(record->sample));
	at = decode_narrow_fields(fields, at, record);
	if (wide)
		return record_decode_wide(layout, at, size - narrow, record);
	if (fields & PERF_SAMPLE_CGROUP)
		record->sample.cgroup = load_u64(at);
	return true;
}

/* The id fields at the end of every other record, `fields` of which are there. */
static void
decode_trailer(uint64_t fields, const uint8_t *at, struct record *record)
{
	if (fields & PERF_SAMPLE_TID) {
		load_pid_tid(at, record);
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_TIME) {
		record->time = load_u64(at);
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_ID) {
		record->id = load_u64(at);
		at += FIELD_SIZE;
	}
	at += fields_size(fields & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
	if (fields & PERF_SAMPLE_IDENTIFIER)
		record->id = load_u64(at);
}

/* What is left of the body is a string and its padding. */
static const char *
read_text(struct byte_reader *body)
{
	const char *text = (const char *)body->at;

	if (body->failed || !memchr(text, '\0', reader_left(body))) {
		body->failed = true;
		return "";
	}
	body->at = body->end;
	return text;
}

static void
read_pid_tid(struct byte_reader *body, struct record *record)
{
	record->pid = read_u32_native(body);
	record->tid = read_u32_native(body);
}

/* How PERF_RECORD_MMAP2 begins, and its predecessor up to `file`. */
struct mmap_body {
	uint32_t pid, tid;
	uint64_t start, length, file_offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		} file;
		struct {
			uint8_t size, reserved[3];
			uint8_t bytes[BUILD_ID_SIZE_MAX];
		} build_id;
	};
	uint32_t protection, flags;
};
static_assert(sizeof(struct mmap_body) == 64, "as the kernel writes it");
#define OLD_MMAP_BODY_SIZE offsetof(struct mmap_body, file)

static void
take_mapping(const struct mmap_body *body, struct record *record)
{
	record->pid = body->pid;
	record->tid = body->tid;
	record->mmap.start = body->start;
	record->mmap.length = body->length;
	record->mmap.file_offset = body->file_offset;
}

static void
decode_old_mmap(struct byte_reader *reader, struct record *record)
{
	struct mmap_body body;

	read_native(reader, &body, OLD_MMAP_BODY_SIZE);
	take_mapping(&body, record);
	record->mmap.protection = record->mmap.is_data ? PROT_READ : PROT_READ | PROT_EXEC;
}

/* A tool may have put one there later; then it is a hash as linkers make them, and its first byte no device's number.
 */
static bool
is_hash_size(uint8_t size)
{
	return size == 20 || size == 16;
}

static void
decode_mmap2(const struct record_layout *layout, struct byte_reader *reader, bool has_build_id, struct record *record)
{
	struct record_mmap *mmap = &record->mmap;
	struct mmap_body body;

	read_native(reader, &body, sizeof(body));
	if (layout->no_build_ids && !is_hash_size(body.build_id.size))
		has_build_id = false;
	take_mapping(&body, record);
	mmap->protection = body.protection;
	if (has_build_id && body.build_id.size <= BUILD_ID_SIZE_MAX) {
		mmap->build_id_size = body.build_id.size;
		memcpy(mmap->build_id, body.build_id.bytes, body.build_id.size);
	} else if (has_build_id) {
		reader->failed = true;
	} else {
		mmap->device_major = body.file.major;
		mmap->device_minor = body.file.minor;
		mmap->inode = body.file.inode;
		mmap->inode_generation = body.file.generation;
	}
}

/* The rings' most frequent record after samples: what it begins with is taken at once. */
static void
decode_mmap(const struct record_layout *layout, struct byte_reader *body, const struct perf_event_header *header,
            struct record *record)
{
	record->type = RECORD_MMAP;
	memset(&record->mmap, 0, sizeof(record->mmap));
	record->mmap.is_data = header->misc & PERF_RECORD_MISC_MMAP_DATA;
	if (header->type == PERF_RECORD_MMAP)
		decode_old_mmap(body, record);
	else
		decode_mmap2(layout, body, header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID, record);
	record->mmap.path = read_text(body);
}

static void
decode_task(struct byte_reader *body, struct record *record)
{
	uint64_t time;

	record->pid = read_u32_native(body);
	record->task.parent_pid = read_u32_native(body);
	record->tid = read_u32_native(body);
	record->task.parent_tid = read_u32_native(body);
	time = read_u64_native(body);
	if (!record->time)
		record->time = time;
}

static void
decode_throttle(struct byte_reader *body, struct record *record)
{
	uint64_t time = read_u64_native(body);

	if (!record->time)
		record->time = time;
	record->id = read_u64_native(body);
	read_u64_native(body); /* stream id */
}

static void
decode_ksymbol(struct byte_reader *body, struct record *record)
{
	record->type = RECORD_KSYMBOL;
	record->ksymbol.address = read_u64_native(body);
	record->ksymbol.length = read_u32_native(body);
	record->ksymbol.is_bpf = read_u16_native(body) == PERF_RECORD_KSYMBOL_TYPE_BPF;
	record->ksymbol.is_unregister = read_u16_native(body) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	record->ksymbol.name = read_text(body);
}

static void
decode_body(const struct record_layout *layout, const struct perf_event_header *header, struct byte_reader *body,
            struct record *record)
{
	switch (header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		decode_mmap(layout, body, header, record);
		break;
	case PERF_RECORD_COMM:
		record->type = RECORD_COMM;
		read_pid_tid(body, record);
		record->comm.is_exec = header->misc & PERF_RECORD_MISC_COMM_EXEC;
		record->comm.name = read_text(body);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		record->type = header->type == PERF_RECORD_FORK ? RECORD_FORK : RECORD_EXIT;
		decode_task(body, record);
		break;
	case PERF_RECORD_LOST:
		record->type = RECORD_LOST;
		record->id = read_u64_native(body);
		record->lost.count = read_u64_native(body);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		record->type = RECORD_LOST;
		record->lost.count = read_u64_native(body);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		record->type = header->type == PERF_RECORD_THROTTLE ? RECORD_THROTTLE : RECORD_UNTHROTTLE;
		decode_throttle(body, record);
		break;
	case PERF_RECORD_KSYMBOL:
		decode_ksymbol(body, record);
		break;
	case PERF_RECORD_CGROUP:
		record->type = RECORD_CGROUP;
		record->cgroup.id = read_u64_native(body);
		record->cgroup.path = read_text(body);
		break;
	default:
		record->type = RECORD_OTHER;
		record->other = header->type;
	}
}

static bool
decode_other(const struct record_layout *layout, const struct perf_event_header *header, const uint8_t *at, size_t size,
             struct record *record)
{
	uint64_t fields =
		layout->sample_id_all && header->type < FIRST_TOOL_TYPE ? layout->sample_type & TRAILER_FIELDS : 0;
	size_t trailer = fields_size(fields);
	struct byte_reader body;

	if (size < trailer)
		return false;
	record->pid = record->tid = NO_PID;
	record->time = record->id = 0;
	decode_trailer(fields, at + size - trailer, record);
	reader_init(&body, at, size - trailer);
	decode_body(layout, header, &body, record);
	return !body.failed;
}

static enum cpu_mode
decode_mode(uint16_t misc)
{
	unsigned mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode <= CPU_MODE_GUEST_USER ? (enum cpu_mode)mode : CPU_MODE_UNKNOWN;
}

int
record_decode(const struct record_layout *layout, const void *data, size_t size, struct record *record,
              size_t *consumed)
{
	const uint8_t *body = (const uint8_t *)data + sizeof(struct perf_event_header);
	struct perf_event_header header;
	size_t body_size;
	bool whole;

	*consumed = 0;
	if (size < sizeof(header))
		return -EAGAIN;
	memcpy(&header, data, sizeof(header));
	if (header.size < sizeof(header))
		return -DCPI_EDAMAGED;
	if (header.size > size)
		return -EAGAIN;
	*consumed = header.size;
	body_size = header.size - sizeof(header);
	record->mode = decode_mode(header.misc);
	if (size >= RECORD_USUAL_ROOM && record_decode_usual(layout, data, record))
		return header.size;
	if (header.type == PERF_RECORD_SAMPLE)
		whole = decode_sample(layout, body, body_size, record);
	else
		whole = decode_other(layout, &header, body, body_size, record);
	return whole ? header.size : -DCPI_EDAMAGED;
}
