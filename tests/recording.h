/*
 * recording.h - rings that were recorded on a machine with a PMU (tests/recorded/, made by tests/pmu/record)
 *
 * The file has perf.data's form: its data are the records of every ring, one ring after the other, and a record's ring
 * follows from its id. recording_open() lays them out as the kernel maps rings, for ring_over() to read; records keep
 * the recorded bytes. What is not as it must be ends the program: the file is part of the source.
 */
#ifndef DCPI_TESTS_RECORDING_H
#define DCPI_TESTS_RECORDING_H

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/record.h"

#define RECORDING_ARM64  "tests/recorded/arm64"
#define RECORDING_EVENTS 2 /* cycles, instructions */
#define RECORDING_KINDS  (1 + RECORDING_EVENTS)
#define RECORDING_CPUS   2
#define RECORDING_RINGS  (2 * RECORDING_CPUS)

struct recorded_ring {
	void *memory; /* a header page, then `pages` of data */
	size_t pages;
	uint64_t size; /* bytes of records */
	uint32_t cpu;
	struct record_layout layout;
};

struct ring_recording {
	uint64_t ids[RECORDING_KINDS][RECORDING_CPUS]; /* the sideband's first */
	struct recorded_ring rings[RECORDING_RINGS];   /* sideband of each CPU, samples of each CPU */
};

static inline void
recording_require(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "%s/rings.data: %s\n", RECORDING_ARM64, what);
	abort();
}

/* The id is the first field of a sample, and the last of any other record. */
static inline uint64_t
recording_id(const struct perf_event_header *header)
{
	const char *data = (const char *)header;
	uint64_t id;

	memcpy(&id, header->type == PERF_RECORD_SAMPLE ? data + sizeof(*header) : data + header->size - sizeof(id),
	       sizeof(id));
	return id;
}

static inline struct recorded_ring *
recording_ring(struct ring_recording *recording, uint64_t id)
{
	for (int kind = 0; kind < RECORDING_KINDS; kind++)
		for (int cpu = 0; cpu < RECORDING_CPUS; cpu++)
			if (recording->ids[kind][cpu] == id)
				return &recording->rings[(kind > 0 ? RECORDING_CPUS : 0) + cpu];
	recording_require(0, "a record of no event");
	abort();
}

static inline void
recording_append(struct recorded_ring *ring, const struct perf_event_header *header)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

	recording_require(ring->size + header->size <= ring->pages * page_size, "a ring is larger than expected");
	memcpy((char *)ring->memory + page_size + ring->size, header, header->size);
	ring->size += header->size;
	((struct perf_event_mmap_page *)ring->memory)->data_head = ring->size;
}

static inline char *
recording_read(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *data = malloc(1 << 20);

	recording_require(file && data, "cannot be read; tests run in the project's folder");
	*size = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}

static inline void
recording_layouts(struct ring_recording *recording, const char *attrs, size_t attr_size)
{
	for (int i = 0; i < RECORDING_RINGS; i++) {
		struct recorded_ring *ring = &recording->rings[i];
		struct perf_event_attr attr = {0};

		memcpy(&attr, attrs + (i < RECORDING_CPUS ? 0 : attr_size), PERF_ATTR_SIZE_VER0);
		ring->layout = (struct record_layout){attr.sample_type, attr.sample_id_all};
		ring->cpu = (uint32_t)(i % RECORDING_CPUS);
		ring->pages = 32;
		recording_require(!posix_memalign(&ring->memory, (size_t)sysconf(_SC_PAGESIZE),
		                                  (1 + ring->pages) * (size_t)sysconf(_SC_PAGESIZE)),
		                  "out of memory");
		memset(ring->memory, 0, (size_t)sysconf(_SC_PAGESIZE));
	}
}

/* Each ring is full of its records, none consumed. */
static inline void
recording_open(struct ring_recording *recording)
{
	uint64_t header[8]; /* magic, size, size of an attribute; offset and size of attributes, data */
	size_t size;
	char *file = recording_read(RECORDING_ARM64 "/rings.data", &size);

	memset(recording, 0, sizeof(*recording));
	recording_require(size > sizeof(header), "is not whole");
	memcpy(header, file, sizeof(header));
	recording_require(memcmp(file, "PERFILE2", 8) == 0 && header[4] == RECORDING_KINDS * header[2] &&
	                          header[5] + header[6] == size,
	                  "is not what was recorded");
	memcpy(recording->ids, file + header[1], sizeof(recording->ids));
	recording_layouts(recording, file + header[3], header[2]);
	for (size_t at = header[5]; at < size;) {
		const struct perf_event_header *record = (const struct perf_event_header *)(file + at);

		recording_require(record->size >= 16 && record->size <= size - at, "a record is not whole");
		recording_append(recording_ring(recording, recording_id(record)), record);
		at += record->size;
	}
	free(file);
}

static inline void
recording_close(struct ring_recording *recording)
{
	for (int i = 0; i < RECORDING_RINGS; i++)
		free(recording->rings[i].memory);
}

/* Which event has this id: 0 for cycles, 1 for instructions. */
static inline int
recording_event(const struct ring_recording *recording, uint64_t id)
{
	for (int event = 0; event < RECORDING_EVENTS; event++)
		for (int cpu = 0; cpu < RECORDING_CPUS; cpu++)
			if (recording->ids[1 + event][cpu] == id)
				return event;
	recording_require(0, "a sample of no event");
	abort();
}

#endif
