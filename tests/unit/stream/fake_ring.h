/*
 * fake_ring.h - memory laid out as the kernel maps a ring, and the kernel's side of writing to it
 */
#ifndef DCPI_TESTS_FAKE_RING_H
#define DCPI_TESTS_FAKE_RING_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/ring.h"
#include "tests/unit/stream/record_builder.h"

struct fake_ring {
	struct perf_event_mmap_page *header;
	uint8_t *data;
	size_t size;
	struct ring *ring;
};

/* One page of data, whose head and tail stand at `start` already. */
static inline void
fake_ring_init(struct fake_ring *fake, uint64_t start)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = NULL;

	assert_int_equal(posix_memalign(&memory, page_size, 2 * page_size), 0);
	memset(memory, 0xee, 2 * page_size);
	memset(memory, 0, sizeof(*fake->header));
	fake->header = memory;
	fake->data = (uint8_t *)memory + page_size;
	fake->size = page_size;
	fake->header->data_head = fake->header->data_tail = start;
	fake->ring = ring_over(memory, 1);
	assert_non_null(fake->ring);
}

static inline void
fake_ring_fini(struct fake_ring *fake)
{
	ring_free(fake->ring);
	free(fake->header);
}

static inline void
fake_ring_write(struct fake_ring *fake, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fake->data[(fake->header->data_head + i) % fake->size] = ((const uint8_t *)data)[i];
	__atomic_store_n(&fake->header->data_head, fake->header->data_head + size, __ATOMIC_RELEASE);
}

static inline void
fake_ring_sample(struct fake_ring *fake, uint64_t address, uint64_t time)
{
	struct record_builder builder;

	build_sample(&builder, 7, address, 42, time);
	fake_ring_write(fake, builder.data, builder.size);
}

/* A comm record without trailer: one that has no time. */
static inline void
fake_ring_comm(struct fake_ring *fake, const char *name)
{
	struct record_builder builder;

	build_begin(&builder, PERF_RECORD_COMM, 0);
	build_u32(&builder, 42);
	build_u32(&builder, 42);
	build_text(&builder, name);
	build_end(&builder);
	fake_ring_write(fake, builder.data, builder.size);
}

#endif
