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
 *   spe     records of SPE themselves, of Neoverse N1, with the thread in each
 *   spe-events  those of a model that says by events which caches missed; records of switches say which thread ran
 *   spe-all, spe-events-all  every operation with each event and data source; the number of atomics is printed
 *   spe-timeless  those of spe, and nothing that says what time a tick is
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
	/* what served an access: as a sample has it, or, with `is_spe`, as CODE() and EVENTS() have it
	 */
	uint64_t own_hit, own_store, transfer, far_transfer, local, remote;
	bool is_spe, has_context, is_timeless;
};

#define CODE(code)     ((uint64_t)(code) << 16 | EVENTS(0x16)) /* the operation is below */
#define EVENTS(events) ((uint64_t)(events) << 32)
#define SPE_TYPE       31
#define SPE_EVENT                                                                                                      \
	{                                                                                                              \
		"arm_spe_0/ts_enable=1,load_filter=1,store_filter=1/", NULL                                            \
	}
#define NEOVERSE_N1 "Neoverse-N1", "0x00000000413fd0c1", "aarch64"
#define THUNDERX2   "ThunderX2 99xx", "0x00000000431f0af1", "aarch64"
/* retired, and: L1 access 0x04, L1 refill 0x08, TLB access 0x10, LLC access 0x100, LLC miss 0x200, remote 0x400 */
#define BY_CODE   CODE(0x0), CODE(0x0), CODE(0xa), CODE(0xd), CODE(0xe), CODE(0xd)
#define BY_EVENTS EVENTS(0x16), EVENTS(0x16), EVENTS(0x11e), EVENTS(0x71e), EVENTS(0x31e), EVENTS(0x71e)

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
	{"spe", NEOVERSE_N1, 2, 0, SPE_EVENT, {0x600000001, 0}, SPE_TYPE, BY_CODE, true, true, false},
	{"spe-timeless", NEOVERSE_N1, 2, 0, SPE_EVENT, {0x600000001, 0}, SPE_TYPE, BY_CODE, true, true, true},
	{"spe-all", NEOVERSE_N1, 2, 0, SPE_EVENT, {0x600000001, 0}, SPE_TYPE, BY_CODE, true, true, false},
	{"spe-events", THUNDERX2, 2, 0, SPE_EVENT, {0x600000001, 0}, SPE_TYPE, BY_EVENTS, true, false, false},
	{"spe-events-all", THUNDERX2, 2, 0, SPE_EVENT, {0x600000001, 0}, SPE_TYPE, BY_EVENTS, true, false, false},
};

/* Where SPE of a CPU writes: the area goes round, and perf copies what is new. */
#define AREAS       8
#define AREA_ROOM   ((size_t)1 << 16)
#define TICK_NS     40
#define TIME_ZERO   UINT64_C(500000000) /* ns at tick 0 */
#define PIECES_ROOM 4096

struct written_area {
	uint8_t bytes[AREA_ROOM]; /* those that are not in the file yet */
	size_t size;
	uint64_t offset; /* of the first of them */
	unsigned thread; /* that ran last, and 1; 0: none */
};

/* The file, as it grows. */
struct mem_recording {
	const struct recording_kind *kind;
	bool has_nodes;
	uint8_t *bytes;
	size_t size, record;
	uint64_t now;
	unsigned samples;
	unsigned atomics;
	struct written_area areas[AREAS]; /* of SPE, by CPU */
	struct perf_file_section pieces[PIECES_ROOM];
	size_t piece_count;
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

/* ---- records of SPE, after the Arm Architecture Reference Manual ---- */

struct spe_access {
	unsigned thread;
	uint64_t address;
	uint8_t class, operation;
	unsigned event_bytes; /* 1, 2, 4, 8 */
	uint64_t events;
	uint16_t source;
	bool has_wide_source, is_kernel, has_physical;
	uint16_t cycles;
};

static void
put_packet(struct written_area *area, uint8_t header, uint64_t payload, size_t size)
{
	area->bytes[area->size++] = header;
	for (size_t i = 0; i < size; i++)
		area->bytes[area->size++] = (uint8_t)(payload >> 8 * i);
}

/* Who runs on the CPU from half a step ago on: 0 is the idle thread. */
static void
put_switch(struct mem_recording *file, unsigned cpu, uint32_t from, uint32_t to)
{
	begin_record(file, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT);
	put_u32(file, to ? (uint32_t)getpid() : 0);
	put_u32(file, to);
	put_u32(file, from ? (uint32_t)getpid() : 0);
	put_u32(file, from);
	put_u64(file, file->now - STEP_NS / 2);
	put_u64(file, 1);
	put_u64(file, cpu);
	end_record(file);
}

/* What the areas have that is not in the file. */
static void
put_areas(struct mem_recording *file)
{
	for (unsigned cpu = 0; cpu < AREAS; cpu++) {
		struct written_area *area = &file->areas[cpu];
		size_t begin;

		if (!area->size)
			continue;
		begin_record(file, PERF_RECORD_AUX, 0);
		put_u64(file, area->offset);
		put_u64(file, area->size);
		put_u64(file, 0);
		put_identity(file);
		end_record(file);
		if (file->piece_count == PIECES_ROOM)
			fail("there are too many pieces");
		begin = file->size;
		begin_record(file, 71, 0);
		put_u64(file, area->size);
		put_u64(file, area->offset);
		put_u64(file, 0);
		put_u32(file, cpu);
		put_u32(file, UINT32_MAX);
		put_u32(file, cpu);
		put_u32(file, 0);
		end_record(file);
		/* perf lists its records, without the bytes that follow them */
		file->pieces[file->piece_count++] = (struct perf_file_section){begin, file->size - begin};
		put(file, area->bytes, area->size);
		area->offset += area->size;
		area->size = 0;
	}
}

static void __attribute__((noinline)) access_by_spe(struct mem_recording *file, const struct spe_access *access)
{
	const unsigned cpu = cpu_of(file, access->thread);
	const uint64_t pc = access->is_kernel ? UINT64_C(0xc0ff800010081000)
	                                      : UINT64_C(1) << 63 | ((uint64_t)(uintptr_t)access_by_spe + 4);
	const uint32_t tid = (uint32_t)getpid() + access->thread;
	struct written_area *area = &file->areas[cpu];
	unsigned events = 0;

	file->now += STEP_NS;
	if (!file->kind->has_context && area->thread != access->thread + 1) {
		put_switch(file, cpu, area->thread ? (uint32_t)getpid() + area->thread - 1 : 0, tid);
		area->thread = access->thread + 1;
	}
	while (1U << events < access->event_bytes)
		events++;
	put_packet(area, 0xb0, pc, 8);
	if (file->kind->has_context)
		put_packet(area, 0x65, tid, 4);
	put_packet(area, (uint8_t)(0x42 | events << 4), access->events, access->event_bytes);
	put_packet(area, 0x48 | access->class, access->operation, 1);
	put_packet(area, 0x99, access->cycles / 2, 2);
	put_packet(area, 0x98, access->cycles, 2);
	put_packet(area, 0xb2, access->address, 8);
	put_packet(area, 0x9a, 1, 2);
	put_packet(area, access->has_wide_source ? 0x53 : 0x43, access->source, access->has_wide_source ? 2 : 1);
	if (access->has_physical)
		put_packet(area, 0xb3, UINT64_C(1) << 63 | access->address % 65536, 8);
	put_packet(area, 0x71, (file->now - TIME_ZERO) / TICK_NS, 8);
	while (area->size % 64)
		put_packet(area, 0, 0, 0);
	/* the idle thread runs for a while */
	if (!file->kind->has_context && file->samples % 7 == 0) {
		file->now += STEP_NS;
		put_switch(file, cpu, tid, 0);
		area->thread = 0;
	}
	if (++file->samples % ROUND == 0) {
		put_areas(file);
		put_round(file);
	}
}

/* ---- accesses ---- */

static void __attribute__((noinline))
access_memory(struct mem_recording *file, unsigned thread, uint64_t address, uint64_t source, uint32_t cycles)
{
	const bool has_two = file->kind->events[1], is_store = source & STORE;

	if (file->kind->is_spe) {
		access_by_spe(file, &(const struct spe_access){
					    .thread = thread,
					    .address = address,
					    .class = 1,
					    .operation = is_store,
					    .event_bytes = 2,
					    .events = source >> 32,
					    .source = source >> 16 & 0xf,
					    .cycles = (uint16_t)cycles,
				    });
		return;
	}
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

/* Each operation with each event and data source, from memory that is mapped and that is not. */
static void
do_everything_by_spe(struct mem_recording *file)
{
	static const uint8_t operations[] = {0x00, 0x01, 0x04, 0x05, 0x06, 0x07, 0x0a, 0x0b, 0x12, 0x13, 0x16, 0x1e,
	                                     0x10, 0x11, 0x14, 0x15, 0x20, 0x21, 0x25, 0x30, 0x08, 0x0c, 0x88, 0x89};
	uint32_t random = 1;

	for (unsigned i = 0; i < 65536; i++) {
		struct spe_access access = {.thread = i % THREADS, .class = 1, .event_bytes = 2};

		random = (random * 1664525 + 1013904223) >> 1;
		access.operation = operations[random / 16 % sizeof(operations)];
		access.event_bytes = 1U << random / 1024 % 4;
		access.events = (random / 4096 * UINT64_C(0x9e3779b97f4a7c15)) >>
		                (64 - 8 * (access.event_bytes < 4 ? access.event_bytes : 4));
		access.source = i % 16;
		access.has_wide_source = random / 64 % 2;
		access.has_physical = random / 128 % 2;
		access.cycles = random % 5 ? (uint16_t)(random % 4000) : 0;
		access.is_kernel = random % 19 == 0;
		access.address = address_of(own_data) + random / 64 % ARRAY_BYTES;
		if (random % 17 == 0)
			access.address = 0;
		else if (random % 13 == 0)
			access.address = 64; /* where nothing is mapped */
		/* perf 6.1 takes conditional branches for loads, and indirect ones for stores: these are neither */
		if (random % 11 == 0) {
			access.class = random % 2 ? 0 : 2;
			access.operation = 0;
		}
		file->atomics += access.class == 1 && (access.operation & 0xe2) == 2 && access.operation & 4;
		access_by_spe(file, &access);
	}
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
		.context_switch = kind->is_spe && !kind->has_context,
		.read_format = PERF_FORMAT_ID,
		.sample_id_all = 1,
		.precise_ip = 2,
		.mmap = event == 0,
		.mmap2 = event == 0,
		.mmap_data = event == 0,
		.comm = event == 0,
		.comm_exec = event == 0,
		.use_clockid = !kind->is_spe,
		.clockid = kind->is_spe ? 0 : CLOCK_MONOTONIC,
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
	case 18: /* where the pieces of areas are */
		put_u64(file, file->piece_count);
		put(file, file->pieces, file->piece_count * sizeof(*file->pieces));
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
	static const unsigned all[] = {3, 4, 6, 7, 8, 9, 12, 14, 18};
	const size_t table = file->size;
	unsigned features[sizeof(all) / sizeof(*all)];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if ((all[i] != 14 || file->has_nodes) && (all[i] != 18 || file->kind->is_spe))
			features[count++] = all[i];
	}

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

/* How the areas are read, and of whom the threads are. */
static void
put_spe(struct mem_recording *file)
{
	if (!file->kind->is_timeless) {
		begin_record(file, 79, 0);
		put_u64(file, 24);
		put_u64(file, (uint64_t)TICK_NS << 24);
		put_u64(file, TIME_ZERO);
		put_u64(file, 0);
		put_u64(file, UINT64_MAX);
		put_u64(file, 1); /* the time at tick 0 is known, and the counter has 64 bits */
		end_record(file);
	}
	begin_record(file, 70, 0);
	put_u32(file, 4); /* SPE */
	put_u32(file, 0);
	put_u64(file, SPE_TYPE);
	put_u64(file, 1); /* an area for each CPU */
	end_record(file);
	for (unsigned thread = 1; thread < THREADS; thread++) {
		begin_record(file, PERF_RECORD_FORK, 0);
		put_u32(file, (uint32_t)getpid());
		put_u32(file, (uint32_t)getpid());
		put_u32(file, (uint32_t)getpid() + thread);
		put_u32(file, (uint32_t)getpid());
		put_u64(file, file->now);
		put_identity(file);
		end_record(file);
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
	if (file->kind->is_spe)
		put_spe(file);
	put_mappings(file);
	if (strcmp(file->kind->name, "all") == 0) {
		do_everything(file);
	} else if (strstr(file->kind->name, "-all")) {
		do_everything_by_spe(file);
	} else if (file->kind->weight_field || file->kind->is_spe) {
		share_falsely(file);
		use_nodes(file);
	} else {
		access_memory(file, 0, 0, 0, 0);
	}
	put_areas(file);
	put_round(file);
	header.data.size = file->size - header.data.offset;
	put_features(file, event_count, &header);
	memcpy(file->bytes, &header, sizeof(header));
}

int
main(int argc, char **argv)
{
	static struct mem_recording file;
	FILE *stream;

	file.bytes = malloc(ROOM);
	file.now = UINT64_C(1000000000);
	file.has_nodes = argc == 3;

	for (size_t i = 0; argc >= 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		file.kind = strcmp(kinds[i].name, argv[1]) == 0 ? &kinds[i] : file.kind;
	if (!file.kind || !file.bytes) {
		fputs("usage: mem_recording KIND FILE [without-nodes]\n", stderr);
		return 2;
	}
	make(&file);
	stream = fopen(argv[2], "we");
	if (!stream || fwrite(file.bytes, file.size, 1, stream) != 1 || fclose(stream))
		fail(argv[2]);
	free(file.bytes);
	if (file.atomics)
		printf("%u\n", file.atomics);
	return 0;
}
