#include "stream/perf_swap.h"

#include <stddef.h>
#include <string.h>

#include "stream/record_wide.h"

#define WORD 8 /* bytes */

/* How the kernel's records begin: sizes of the fields in turn, '.' for eight bytes that stay. Texts stay, too. */
static const struct {
	uint32_t type;
	const char *fields;
} bodies[] = {
	{PERF_RECORD_MMAP, "44888"},   {PERF_RECORD_COMM, "44"},        {PERF_RECORD_FORK, "44448"},
	{PERF_RECORD_EXIT, "44448"},   {PERF_RECORD_LOST, "88"},        {PERF_RECORD_LOST_SAMPLES, "8"},
	{PERF_RECORD_THROTTLE, "888"}, {PERF_RECORD_UNTHROTTLE, "888"}, {PERF_RECORD_KSYMBOL, "8422"},
	{PERF_RECORD_CGROUP, "8"},
};
#define BODY_COUNT (sizeof(bodies) / sizeof(bodies[0]))

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
	for (size_t i = 0; i + WORD <= size; i += WORD) {
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
	uint8_t half[WORD / 2];

	memcpy(half, at, sizeof(half));
	memcpy(at, at + sizeof(half), sizeof(half));
	memcpy(at + sizeof(half), half, sizeof(half));
}

static unsigned
words_of(uint64_t fields)
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
	size_t tid = words_of(fields & before_tid) * (size_t)WORD;
	size_t wide = words_of(fields & narrow) * (size_t)WORD;
	size_t raw;

	swap_words(at, size);
	if (wide > size)
		return;
	if (fields & PERF_SAMPLE_TID)
		split_word(at + tid);
	if (fields & PERF_SAMPLE_CPU)
		split_word(at + wide - words_of(fields & (PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)) * (size_t)WORD);
	raw = record_raw_offset(layout, at + wide, size - wide);
	if (raw != SIZE_MAX)
		split_word(at + wide + raw);
}

static size_t
swap_fields(const char *fields, uint8_t *at, size_t size)
{
	size_t done = 0;

	for (; *fields; fields++) {
		size_t field = *fields == '.' ? WORD : (size_t)(*fields - '0');

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
	size_t trailer = words_of(sample_type & all) * (size_t)WORD;
	size_t behind_cpu = words_of(sample_type & (PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)) * (size_t)WORD;

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
body_of(const struct perf_event_header *header)
{
	if (header->type == PERF_RECORD_MMAP2)
		return header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? "44888...44" : "44888448844";
	for (size_t i = 0; i < BODY_COUNT; i++)
		if (bodies[i].type == header->type)
			return bodies[i].fields;
	return "";
}

void
perf_swap_header(struct perf_event_header *header)
{
	header->type = __builtin_bswap32(header->type);
	header->misc = __builtin_bswap16(header->misc);
	header->size = __builtin_bswap16(header->size);
}

void
perf_swap_record(const struct record_layout *layout, const struct perf_event_header *header, uint8_t *data)
{
	uint8_t *body = data + sizeof(*header);
	size_t size = header->size - sizeof(*header), done;

	memcpy(data, header, sizeof(*header));
	if (header->type == PERF_RECORD_SAMPLE) {
		swap_sample(layout, body, size);
		return;
	}
	done = swap_fields(body_of(header), body, size);
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
perf_swap_attr(struct perf_event_attr *attr)
{
	uint8_t *bytes = (uint8_t *)attr;
	const size_t flags = offsetof(struct perf_event_attr, read_format) + WORD;

	swap_fields("448888", bytes, sizeof(*attr));
	reverse_bits(bytes + flags, WORD);
	swap_fields("448888448422448", bytes + flags + WORD, sizeof(*attr) - flags - WORD);
}
