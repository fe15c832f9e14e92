#include "stream/time_order.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define WORD 8 /* bytes */

/* What the bytes of a record begin with; its fields follow, and what they point to. */
struct time_order_waiting {
	uint32_t event;
	uint32_t fields; /* bytes of struct record that are there */
	uint64_t size;   /* of all of it */
};

/* In the order of time once it is sorted. */
struct time_order_entry {
	uint64_t time;
	size_t at; /* of its struct time_order_waiting, in `bytes` */
};

struct time_order {
	time_order_sink *sink;
	void *context;
	size_t limit;
	struct time_order_entry *entries, *spare;
	size_t count, capacity, spare_capacity;
	size_t *runs, run_capacity; /* where what is in order already begins */
	uint8_t *bytes, *spare_bytes;
	size_t used, byte_capacity, spare_byte_capacity;
	uint64_t newest;   /* of all that came */
	uint64_t complete; /* up to here nothing can come any more */
	uint64_t gone;     /* the newest that was handed over */
	uint64_t late;
};

struct time_order *
time_order_new(size_t limit, time_order_sink *sink, void *context)
{
	struct time_order *order = calloc(1, sizeof(*order));

	if (!order)
		return NULL;
	order->limit = limit > RECORD_SIZE_MAX ? limit : RECORD_SIZE_MAX;
	order->sink = sink;
	order->context = context;
	return order;
}

void
time_order_free(struct time_order *order)
{
	if (!order)
		return;
	free(order->entries);
	free(order->spare);
	free(order->runs);
	free(order->bytes);
	free(order->spare_bytes);
	free(order);
}

/* The text that a record points to, if it is of those that have one. */
static const char **
record_text(struct record *record)
{
	switch (record->type) {
	case RECORD_MMAP:
		return &record->mmap.path;
	case RECORD_COMM:
		return &record->comm.name;
	case RECORD_KSYMBOL:
		return &record->ksymbol.name;
	case RECORD_CGROUP:
		return &record->cgroup.path;
	default:
		return NULL;
	}
}

static size_t
branches_size(const struct record *sample)
{
	return sample->sample.branch_count * sizeof(struct perf_branch_entry);
}

static size_t
call_chain_size(const struct record *sample)
{
	return (size_t)sample->sample.call_chain_count * sizeof(uint64_t);
}

static size_t
registers_size(const struct record *sample)
{
	return sample->sample.registers ? (size_t)sample->sample.register_count * sizeof(uint64_t) : 0;
}

static size_t
stack_size(const struct record *sample)
{
	return sample->sample.stack ? sample->sample.stack_size : 0;
}

/* Bytes that a record points to. */
static size_t
behind_size(const struct record *record)
{
	struct record copy;
	const char **text;

	if (record->type == RECORD_SAMPLE)
		return branches_size(record) + call_chain_size(record) + registers_size(record) + stack_size(record);
	copy = *record;
	text = record_text(&copy);
	return text && *text ? strlen(*text) + 1 : 0;
}

static uint8_t *
append(uint8_t *at, const void *bytes, size_t size)
{
	if (size > 0)
		memcpy(at, bytes, size);
	return at + size;
}

/* Copy what `record` points to to `at`: of a sample, branches, call chain, registers, and the copy of the stack. */
static void
copy_behind(const struct record *record, uint8_t *at, size_t size)
{
	struct record copy;

	if (size == 0)
		return;
	if (record->type != RECORD_SAMPLE) {
		copy = *record;
		memcpy(at, *record_text(&copy), size);
		return;
	}
	at = append(at, record->sample.branches, branches_size(record));
	at = append(at, record->sample.call_chain, call_chain_size(record));
	at = append(at, record->sample.registers, registers_size(record));
	append(at, record->sample.stack, stack_size(record));
}

/* Let a sample point to what copy_behind() copied to `at`. */
static void
point_behind(struct record *sample, const uint8_t *at)
{
	sample->sample.branches = at;
	at += branches_size(sample);
	sample->sample.call_chain = call_chain_size(sample) > 0 ? at : NULL;
	at += call_chain_size(sample);
	if (sample->sample.registers) {
		sample->sample.registers = at;
		at += registers_size(sample);
	}
	if (sample->sample.stack)
		sample->sample.stack = at;
}

/* Samples are most of all, and shorter than what a mapping needs. */
static size_t
fields_size(const struct record *record)
{
	if (record->type == RECORD_SAMPLE)
		return offsetof(struct record, sample) + sizeof(record->sample);
	return sizeof(*record);
}

static size_t
round_up(size_t size)
{
	return (size + WORD - 1) / WORD * WORD;
}

static int
reserve(struct time_order *order, size_t size)
{
	struct time_order_entry *entries;
	uint8_t *bytes;

	entries = array_grow(order->entries, &order->capacity, order->count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	order->entries = entries;
	bytes = array_grow(order->bytes, &order->byte_capacity, order->used + size, 1);
	if (!bytes)
		return -ENOMEM;
	order->bytes = bytes;
	return 0;
}

static int
keep(struct time_order *order, const struct record *record, uint32_t event)
{
	struct time_order_waiting head = {.event = event, .fields = (uint32_t)fields_size(record)};
	const size_t behind = behind_size(record);
	const size_t size = sizeof(head) + round_up(head.fields) + round_up(behind);
	uint8_t *at;

	head.size = size;
	if (reserve(order, size))
		return -ENOMEM;
	at = order->bytes + order->used;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), record, head.fields);
	copy_behind(record, at + sizeof(head) + round_up(head.fields), behind);
	order->entries[order->count++] = (struct time_order_entry){record->time, order->used};
	order->used += size;
	return 0;
}

static int
hand_over(struct time_order *order, const struct time_order_entry *entry)
{
	const uint8_t *at = order->bytes + entry->at;
	struct time_order_waiting head;
	struct record record;
	const char **text;

	memcpy(&head, at, sizeof(head));
	memcpy(&record, at + sizeof(head), head.fields);
	at += sizeof(head) + round_up(head.fields);
	if (record.type == RECORD_SAMPLE)
		point_behind(&record, at);
	else if ((text = record_text(&record)) && *text)
		*text = (const char *)at;
	if (entry->time > order->gone)
		order->gone = entry->time;
	return order->sink(order->context, &record, head.event);
}

/* Where each stretch begins that is in order already: each CPU's records are. 0 or -ENOMEM. */
static int
find_runs(struct time_order *order, size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < order->count; i++) {
		size_t *runs;

		if (i > 0 && order->entries[i].time >= order->entries[i - 1].time)
			continue;
		runs = array_grow(order->runs, &order->run_capacity, *count + 2, sizeof(*runs));
		if (!runs)
			return -ENOMEM;
		order->runs = runs;
		runs[(*count)++] = i;
	}
	return 0;
}

/* Two neighbours become one; of one time, what came first is first. */
static void
merge_two(const struct time_order_entry *from, size_t middle, size_t end, struct time_order_entry *to)
{
	size_t left = 0, right = middle;

	while (left < middle && right < end)
		*to++ = from[right].time < from[left].time ? from[right++] : from[left++];
	memcpy(to, from + left, (middle - left) * sizeof(*to));
	memcpy(to + (middle - left), from + right, (end - right) * sizeof(*to));
}

/* Every second run with the one behind it; how many are left. runs[count] is the end. */
static size_t
merge_pairs(struct time_order *order, size_t count)
{
	size_t *runs = order->runs, kept = 0;

	for (size_t i = 0; i < count; i += 2) {
		const size_t start = runs[i], end = i + 2 <= count ? runs[i + 2] : runs[count];

		merge_two(order->entries + start, runs[i + 1] - start, end - start, order->spare + start);
		runs[kept++] = start;
	}
	runs[kept] = order->count;
	return kept;
}

static int
sort(struct time_order *order)
{
	struct time_order_entry *spare, *sorted;
	size_t runs, capacity;

	if (find_runs(order, &runs))
		return -ENOMEM;
	if (runs <= 1)
		return 0;
	spare = array_grow(order->spare, &order->spare_capacity, order->count, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	order->spare = spare;
	order->runs[runs] = order->count;
	while (runs > 1) {
		runs = merge_pairs(order, runs);
		sorted = order->spare;
		capacity = order->spare_capacity;
		order->spare = order->entries;
		order->spare_capacity = order->capacity;
		order->entries = sorted;
		order->capacity = capacity;
	}
	return 0;
}

/* The first `gone` entries are not needed any more: what the others say moves to the front. */
static int
forget(struct time_order *order, size_t gone)
{
	uint8_t *bytes;
	size_t used = 0, capacity;

	if (gone == 0)
		return 0;
	order->count -= gone;
	memmove(order->entries, order->entries + gone, order->count * sizeof(*order->entries));
	if (order->count > 0) {
		bytes = array_grow(order->spare_bytes, &order->spare_byte_capacity, order->used, 1);
		if (!bytes)
			return -ENOMEM;
		order->spare_bytes = bytes;
	}
	for (size_t i = 0; i < order->count; i++) {
		const uint8_t *at = order->bytes + order->entries[i].at;
		struct time_order_waiting head;

		memcpy(&head, at, sizeof(head));
		memcpy(order->spare_bytes + used, at, head.size);
		order->entries[i].at = used;
		used += head.size;
	}
	order->used = used;
	if (order->count == 0)
		return 0;
	bytes = order->bytes;
	capacity = order->byte_capacity;
	order->bytes = order->spare_bytes;
	order->byte_capacity = order->spare_byte_capacity;
	order->spare_bytes = bytes;
	order->spare_byte_capacity = capacity;
	return 0;
}

/* Hand over what is not younger than `until`, at least the first `least`. */
static int
pass(struct time_order *order, uint64_t until, size_t least)
{
	size_t i;
	int err = sort(order);

	for (i = 0; !err && i < order->count && (i < least || order->entries[i].time <= until); i++)
		err = hand_over(order, &order->entries[i]);
	return err ? err : forget(order, i);
}

int
time_order_put(struct time_order *order, const struct record *record, uint32_t event)
{
	int err = 0;

	if (record->time == 0 || record->time == UINT64_MAX)
		return order->sink(order->context, record, event);
	if (record->time < order->gone)
		order->late++;
	if (record->time > order->newest)
		order->newest = record->time;
	if (order->used >= order->limit)
		err = pass(order, 0, order->count / 2 + 1);
	return err ? err : keep(order, record, event);
}

int
time_order_round(struct time_order *order)
{
	const uint64_t until = order->complete;

	order->complete = order->newest;
	return pass(order, until, 0);
}

int
time_order_end(struct time_order *order)
{
	return pass(order, UINT64_MAX, 0);
}

uint64_t
time_order_late(const struct time_order *order)
{
	return order->late;
}

size_t
time_order_memory(const struct time_order *order)
{
	return order->byte_capacity + order->spare_byte_capacity +
	       (order->capacity + order->spare_capacity) * sizeof(struct time_order_entry) +
	       order->run_capacity * sizeof(*order->runs);
}
