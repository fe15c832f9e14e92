/*
 * mem_recording - write what `perf mem record` or `perf c2c record` would have recorded of this program
 *
 * mem_recording KIND FILE: a perf.data of samples of accesses to variables of this program, as if threads of it ran on
 * another machine. Which level served a sample is made up as PMUs say it:
 *   intel   loads and stores of PEBS, on two nodes
 *   amd     operations of IBS, on four nodes
 *   arm     what perf makes of the records of SPE, on two nodes
 *   all     every operation with each level, snoop, lock, distance and block, on two nodes
 *   plain   cycles, without addresses
 * With a third argument, no nodes are described. The format: tools/perf/Documentation/perf.data-file-format.txt of
 * linux.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/perf_file.h"

#define ROOM        ((size_t)16 << 20)
#define THREADS     8
#define PER_NODE    4 /* CPUs */
#define STEP_NS     1000
#define ROUND       500 /* samples */
#define LINE        64
#define ARRAY_BYTES 65536
#define ROUNDS      400

#define SAMPLE_FIELDS                                                                                                  \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |   \
	 PERF_SAMPLE_DATA_SRC)

#define LEVEL(bits)    PERF_MEM_S(LVL, bits)
#define NUMBER(number) PERF_MEM_S(LVLNUM, number)
#define REMOTE         PERF_MEM_S(REMOTE, REMOTE)
#define HITM           PERF_MEM_S(SNOOP, HITM)
#define PEER           PERF_MEM_S(SNOOPX, PEER)
#define LOAD           PERF_MEM_S(OP, LOAD)
#define STORE          PERF_MEM_S(OP, STORE)
#define HIT            LEVEL(HIT)
#define MISS           LEVEL(MISS)

/* What is accessed. Written here, so that they are in the file's data, not in memory without a file. */
struct split_variables {
	uint64_t limit; /* read by all */
	uint64_t count; /* written by one */
};
static __attribute__((aligned(LINE))) uint64_t thread_counts[LINE / sizeof(uint64_t)] = {1};
static __attribute__((aligned(LINE))) struct split_variables shared_state = {1, 1};
static __attribute__((aligned(4096))) char on_one_node[ARRAY_BYTES] = {1};
static __attribute__((aligned(4096))) char on_all_nodes[ARRAY_BYTES] = {1};
static __attribute__((aligned(4096))) char own_data[ARRAY_BYTES] = {1};

/* What a kind of recording is. */
struct recording_kind {
	const char *name, *cpu, *cpu_id, *architecture;
	unsigned nodes;
	uint64_t weight_field;
	const char *events[2]; /* of loads; of stores, if it has one of its own */
	uint64_t configs[2];
	uint32_t type;
	uint64_t own_hit, own_store, transfer, far_transfer, local, remote;
};

static const struct recording_kind kinds[] = {
	{"intel",
         "Intel(R) Xeon(R) Gold 6148",
         "GenuineIntel,6,85,4",
         "x86_64",
         2,
         PERF_SAMPLE_WEIGHT_STRUCT,
         {"cpu/mem-loads,ldlat=30/P", "cpu/mem-stores/P"},
         {0x1cd, 0x82d0},
         PERF_TYPE_RAW,
         LEVEL(L1) | HIT | NUMBER(L1),
         LEVEL(L1) | HIT,
         LEVEL(L3) | HIT | NUMBER(L3) | HITM,
         LEVEL(REM_CCE1) | HIT | NUMBER(L3) | REMOTE | HITM,
         LEVEL(LOC_RAM) | HIT | NUMBER(RAM),
         LEVEL(REM_RAM1) | HIT | NUMBER(RAM) | REMOTE},
	{"amd",
         "AMD EPYC 7551",
         "AuthenticAMD,23,1,2",
         "x86_64",
         4,
         PERF_SAMPLE_WEIGHT,
         {"ibs_op//", NULL},
         {0, 0},
         11,
         LEVEL(L1) | HIT | NUMBER(L1),
         LEVEL(L1) | HIT | NUMBER(L1),
         LEVEL(L3) | HIT | NUMBER(L3) | HITM,
         LEVEL(REM_CCE1) | HIT | NUMBER(ANY_CACHE) | REMOTE | HITM | PERF_MEM_S(HOPS, 2),
         LEVEL(LOC_RAM) | HIT | NUMBER(RAM),
         LEVEL(REM_RAM1) | HIT | NUMBER(RAM) | REMOTE | PERF_MEM_S(HOPS, 2)},
	{"arm",
         "Neoverse-N1",
         "0x00000000413fd0c1",
         "aarch64",
         2,
         PERF_SAMPLE_WEIGHT_STRUCT,
         {"memory", NULL},
         {0x1000, 0},
         30,
         LEVEL(L1) | HIT | NUMBER(L1),
         LEVEL(L1) | HIT | NUMBER(L1),
         LEVEL(L3) | HIT | NUMBER(L3) | PEER,
         LEVEL(REM_CCE1) | NUMBER(ANY_CACHE) | REMOTE | PEER,
         LEVEL(LOC_RAM) | HIT | NUMBER(RAM),
         LEVEL(REM_RAM1) | HIT | NUMBER(RAM) | REMOTE},
	{"all",
         "made up",
         "GenuineIntel,6,85,4",
         "x86_64",
         2,
         PERF_SAMPLE_WEIGHT_STRUCT,
         {"cpu/mem-loads,ldlat=30/P", "cpu/mem-stores/P"},
         {0x1cd, 0x82d0},
         PERF_TYPE_RAW,
         0,
         0,
         0,
         0,
         0,
         0},
	{"plain",
         "made up",
         "GenuineIntel,6,85,4",
         "x86_64",
         2,
         0,
         {"cycles", NULL},
         {0, 0},
         PERF_TYPE_HARDWARE,
         0,
         0,
         0,
         0,
         0,
         0},
};

/* The file, as it grows. */
struct mem_recording {
	const struct recording_kind *kind;
	bool has_nodes;
	uint8_t *bytes;
	size_t size, record;
	uint64_t now;
	unsigned samples;
};

static void
fail(const char *what)
{
	fprintf(stderr, "mem_recording: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
put(struct mem_recording *file, const void *bytes, size_t size)
{
	if (file->size + size > ROOM)
		fail("it becomes too long");
	memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static void
put_u32(struct mem_recording *file, uint32_t number)
{
	put(file, &number, sizeof(number));
}

static void
put_u64(struct mem_recording *file, uint64_t number)
{
	put(file, &number, sizeof(number));
}

/* With its end, and zeros up to a multiple of eight bytes. */
static void
put_text(struct mem_recording *file, const char *text)
{
	static const char zeros[8];
	const size_t size = strlen(text) + 1;

	put(file, text, size);
	put(file, zeros, -size % sizeof(zeros));
}

/* As features have texts: behind their size. */
static void
put_sized(struct mem_recording *file, const char *text)
{
	put_u32(file, (uint32_t)(strlen(text) + 8) / 8 * 8);
	put_text(file, text);
}

/* ---- records ---- */

static void
begin_record(struct mem_recording *file, uint32_t type, uint16_t misc)
{
	file->record = file->size;
	put(file, &(struct perf_event_header){.type = type, .misc = misc}, sizeof(struct perf_event_header));
}

static void
end_record(struct mem_recording *file)
{
	const uint16_t size = (uint16_t)(file->size - file->record);

	memcpy(file->bytes + file->record + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

/* TID, TIME, ID and CPU of records that are no samples. */
static void
put_identity(struct mem_recording *file)
{
	put_u32(file, (uint32_t)getpid());
	put_u32(file, (uint32_t)getpid());
	put_u64(file, file->now);
	put_u64(file, 1);
	put_u64(file, 0);
}

static void
put_name(struct mem_recording *file)
{
	begin_record(file, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_u32(file, (uint32_t)getpid());
	put_u32(file, (uint32_t)getpid());
	put_text(file, "mem_recording");
	put_identity(file);
	end_record(file);
}

static void
put_mapping(struct mem_recording *file, const char *line)
{
	uint64_t start, end, offset, inode;
	unsigned device_major, device_minor;
	char access[5], path[4096] = "//anon";

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %4095[^\n]", &start, &end, access,
	           &offset, &device_major, &device_minor, &inode, path) < 7)
		return;
	begin_record(file, PERF_RECORD_MMAP2,
	             PERF_RECORD_MISC_USER | (access[2] == 'x' ? 0 : PERF_RECORD_MISC_MMAP_DATA));
	put_u32(file, (uint32_t)getpid());
	put_u32(file, (uint32_t)getpid());
	put_u64(file, start);
	put_u64(file, end - start);
	put_u64(file, offset);
	put_u32(file, device_major);
	put_u32(file, device_minor);
	put_u64(file, inode);
	put_u64(file, 0);
	put_u32(file, (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) |
	                      (access[2] == 'x' ? PROT_EXEC : 0));
	put_u32(file, MAP_PRIVATE);
	put_text(file, path);
	put_identity(file);
	end_record(file);
}

/* All that this program maps. */
static void
put_mappings(struct mem_recording *file)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[8192];

	if (!maps)
		fail("/proc/self/maps");
	while (fgets(line, sizeof(line), maps))
		put_mapping(file, line);
	fclose(maps);
}

/* The end of a round: behind the next one, nothing is older than before this one. */
static void
put_round(struct mem_recording *file)
{
	begin_record(file, 68, 0);
	end_record(file);
}

static unsigned
cpu_of(const struct mem_recording *file, unsigned thread)
{
	return thread % file->kind->nodes * PER_NODE + thread / file->kind->nodes % PER_NODE;
}

static void __attribute__((noinline))
access_memory(struct mem_recording *file, unsigned thread, uint64_t address, uint64_t source, uint32_t cycles)
{
	const bool has_two = file->kind->events[1], is_store = source & STORE;

	file->now += STEP_NS;
	begin_record(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(file, (uint64_t)(uintptr_t)access_memory + 1);
	put_u32(file, (uint32_t)getpid());
	put_u32(file, (uint32_t)getpid() + thread);
	put_u64(file, file->now);
	if (file->kind->weight_field)
		put_u64(file, address);
	put_u64(file, has_two && is_store ? 2 : 1);
	put_u64(file, cpu_of(file, thread));
	if (file->kind->weight_field) {
		put_u64(file, cycles);
		put_u64(file, source);
	}
	end_record(file);
	if (++file->samples % ROUND == 0)
		put_round(file);
}

/* ---- what threads do ---- */

static uint64_t
address_of(const void *variable)
{
	return (uint64_t)(uintptr_t)variable;
}

/* Each thread counts in its own word of one line; one counts in a line whose other word all read. */
static void
share_falsely(struct mem_recording *file)
{
	const struct recording_kind *kind = file->kind;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const unsigned thread = i % THREADS;
		const uint64_t from = i % 3 ? kind->transfer : kind->far_transfer;

		access_memory(file, thread, address_of(&thread_counts[thread]), LOAD | from, 300);
		access_memory(file, thread, address_of(&thread_counts[thread]), STORE | kind->own_store, 0);
		if (thread)
			access_memory(file, thread, address_of(&shared_state.limit), LOAD | from, 250);
		access_memory(file, 0, address_of(&shared_state.count), STORE | kind->own_store, 0);
		access_memory(file, 0, address_of(&shared_state.count), LOAD | kind->transfer, 90);
	}
}

/* All threads read and write two arrays: one whose pages are on the last node, one whose pages are on all in turn. */
static void
use_nodes(struct mem_recording *file)
{
	const struct recording_kind *kind = file->kind;
	uint32_t random = 1;

	for (unsigned i = 0; i < ROUNDS * 8; i++) {
		const unsigned thread = i % THREADS, node = thread % kind->nodes;
		const uint64_t op = i / THREADS % 4 ? LOAD : STORE;
		uint64_t offset, page;

		random = random * 1664525 + 1013904223;
		offset = (random >> 8) % ARRAY_BYTES & ~UINT64_C(7);
		page = offset / 4096;
		access_memory(file, thread, address_of(on_one_node + offset),
		              op | (node == kind->nodes - 1 ? kind->local : kind->remote), 200 + random % 100);
		access_memory(file, thread, address_of(on_all_nodes + offset),
		              op | (page % kind->nodes == node ? kind->local : kind->remote), 200 + random % 100);
		access_memory(file, thread, address_of(own_data + offset), op | kind->own_hit, 5);
	}
}

/* Samples with each level, snoop, lock and operation that there is, several of them together. */
static void
do_everything(struct mem_recording *file)
{
	static const uint64_t operations[] = {
		0, PERF_MEM_S(OP, NA), LOAD, STORE, LOAD | STORE, PERF_MEM_S(OP, PFETCH), PERF_MEM_S(OP, EXEC)};
	static const uint64_t levels[] = {0,
	                                  LEVEL(NA),
	                                  LEVEL(L1) | NUMBER(L1),
	                                  LEVEL(LFB) | NUMBER(LFB),
	                                  LEVEL(L2) | NUMBER(L2),
	                                  LEVEL(L3) | NUMBER(L3),
	                                  LEVEL(LOC_RAM) | NUMBER(RAM),
	                                  LEVEL(REM_RAM1) | NUMBER(RAM),
	                                  LEVEL(REM_RAM2) | NUMBER(RAM),
	                                  LEVEL(REM_CCE1) | NUMBER(ANY_CACHE),
	                                  LEVEL(REM_CCE2) | NUMBER(ANY_CACHE),
	                                  LEVEL(IO) | NUMBER(IO),
	                                  LEVEL(UNC),
	                                  LEVEL(L3) | LEVEL(LOC_RAM),
	                                  NUMBER(PMEM),
	                                  NUMBER(CXL)};
	static const uint64_t snoops[] = {0,
	                                  PERF_MEM_S(SNOOP, NA),
	                                  PERF_MEM_S(SNOOP, NONE),
	                                  PERF_MEM_S(SNOOP, HIT),
	                                  PERF_MEM_S(SNOOP, MISS),
	                                  HITM,
	                                  PEER,
	                                  PERF_MEM_S(SNOOPX, FWD),
	                                  HITM | PEER,
	                                  PERF_MEM_S(SNOOP, HIT) | PEER};
	static const uint64_t results[] = {0, HIT, MISS};
	static const uint64_t distances[] = {0, REMOTE, REMOTE | PERF_MEM_S(HOPS, 0), REMOTE | PERF_MEM_S(HOPS, 2)};
	static const uint64_t blocks[] = {0, PERF_MEM_S(BLK, DATA), PERF_MEM_S(BLK, ADDR), PERF_MEM_S(LOCK, LOCKED),
	                                  PERF_MEM_S(LOCK, NA)};
	uint32_t random = 1;

#define EACH(list, index) for (size_t index = 0; index < sizeof(list) / sizeof(*(list)); index++)
	EACH(operations, o)
	EACH(levels, l)
	EACH(snoops, s)
	EACH(results, r)
	EACH(distances, d)
	{
		const uint64_t source = operations[o] | levels[l] | snoops[s] | results[r] | distances[d] |
		                        blocks[random % (sizeof(blocks) / sizeof(*blocks))];
		uint64_t address = address_of(own_data) + random / 64 % ARRAY_BYTES;

		random = (random * 1664525 + 1013904223) >> 1;
		if (random % 17 == 0)
			address = 0;
		else if (random % 13 == 0)
			address = random % 3 ? 64 : UINT64_MAX - random % 2; /* where nothing is mapped */
		access_memory(file, random % THREADS, address, source, random % 5 ? random % 1000 : 0);
	}
#undef EACH
}

/* ---- the file ---- */

static void
put_attr(struct mem_recording *file, unsigned event)
{
	const struct recording_kind *kind = file->kind;
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = kind->type,
		.config = kind->configs[event],
		.sample_period = 10007,
		.sample_type = kind->weight_field
	                               ? SAMPLE_FIELDS | kind->weight_field
	                               : SAMPLE_FIELDS & ~(uint64_t)(PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC),
		.read_format = PERF_FORMAT_ID,
		.sample_id_all = 1,
		.precise_ip = 2,
		.mmap = event == 0,
		.mmap2 = event == 0,
		.mmap_data = event == 0,
		.comm = event == 0,
		.comm_exec = event == 0,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	put(file, &attr, sizeof(attr));
}

/* Names of the events, each with its attribute and counters. */
static void
put_events(struct mem_recording *file, unsigned count)
{
	put_u32(file, count);
	put_u32(file, sizeof(struct perf_event_attr));
	for (unsigned i = 0; i < count; i++) {
		put_attr(file, i);
		put_u32(file, 1);
		put_sized(file, file->kind->events[i]);
		put_u64(file, i + 1);
	}
}

static void
put_nodes(struct mem_recording *file)
{
	char list[32];

	put_u32(file, file->kind->nodes);
	for (unsigned i = 0; i < file->kind->nodes; i++) {
		put_u32(file, i);
		put_u64(file, 1 << 20);
		put_u64(file, 1 << 19);
		snprintf(list, sizeof(list), "%u-%u", i * PER_NODE, (i + 1) * PER_NODE - 1);
		put_sized(file, list);
	}
}

static void
put_feature(struct mem_recording *file, unsigned feature, unsigned event_count)
{
	switch (feature) {
	case 3:
		put_sized(file, "rose");
		return;
	case 4:
		put_sized(file, "6.1.0");
		return;
	case 6:
		put_sized(file, file->kind->architecture);
		return;
	case 7:
		put_u32(file, file->kind->nodes * PER_NODE);
		put_u32(file, file->kind->nodes * PER_NODE);
		return;
	case 8:
		put_sized(file, file->kind->cpu);
		return;
	case 9:
		put_sized(file, file->kind->cpu_id);
		return;
	case 12:
		put_events(file, event_count);
		return;
	default:
		put_nodes(file);
		return;
	}
}

/* What describes the machine and the events: a table of places, then they. */
static void
put_features(struct mem_recording *file, unsigned event_count, struct perf_file_header *header)
{
	static const unsigned features[] = {3, 4, 6, 7, 8, 9, 12, 14};
	const size_t count = sizeof(features) / sizeof(*features) - !file->has_nodes, table = file->size;

	for (size_t i = 0; i < 2 * count; i++)
		put_u64(file, 0);
	for (size_t i = 0; i < count; i++) {
		struct perf_file_section section = {.offset = file->size};

		put_feature(file, features[i], event_count);
		section.size = file->size - section.offset;
		memcpy(file->bytes + table + i * sizeof(section), &section, sizeof(section));
		header->features[0] |= UINT64_C(1) << features[i];
	}
}

static void
make(struct mem_recording *file)
{
	struct perf_file_header header = {.magic = "PERFILE2", .size = sizeof(header)};
	const unsigned event_count = file->kind->events[1] ? 2 : 1;

	put(file, &header, sizeof(header));
	for (unsigned i = 0; i < event_count; i++)
		put_u64(file, i + 1);
	header.attr_size = sizeof(struct perf_event_attr) + sizeof(struct perf_file_section);
	header.attrs.offset = file->size;
	for (unsigned i = 0; i < event_count; i++) {
		put_attr(file, i);
		put_u64(file, sizeof(header) + i * sizeof(uint64_t));
		put_u64(file, sizeof(uint64_t));
	}
	header.attrs.size = header.data.offset = file->size;
	header.attrs.size -= header.attrs.offset;
	put_name(file);
	put_mappings(file);
	if (strcmp(file->kind->name, "all") == 0) {
		do_everything(file);
	} else if (file->kind->weight_field) {
		share_falsely(file);
		use_nodes(file);
	} else {
		access_memory(file, 0, 0, 0, 0);
	}
	put_round(file);
	header.data.size = file->size - header.data.offset;
	put_features(file, event_count, &header);
	memcpy(file->bytes, &header, sizeof(header));
}

int
main(int argc, char **argv)
{
	struct mem_recording file = {.bytes = malloc(ROOM), .now = UINT64_C(1000000000), .has_nodes = argc == 3};
	FILE *stream;

	for (size_t i = 0; argc >= 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		file.kind = strcmp(kinds[i].name, argv[1]) == 0 ? &kinds[i] : file.kind;
	if (!file.kind || !file.bytes) {
		fputs("usage: mem_recording intel|amd|arm|all|plain FILE [without-nodes]\n", stderr);
		return 2;
	}
	make(&file);
	stream = fopen(argv[2], "we");
	if (!stream || fwrite(file.bytes, file.size, 1, stream) != 1 || fclose(stream))
		fail(argv[2]);
	free(file.bytes);
	return 0;
}
