#include "stream/record.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/error.h"

#ifndef PERF_SAMPLE_BRANCH_COUNTERS
#define PERF_SAMPLE_BRANCH_COUNTERS (1U << 19) /* linux 6.8 */
#endif

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
	if (fields & PERF_SAMPLE_ADDR) {
		record->sample.data_address = load_u64(at);
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_ID) {
		record->id = load_u64(at);
		at += FIELD_SIZE;
	}
	at += fields_size(fields & PERF_SAMPLE_STREAM_ID);
	if (fields & PERF_SAMPLE_CPU) {
		memcpy(&record->sample.cpu, at, sizeof(record->sample.cpu));
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_PERIOD) {
		record->sample.period = load_u64(at);
		at += FIELD_SIZE;
	}
	return at;
}

static void
skip_words(struct byte_reader *body, uint64_t count)
{
	if (count > reader_left(body) / FIELD_SIZE)
		body->failed = true;
	else
		read_bytes(body, (size_t)count * FIELD_SIZE);
}

static unsigned
flag(uint64_t fields, uint64_t field)
{
	return fields & field ? 1 : 0;
}

/*
 * perf_event_open(2): struct read_format. The value and the id of the counter, but not of a group, which has one for
 * each of its events. Linux 6.3 and later may give the record itself the id of another listener's event.
 */
static void
read_counts(struct byte_reader *body, uint64_t format, struct record *record)
{
	unsigned times = flag(format, PERF_FORMAT_TOTAL_TIME_ENABLED) + flag(format, PERF_FORMAT_TOTAL_TIME_RUNNING);
	unsigned each = 1 + flag(format, PERF_FORMAT_ID) + flag(format, PERF_FORMAT_LOST);
	uint64_t count = read_u64_native(body);

	skip_words(body, times);
	if (!(format & PERF_FORMAT_GROUP)) {
		record->sample.count = count;
		if (format & PERF_FORMAT_ID)
			record->id = read_u64_native(body);
		skip_words(body, flag(format, PERF_FORMAT_LOST));
	} else if (count > reader_left(body) / FIELD_SIZE) {
		body->failed = true;
	} else {
		skip_words(body, count * each);
	}
}

/* What lies between PERIOD and RAW. */
static void
read_until_raw(const struct record_layout *layout, struct byte_reader *body, struct record *record)
{
	uint64_t count;

	if (layout->sample_type & PERF_SAMPLE_READ)
		read_counts(body, layout->read_format, record);
	if (!(layout->sample_type & PERF_SAMPLE_CALLCHAIN))
		return;
	count = read_u64_native(body);
	if (body->failed || count > reader_left(body) / FIELD_SIZE) {
		body->failed = true;
		return;
	}
	record->sample.call_chain = read_bytes(body, (size_t)count * FIELD_SIZE);
	record->sample.call_chain_count = (uint32_t)count;
}

static void
read_branches(struct byte_reader *body, uint64_t branch_sample_type, struct record *record)
{
	uint64_t count = read_u64_native(body);

	if (branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		read_u64_native(body);
	if (body->failed || count > reader_left(body) / sizeof(struct perf_branch_entry)) {
		body->failed = true;
		return;
	}
	record->sample.branches = read_bytes(body, (size_t)count * sizeof(struct perf_branch_entry));
	record->sample.branch_count = (uint32_t)count;
	if (branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
		skip_words(body, count);
}

static void
read_user_stack(const struct record_layout *layout, struct byte_reader *body, struct record *record)
{
	const uint32_t count = (uint32_t)__builtin_popcountll(layout->sample_regs_user);
	const uint64_t abi =
		layout->sample_type & PERF_SAMPLE_REGS_USER ? read_u64_native(body) : PERF_SAMPLE_REGS_ABI_NONE;
	uint64_t size;

	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		record->sample.is_32_bit = abi == PERF_SAMPLE_REGS_ABI_32;
		record->sample.registers = read_bytes(body, (size_t)count * FIELD_SIZE);
		record->sample.register_count = count;
	}
	if (!(layout->sample_type & PERF_SAMPLE_STACK_USER))
		return;
	size = read_u64_native(body);
	if (size == 0 || body->failed) /* then its real size is not there, either */
		return;
	record->sample.stack = size <= RECORD_SIZE_MAX ? read_bytes(body, (size_t)size) : NULL;
	record->sample.stack_size = (uint32_t)read_u64_native(body);
	if (!record->sample.stack || record->sample.stack_size > size)
		body->failed = true;
}

static void
read_behind_branches(const struct record_layout *layout, struct byte_reader *body, struct record *record)
{
	const uint64_t fields = layout->sample_type;

	/* the size of registers depends on a mask */
	if (layout->sample_regs_user)
		read_user_stack(layout, body, record);
	else if (fields & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER))
		return;
	if (fields & PERF_SAMPLE_WEIGHT_STRUCT)
		record->sample.weight = (uint32_t)read_u64_native(body); /* its low half: two others are above it */
	else if (fields & PERF_SAMPLE_WEIGHT)
		record->sample.weight = read_u64_native(body);
	if (fields & PERF_SAMPLE_DATA_SRC)
		record->sample.data_source = read_u64_native(body);
	if (fields & PERF_SAMPLE_REGS_INTR)
		return;
	skip_words(body, flag(fields, PERF_SAMPLE_TRANSACTION) + flag(fields, PERF_SAMPLE_PHYS_ADDR));
	if (fields & PERF_SAMPLE_CGROUP)
		record->sample.cgroup = read_u64_native(body);
}

/* The fields behind PERIOD, of variable length: `size` bytes at `at`. False when they contradict themselves. */
static bool
decode_wide_fields(const struct record_layout *layout, const uint8_t *at, size_t size, struct record *record)
{
	uint64_t fields = layout->sample_type;
	struct byte_reader body;

	reader_init(&body, at, size);
	read_until_raw(layout, &body, record);
	if (fields & PERF_SAMPLE_RAW)
		read_bytes(&body, read_u32_native(&body));
	if (fields & PERF_SAMPLE_BRANCH_STACK)
		read_branches(&body, layout->branch_sample_type, record);
	read_behind_branches(layout, &body, record);
	return !body.failed;
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
		return decode_wide_fields(layout, at, size - narrow, record);
	if (fields & PERF_SAMPLE_CGROUP)
		record->sample.cgroup = load_u64(at);
	return true;
}

/* The id fields at the end of every other record, `fields` of which are there. The CPU, or RECORD_NO_CPU. */
static uint32_t
decode_trailer(uint64_t fields, const uint8_t *at, struct record *record)
{
	uint32_t cpu = RECORD_NO_CPU;

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
	at += fields_size(fields & PERF_SAMPLE_STREAM_ID);
	if (fields & PERF_SAMPLE_CPU) {
		memcpy(&cpu, at, sizeof(cpu));
		at += FIELD_SIZE;
	}
	if (fields & PERF_SAMPLE_IDENTIFIER)
		record->id = load_u64(at);
	return cpu;
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
	read_u32_native(body); /* the parent's thread */
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
	read_u16_native(body); /* what it is: BPF, a probe, ... */
	record->ksymbol.is_unregister = read_u16_native(body) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	record->ksymbol.name = read_text(body);
}

static void
decode_aux(struct byte_reader *body, uint32_t cpu, struct record *record)
{
	record->type = RECORD_AUX;
	record->aux.offset = read_u64_native(body);
	record->aux.size = read_u64_native(body);
	record->aux.flags = read_u64_native(body);
	record->aux.cpu = cpu;
}

/* Of a switch, the id fields have the thread that leaves or comes; events of a whole CPU name the other one, too. */
static void
decode_running(const struct perf_event_header *header, struct byte_reader *body, uint32_t cpu, struct record *record)
{
	const bool is_out = header->type != PERF_RECORD_ITRACE_START && header->misc & PERF_RECORD_MISC_SWITCH_OUT;
	struct record other = {.pid = NO_PID, .tid = NO_PID};

	record->type = RECORD_RUNNING;
	record->running.cpu = cpu;
	if (header->type != PERF_RECORD_SWITCH)
		read_pid_tid(body, &other);
	if (!is_out && header->type != PERF_RECORD_ITRACE_START)
		return;
	record->pid = other.pid;
	record->tid = other.tid;
}

static void
decode_body(const struct record_layout *layout, const struct perf_event_header *header, struct byte_reader *body,
            uint32_t cpu, struct record *record)
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
	case PERF_RECORD_AUX:
		decode_aux(body, cpu, record);
		break;
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		decode_running(header, body, cpu, record);
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
	uint32_t cpu;

	if (size < trailer)
		return false;
	record->pid = record->tid = NO_PID;
	record->time = record->id = 0;
	cpu = decode_trailer(fields, at + size - trailer, record);
	reader_init(&body, at, size - trailer);
	decode_body(layout, header, &body, cpu, record);
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
	if (size >= RECORD_DEFAULT_SIZE && record_decode_default(layout, data, record))
		return header.size;
	if (header.type == PERF_RECORD_SAMPLE)
		whole = decode_sample(layout, body, body_size, record);
	else
		whole = decode_other(layout, &header, body, body_size, record);
	return whole ? header.size : -DCPI_EDAMAGED;
}

/* ---- records that a machine of the other byte order wrote ---- */

/* Where among the fields behind PERIOD the RAW field begins, in either byte order of its content; SIZE_MAX: there is
 * none, or a field before it is damaged. */
static size_t
raw_offset(const struct record_layout *layout, const uint8_t *at, size_t size)
{
	struct record skipped;
	struct byte_reader body;

	if (!(layout->sample_type & PERF_SAMPLE_RAW))
		return SIZE_MAX;
	reader_init(&body, at, size);
	read_until_raw(layout, &body, &skipped);
	return body.failed || reader_left(&body) < FIELD_SIZE ? SIZE_MAX : size - reader_left(&body);
}

/* How the kernel's records begin: sizes of the fields in turn, '.' for eight bytes that stay. Texts stay, too. */
static const struct {
	uint32_t type;
	const char *fields;
} swapped_fields[] = {
	{PERF_RECORD_MMAP, "44888"},         {PERF_RECORD_COMM, "44"},        {PERF_RECORD_FORK, "44448"},
	{PERF_RECORD_EXIT, "44448"},         {PERF_RECORD_LOST, "88"},        {PERF_RECORD_LOST_SAMPLES, "8"},
	{PERF_RECORD_THROTTLE, "888"},       {PERF_RECORD_UNTHROTTLE, "888"}, {PERF_RECORD_KSYMBOL, "8422"},
	{PERF_RECORD_CGROUP, "8"},           {PERF_RECORD_AUX, "888"},        {PERF_RECORD_ITRACE_START, "44"},
	{PERF_RECORD_SWITCH_CPU_WIDE, "44"},
};
#define SWAPPED_FIELDS_COUNT (sizeof(swapped_fields) / sizeof(swapped_fields[0]))

static void
swap_bytes(uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		uint8_t byte = at[i];

		at[i] = at[size - 1 - i];
		at[size - 1 - i] = byte;
	}
}

static void
swap_words(uint8_t *at, size_t size)
{
	for (size_t i = 0; i + FIELD_SIZE <= size; i += FIELD_SIZE) {
		uint64_t word;

		memcpy(&word, at + i, sizeof(word));
		word = __builtin_bswap64(word);
		memcpy(at + i, &word, sizeof(word));
	}
}

/* A word that was turned whole holds two numbers of 32 bits: they change places. */
static void
split_word(uint8_t *at)
{
	uint8_t half[FIELD_SIZE / 2];

	memcpy(half, at, sizeof(half));
	memcpy(at, at + sizeof(half), sizeof(half));
	memcpy(at + sizeof(half), half, sizeof(half));
}

static unsigned
words_in(uint64_t fields)
{
	return (unsigned)__builtin_popcountll(fields);
}

static void
swap_sample(const struct record_layout *layout, uint8_t *at, size_t size)
{
	const uint64_t narrow = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                        PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
	                        PERF_SAMPLE_PERIOD;
	const uint64_t before_tid = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	uint64_t fields = layout->sample_type;
	size_t tid = words_in(fields & before_tid) * (size_t)FIELD_SIZE;
	size_t wide = words_in(fields & narrow) * (size_t)FIELD_SIZE;
	size_t raw;

	swap_words(at, size);
	if (wide > size)
		return;
	if (fields & PERF_SAMPLE_TID)
		split_word(at + tid);
	if (fields & PERF_SAMPLE_CPU)
		split_word(at + wide - words_in(fields & (PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)) * (size_t)FIELD_SIZE);
	raw = raw_offset(layout, at + wide, size - wide);
	if (raw != SIZE_MAX)
		split_word(at + wide + raw);
}

static size_t
swap_fields(const char *fields, uint8_t *at, size_t size)
{
	size_t done = 0;

	for (; *fields; fields++) {
		size_t field = *fields == '.' ? FIELD_SIZE : (size_t)(*fields - '0');

		if (field > size - done)
			break;
		if (*fields != '.')
			swap_bytes(at + done, field);
		done += field;
	}
	return done;
}

/* TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER. */
static void
swap_trailer(uint64_t sample_type, uint8_t *at, size_t size)
{
	const uint64_t all = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
	                     PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	size_t trailer = words_in(sample_type & all) * (size_t)FIELD_SIZE;
	size_t behind_cpu = words_in(sample_type & (PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)) * (size_t)FIELD_SIZE;

	if (trailer > size)
		return;
	at += size - trailer;
	swap_words(at, trailer);
	if (sample_type & PERF_SAMPLE_TID)
		split_word(at);
	if (sample_type & PERF_SAMPLE_CPU)
		split_word(at + trailer - behind_cpu);
}

static const char *
swapped_fields_of(const struct perf_event_header *header)
{
	if (header->type == PERF_RECORD_MMAP2)
		return header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? "44888...44" : "44888448844";
	for (size_t i = 0; i < SWAPPED_FIELDS_COUNT; i++)
		if (swapped_fields[i].type == header->type)
			return swapped_fields[i].fields;
	return "";
}

void
record_swap_header(struct perf_event_header *header)
{
	header->type = __builtin_bswap32(header->type);
	header->misc = __builtin_bswap16(header->misc);
	header->size = __builtin_bswap16(header->size);
}

void
record_swap(const struct record_layout *layout, const struct perf_event_header *header, uint8_t *data)
{
	uint8_t *body = data + sizeof(*header);
	size_t size = header->size - sizeof(*header), done;

	memcpy(data, header, sizeof(*header));
	if (header->type == PERF_RECORD_SAMPLE) {
		swap_sample(layout, body, size);
		return;
	}
	done = swap_fields(swapped_fields_of(header), body, size);
	if (layout->sample_id_all)
		swap_trailer(layout->sample_type, body + done, size - done);
}

/* The flags are single bits, and the first of them is the lowest on one kind of machine and the highest on the other.
 */
static void
reverse_bits(uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned bits = at[i];

		bits = (bits & 0xf0) >> 4 | (bits & 0x0f) << 4;
		bits = (bits & 0xcc) >> 2 | (bits & 0x33) << 2;
		bits = (bits & 0xaa) >> 1 | (bits & 0x55) << 1;
		at[i] = (uint8_t)bits;
	}
}

void
record_swap_attr(struct perf_event_attr *attr)
{
	uint8_t *bytes = (uint8_t *)attr;
	const size_t flags = offsetof(struct perf_event_attr, read_format) + FIELD_SIZE;

	swap_fields("448888", bytes, sizeof(*attr));
	reverse_bits(bytes + flags, FIELD_SIZE);
	swap_fields("448888448422448", bytes + flags + FIELD_SIZE, sizeof(*attr) - flags - FIELD_SIZE);
}
