/* Tests of memory/spe.h: packets laid out by hand after the formats of the Arm Architecture Reference Manual. */
#include "memory/spe.h"

#include <linux/perf_event.h>
#include <string.h>

#include "stream/counter_time.h"
#include "tests/unit/test.h"

#define NEOVERSE_N1 UINT64_C(0x413fd0c1)
#define THUNDERX2   UINT64_C(0x431f0af1) /* has no codes of its own that are known */

/* A load by a program, as Neoverse N1 writes it: 64 bytes with padding. */
static const uint8_t load[64] = {
	0xb0, 0x10, 0x07, 0x40, 0x00, 0xaa, 0xaa, 0x00, 0x80, /* PC 0xaaaa00400710, level 0, not secure */
	0x64, 0xd2, 0x04, 0x00, 0x00,                         /* context of level 1: 1234 */
	0x52, 0x16, 0x00,                                     /* events: retired, L1 access, TLB access */
	0x49, 0x00,                                           /* a load to a general register */
	0x99, 0x05, 0x00,                                     /* issued after 5 cycles */
	0x98, 0x2c, 0x01,                                     /* 300 cycles in all */
	0xb2, 0x40, 0x40, 0x41, 0x00, 0xaa, 0xaa, 0x00, 0xb4, /* data at 0xaaaa00414040, with a tag */
	0x9a, 0x03, 0x00,                                     /* 3 cycles of translation */
	0x43, 0x09,                                           /* a peer core had it */
	0xb3, 0x40, 0x40, 0x21, 0x80, 0x08, 0x00, 0x00, 0x80, /* physically at 0x880214040 */
	0x71, 0x15, 0xcd, 0x5b, 0x07, 0x00, 0x00, 0x00, 0x00, /* at tick 123456789 */
};
#define LOAD_BYTES 57 /* without padding */

/* All records of these bytes, which are at most `max`. How many; `decoder` has the counts. */
static size_t
decode(struct spe_decoder *decoder, const void *bytes, size_t size, struct spe_record *records, size_t max)
{
	struct spe_record record;
	size_t count = 0;

	spe_decoder_init(decoder, 0);
	spe_decoder_put(decoder, bytes, size);
	while (spe_decoder_next(decoder, &record)) {
		assert_true(count < max);
		records[count++] = record;
	}
	spe_decoder_end(decoder);
	return count;
}

static void
a_record_has_what_its_packets_say(void **state)
{
	struct spe_decoder decoder;
	struct spe_record record;

	(void)state;
	assert_int_equal(decode(&decoder, load, sizeof(load), &record, 1), 1);
	assert_int_equal(record.pc, 0xaaaa00400710);
	assert_int_equal(record.exception_level, 0);
	assert_int_equal(record.context, 1234);
	assert_int_equal(record.events, SPE_EVENT_RETIRED | SPE_EVENT_L1_ACCESS | SPE_EVENT_TLB_ACCESS);
	assert_int_equal(record.class, SPE_CLASS_MEMORY);
	assert_false(spe_is_store(&record));
	assert_int_equal(record.issue_cycles, 5);
	assert_int_equal(record.total_cycles, 300);
	assert_int_equal(record.translation_cycles, 3);
	assert_int_equal(record.virtual_address, 0xaaaa00414040);
	assert_int_equal(record.source, 9);
	assert_int_equal(record.physical_address, 0x880214040);
	assert_int_equal(record.time, 123456789);
	assert_int_equal(record.has, SPE_HAS_TIME | SPE_HAS_EVENTS | SPE_HAS_SOURCE | SPE_HAS_OPERATION | SPE_HAS_PC |
	                                     SPE_HAS_VIRTUAL | SPE_HAS_PHYSICAL | SPE_HAS_TOTAL | SPE_HAS_ISSUE |
	                                     SPE_HAS_TRANSLATION | SPE_HAS_CONTEXT);
	assert_int_equal(decoder.records, 1);
	assert_int_equal(decoder.damaged + decoder.skipped, 0);
}

/* Without timestamps, a record ends with a packet of its own. */
static void
an_end_ends_a_record_and_padding_does_not(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x01, 0x49, 0x01, 0x00, 0x00, 0x01, 0x00, 0x4a, 0x00, 0x01};
	struct spe_decoder decoder;
	struct spe_record records[3];

	(void)state;
	assert_int_equal(decode(&decoder, bytes, sizeof(bytes), records, 3), 2);
	assert_true(spe_is_store(&records[0]));
	assert_int_equal(records[0].has, SPE_HAS_OPERATION);
	assert_int_equal(records[1].class, SPE_CLASS_BRANCH);
	assert_int_equal(decoder.damaged + decoder.skipped, 0);
}

static void
payloads_have_the_size_that_the_header_says(void **state)
{
	static const struct {
		uint8_t bytes[16];
		uint64_t events;
		uint16_t source;
	} known[] = {
		{{0x42, 0x0e, 0x01}, 0x0e, 0},
		{{0x52, 0x0e, 0x07, 0x01}, 0x70e, 0},
		{{0x62, 0x0e, 0x07, 0x06, 0x00, 0x01}, 0x6070e, 0},
		{{0x72, 0x0e, 0x07, 0x06, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01}, 0x800000000006070e, 0},
		{{0x43, 0x0e, 0x01}, 0, 0x0e},
		{{0x53, 0x0e, 0x02, 0x01}, 0, 0x20e},
	};
	struct spe_decoder decoder;
	struct spe_record record;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		assert_int_equal(decode(&decoder, known[i].bytes, sizeof(known[i].bytes), &record, 1), 1);
		assert_true(record.events == known[i].events);
		assert_int_equal(record.source, known[i].source);
		assert_int_equal(decoder.damaged + decoder.skipped, 0);
	}
}

static void
addresses_and_counters_are_told_apart_by_their_index(void **state)
{
	static const uint8_t bytes[] = {
		0xb0, 0x00, 0x80, 0x01, 0x10, 0x00, 0x80, 0xff, 0xc0, /* PC of the kernel, level 2 */
		0xb1, 0x10, 0x80, 0x01, 0x10, 0x00, 0x80, 0xff, 0xc0, /* where it branches */
		0xb4, 0x20, 0x80, 0x01, 0x10, 0x00, 0x80, 0xff, 0xc0, /* where the branch before went */
		0xb2, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x00, /* data of the kernel */
		0x65, 0x07, 0x00, 0x00, 0x00,                         /* context of level 2 */
		0x4a, 0x03,                                           /* an indirect conditional branch */
		0x9f, 0xff, 0xff,                                     /* a counter that is not known */
		0xb7, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* an address that is not known */
		0x01,
	};
	struct spe_decoder decoder;
	struct spe_record record;

	(void)state;
	assert_int_equal(decode(&decoder, bytes, sizeof(bytes), &record, 1), 1);
	assert_true(record.pc == 0xffff800010018000);
	assert_int_equal(record.exception_level, 2);
	assert_true(record.target == 0xffff800010018010);
	assert_true(record.previous_target == 0xffff800010018020);
	assert_true(record.virtual_address == 0xffff000000000000);
	assert_int_equal(record.context, 7);
	assert_int_equal(record.class, SPE_CLASS_BRANCH);
	assert_int_equal(record.total_cycles + record.issue_cycles + record.translation_cycles, 0);
	assert_int_equal(decoder.damaged + decoder.skipped, 0);
}

/* Two bytes of header: the first has two bits more of the index. */
static void
extended_headers_are_read(void **state)
{
	static const uint8_t bytes[] = {
		0x20, 0xb2, 0x40, 0x40, 0x41, 0x00, 0x00, 0x00, 0x00, 0x00, /* index 0:2, data */
		0x21, 0xb2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* index 1:2, not known */
		0x20, 0x98, 0x10, 0x00,                                     /* index 0:0, all cycles */
		0x23, 0x98, 0xff, 0x00,                                     /* index 3:0, not known */
		0x01,
	};
	struct spe_decoder decoder;
	struct spe_record record;

	(void)state;
	assert_int_equal(decode(&decoder, bytes, sizeof(bytes), &record, 1), 1);
	assert_int_equal(record.virtual_address, 0x414040);
	assert_int_equal(record.total_cycles, 16);
	assert_int_equal(record.has, SPE_HAS_VIRTUAL | SPE_HAS_TOTAL);
	assert_int_equal(decoder.damaged + decoder.skipped, 0);
}

/* What is skipped up to the multiple is not read, whatever it is. */
static void
an_alignment_goes_to_a_multiple_of_the_offset_in_the_buffer(void **state)
{
	static const uint8_t bytes[] = {0x49, 0x00, 0x22, 0x00, 0xff, 0xff, 0xff, 0xff, 0x98, 0x07, 0x00, 0x01};
	struct spe_decoder decoder;
	struct spe_record record;

	(void)state;
	spe_decoder_init(&decoder, 64);
	spe_decoder_put(&decoder, bytes, sizeof(bytes));
	assert_int_equal(spe_decoder_next(&decoder, &record), 1);
	assert_int_equal(record.total_cycles, 7);
	spe_decoder_init(&decoder, 60); /* the multiple is at once behind its two bytes */
	spe_decoder_put(&decoder, bytes, sizeof(bytes));
	assert_int_equal(spe_decoder_next(&decoder, &record), 0);
	assert_int_equal(decoder.skipped, 4);
}

/* Wherever the bytes end: no record, and one that is counted as damaged. Given the rest, it is whole. */
static void
a_record_may_be_cut_at_every_byte(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < LOAD_BYTES; cut++) {
		struct spe_decoder decoder;
		struct spe_record whole, record;
		uint8_t first[sizeof(load)];
		size_t left;

		assert_int_equal(decode(&decoder, load, cut, &record, 1), 0);
		assert_int_equal(decoder.damaged, cut > 0);
		memcpy(first, load, cut);
		spe_decoder_init(&decoder, 0);
		spe_decoder_put(&decoder, first, cut);
		assert_int_equal(spe_decoder_next(&decoder, &record), 0);
		left = spe_decoder_left(&decoder);
		assert_true(left < SPE_PACKET_MAX && left <= cut);
		spe_decoder_put(&decoder, load + cut - left, sizeof(load) - cut + left);
		assert_int_equal(spe_decoder_next(&decoder, &record), 1);
		assert_int_equal(decode(&decoder, load, sizeof(load), &whole, 1), 1);
		assert_memory_equal(&record, &whole, sizeof(whole));
	}
}

/* The record with the damage is dropped, and the next one is whole. */
static void
damage_costs_one_record(void **state)
{
	uint8_t bytes[3 * sizeof(load)];
	struct spe_decoder decoder;
	struct spe_record records[3];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		memcpy(bytes + i * sizeof(load), load, sizeof(load));
	bytes[sizeof(load) + 9] = 0xff; /* its context's header, so that four bytes of payload are no headers, too */
	bytes[2 * sizeof(load) + 10] = 77;
	assert_int_equal(decode(&decoder, bytes, sizeof(bytes), records, 3), 2);
	assert_int_equal(records[0].context, 1234);
	assert_int_equal(records[1].context, 0x400 + 77);
	assert_int_equal(decoder.records, 2);
	assert_int_equal(decoder.damaged, 1);
	assert_true(decoder.skipped >= 3);
}

static struct spe_record
operation_of(uint8_t operation, uint16_t source, uint64_t events)
{
	return (struct spe_record){.class = SPE_CLASS_MEMORY,
	                           .operation = operation,
	                           .source = source,
	                           .events = events,
	                           .has = SPE_HAS_OPERATION | SPE_HAS_SOURCE | SPE_HAS_EVENTS};
}

#define HAS(level) (PERF_MEM_S(LVL, level) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, level))
#define LOAD       PERF_MEM_S(OP, LOAD)
#define STORE      PERF_MEM_S(OP, STORE)
#define PEER       PERF_MEM_S(SNOOPX, PEER)

/* The table of data sources in Neoverse N1's technical reference manual, as perf has it. */
static void
neoverse_says_by_codes_what_served_a_load(void **state)
{
	static const struct {
		uint16_t code;
		uint64_t source;
	} known[] = {
		{0x0, HAS(L1) | PERF_MEM_S(SNOOP, NONE)},
		{0x8, HAS(L2) | PERF_MEM_S(SNOOP, NONE)},
		{0x9, HAS(L2) | PEER},
		{0xa, HAS(L3) | PEER},
		{0xb, HAS(L3) | PERF_MEM_S(SNOOP, HIT)},
		{0xc, HAS(L3) | PEER},
		{0xd, PERF_MEM_S(LVL, NA) | PERF_MEM_S(LVLNUM, NA) | PERF_MEM_S(REMOTE, REMOTE) | PEER},
		{0xe,
	         PERF_MEM_S(LVL, LOC_RAM) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, RAM) | PERF_MEM_S(SNOOP, NONE)},
		{0x1, 0},
		{0x1ff, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct spe_record record = operation_of(0, known[i].code, SPE_EVENT_LLC_MISS);

		assert_true(spe_data_source(&record, NEOVERSE_N1) == (LOAD | known[i].source));
		assert_true(spe_data_source(&record, UINT64_C(0x410fd4f0)) == (LOAD | known[i].source)); /* V2 */
	}
}

static void
neoverse_does_not_say_what_served_a_store(void **state)
{
	const struct spe_record store = operation_of(1, 0xe, SPE_EVENT_TLB_ACCESS);

	(void)state;
	assert_true(spe_data_source(&store, NEOVERSE_N1) ==
	            (STORE | PERF_MEM_S(LVL, NA) | PERF_MEM_S(LVLNUM, NA) | PERF_MEM_S(SNOOP, NA) |
	             PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, HIT)));
}

static void
other_models_say_by_events_which_caches_missed(void **state)
{
	static const struct {
		uint8_t operation;
		uint64_t events, source;
	} known[] = {
		{0, SPE_EVENT_L1_ACCESS, LOAD | HAS(L1)},
		{1, SPE_EVENT_L1_ACCESS | SPE_EVENT_L1_MISS, STORE | PERF_MEM_S(LVL, L1) | PERF_MEM_S(LVL, MISS)},
		{0, SPE_EVENT_L1_MISS | SPE_EVENT_LLC_ACCESS, LOAD | HAS(L3)},
		{0, SPE_EVENT_LLC_ACCESS | SPE_EVENT_REMOTE, LOAD | HAS(L3) | PERF_MEM_S(REMOTE, REMOTE)},
		{0, SPE_EVENT_LLC_ACCESS | SPE_EVENT_LLC_MISS,
	         LOAD | PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, MISS) | PERF_MEM_S(LVLNUM, RAM)},
		{1, SPE_EVENT_LLC_MISS, STORE | PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, MISS)},
		{0, SPE_EVENT_LLC_MISS | SPE_EVENT_REMOTE,
	         LOAD | PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, MISS) | PERF_MEM_S(LVLNUM, RAM) |
	                 PERF_MEM_S(REMOTE, REMOTE)},
		{0, SPE_EVENT_TLB_ACCESS | SPE_EVENT_TLB_WALK, LOAD | PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, MISS)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct spe_record record = operation_of(known[i].operation, 0xe, known[i].events);

		assert_true(spe_data_source(&record, THUNDERX2) == known[i].source);
		assert_true(spe_data_source(&record, 0) == known[i].source);
	}
}

/* LDADD, CAS and SWP write, too; LDXR and LDAR do not. */
static void
atomics_are_locked_accesses(void **state)
{
	const struct spe_record atomic = operation_of(0x06, 0, 0), exclusive = operation_of(0x0a, 0, 0),
				acquire = operation_of(0x12, 0, 0), vector = operation_of(0x0c, 0, 0);

	(void)state;
	assert_true(spe_data_source(&atomic, NEOVERSE_N1) & PERF_MEM_S(LOCK, LOCKED));
	assert_false(spe_data_source(&exclusive, NEOVERSE_N1) & PERF_MEM_S(LOCK, LOCKED));
	assert_false(spe_data_source(&acquire, NEOVERSE_N1) & PERF_MEM_S(LOCK, LOCKED));
	assert_false(spe_data_source(&vector, NEOVERSE_N1) & PERF_MEM_S(LOCK, LOCKED));
}

static void
loads_and_stores_are_samples_and_others_are_not(void **state)
{
	struct spe_decoder decoder;
	struct spe_record record;
	struct record sample;

	(void)state;
	assert_int_equal(decode(&decoder, load, sizeof(load), &record, 1), 1);
	assert_true(spe_sample(&record, NEOVERSE_N1, &sample));
	assert_int_equal(sample.type, RECORD_SAMPLE);
	assert_int_equal(sample.mode, CPU_MODE_USER);
	assert_int_equal(sample.sample.address, 0xaaaa00400710);
	assert_int_equal(sample.sample.data_address, 0xaaaa00414040);
	assert_int_equal(sample.sample.weight, 300);
	record.exception_level = 2;
	assert_true(spe_sample(&record, NEOVERSE_N1, &sample));
	assert_int_equal(sample.mode, CPU_MODE_KERNEL);
	record.class = SPE_CLASS_BRANCH;
	assert_false(spe_sample(&record, NEOVERSE_N1, &sample));
}

/* 25 MHz: 40 ns a tick; worked out by hand. */
static void
ticks_become_nanoseconds(void **state)
{
	struct counter_time time = {.zero_ns = 1000, .multiplier = UINT64_C(40) << 24, .shift = 24, .mask = UINT64_MAX};

	(void)state;
	assert_int_equal(counter_time_ns(&time, 0), 1000);
	assert_int_equal(counter_time_ns(&time, 123456789), 1000 + 4938271560);
	time.cycles = 0xfffff0; /* a counter of 24 bits that has wrapped since */
	time.mask = 0xffffff;
	assert_int_equal(counter_time_ns(&time, 0x10), 1000 + 40 * 0x1000010);
	time.multiplier = 0;
	assert_int_equal(counter_time_ns(&time, 5), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_has_what_its_packets_say),
		cmocka_unit_test(an_end_ends_a_record_and_padding_does_not),
		cmocka_unit_test(payloads_have_the_size_that_the_header_says),
		cmocka_unit_test(addresses_and_counters_are_told_apart_by_their_index),
		cmocka_unit_test(extended_headers_are_read),
		cmocka_unit_test(an_alignment_goes_to_a_multiple_of_the_offset_in_the_buffer),
		cmocka_unit_test(a_record_may_be_cut_at_every_byte),
		cmocka_unit_test(damage_costs_one_record),
		cmocka_unit_test(neoverse_says_by_codes_what_served_a_load),
		cmocka_unit_test(neoverse_does_not_say_what_served_a_store),
		cmocka_unit_test(other_models_say_by_events_which_caches_missed),
		cmocka_unit_test(atomics_are_locked_accesses),
		cmocka_unit_test(loads_and_stores_are_samples_and_others_are_not),
		cmocka_unit_test(ticks_become_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
