#include "stream/record_wide.h"

#include <linux/perf_event.h>

#include "base/bytes.h"

#ifndef PERF_SAMPLE_BRANCH_COUNTERS
#define PERF_SAMPLE_BRANCH_COUNTERS (1U << 19) /* linux 6.8 */
#endif

#define WORD 8 /* bytes */

/* Their sizes are told by masks that nobody here needs, or by a word behind them. */
#define OPAQUE_FIELDS (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR)

static void
skip_words(struct byte_reader *body, uint64_t count)
{
	if (count > reader_left(body) / WORD)
		body->failed = true;
	else
		read_bytes(body, (size_t)count * WORD);
}

static unsigned
flag(uint64_t fields, uint64_t field)
{
	return fields & field ? 1 : 0;
}

/* perf_event_open(2): struct read_format. */
static void
skip_counts(struct byte_reader *body, uint64_t format)
{
	unsigned times = flag(format, PERF_FORMAT_TOTAL_TIME_ENABLED) + flag(format, PERF_FORMAT_TOTAL_TIME_RUNNING);
	unsigned each = 1 + flag(format, PERF_FORMAT_ID) + flag(format, PERF_FORMAT_LOST);
	uint64_t count = 1;

	if (format & PERF_FORMAT_GROUP)
		count = read_u64_native(body);
	skip_words(body, times);
	if (count > reader_left(body) / WORD)
		body->failed = true;
	else
		skip_words(body, count * each);
}

/* All that lies between PERIOD and RAW. */
static void
skip_to_raw(const struct record_layout *layout, struct byte_reader *body)
{
	if (layout->sample_type & PERF_SAMPLE_READ)
		skip_counts(body, layout->read_format);
	if (layout->sample_type & PERF_SAMPLE_CALLCHAIN)
		skip_words(body, read_u64_native(body));
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
read_behind_branches(struct byte_reader *body, uint64_t fields, struct record *record)
{
	if (fields & OPAQUE_FIELDS)
		return;
	skip_words(body, flag(fields, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) +
	                         flag(fields, PERF_SAMPLE_DATA_SRC) + flag(fields, PERF_SAMPLE_TRANSACTION) +
	                         flag(fields, PERF_SAMPLE_PHYS_ADDR));
	if (fields & PERF_SAMPLE_CGROUP)
		record->sample.cgroup = read_u64_native(body);
}

bool
record_decode_wide(const struct record_layout *layout, const uint8_t *at, size_t size, struct record *record)
{
	uint64_t fields = layout->sample_type;
	struct byte_reader body;

	reader_init(&body, at, size);
	record->sample.has_call_chain = fields & PERF_SAMPLE_CALLCHAIN;
	skip_to_raw(layout, &body);
	if (fields & PERF_SAMPLE_RAW)
		read_bytes(&body, read_u32_native(&body));
	if (fields & PERF_SAMPLE_BRANCH_STACK)
		read_branches(&body, layout->branch_sample_type, record);
	read_behind_branches(&body, fields, record);
	return !body.failed;
}

size_t
record_raw_offset(const struct record_layout *layout, const uint8_t *at, size_t size)
{
	struct byte_reader body;

	if (!(layout->sample_type & PERF_SAMPLE_RAW))
		return SIZE_MAX;
	reader_init(&body, at, size);
	skip_to_raw(layout, &body);
	return body.failed || reader_left(&body) < WORD ? SIZE_MAX : size - reader_left(&body);
}
