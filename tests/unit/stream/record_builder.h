/*
 * record_builder.h - perf records as the kernel lays them out, byte by byte, for tests of the room
 *
 * Field order is that of perf_event_open(2), written by hand here and not taken from the decoder.
 */
#ifndef DCPI_TESTS_RECORD_BUILDER_H
#define DCPI_TESTS_RECORD_BUILDER_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

struct record_builder {
	_Alignas(8) uint8_t data[4096];
	size_t size;
};

static inline void
build_bytes(struct record_builder *builder, const void *data, size_t size)
{
	memcpy(builder->data + builder->size, data, size);
	builder->size += size;
}

static inline void
build_u32(struct record_builder *builder, uint32_t value)
{
	build_bytes(builder, &value, sizeof(value));
}

static inline void
build_u64(struct record_builder *builder, uint64_t value)
{
	build_bytes(builder, &value, sizeof(value));
}

/* A string with its NUL, padded to 8 bytes as the kernel does. */
static inline void
build_text(struct record_builder *builder, const char *text)
{
	static const uint8_t padding[8];

	build_bytes(builder, text, strlen(text) + 1);
	build_bytes(builder, padding, -builder->size % 8);
}

static inline void
build_begin(struct record_builder *builder, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	builder->size = 0;
	build_bytes(builder, &header, sizeof(header));
}

/* The id fields of a record that is no sample, as TID | TIME | IDENTIFIER give them. */
static inline void
build_trailer(struct record_builder *builder, uint32_t pid, uint32_t tid, uint64_t time, uint64_t id)
{
	build_u32(builder, pid);
	build_u32(builder, tid);
	build_u64(builder, time);
	build_u64(builder, id);
}

static inline void
build_end(struct record_builder *builder)
{
	uint16_t size = (uint16_t)builder->size;

	memcpy(builder->data + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

/* A 40-byte sample: IDENTIFIER | IP | TID | TIME. */
static inline void
build_sample(struct record_builder *builder, uint64_t id, uint64_t address, uint32_t pid, uint64_t time)
{
	build_begin(builder, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	build_u64(builder, id);
	build_u64(builder, address);
	build_u32(builder, pid);
	build_u32(builder, pid);
	build_u64(builder, time);
	build_end(builder);
}

#define PLAIN_SAMPLE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

#endif
