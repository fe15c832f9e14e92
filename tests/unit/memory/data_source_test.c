#include "memory/data_source.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define LEVEL(bits)    PERF_MEM_S(LVL, bits)
#define NUMBER(number) PERF_MEM_S(LVLNUM, number)
#define REMOTE         PERF_MEM_S(REMOTE, REMOTE)
#define HOPS(hops)     PERF_MEM_S(HOPS, hops)
#define HITM           PERF_MEM_S(SNOOP, HITM)
#define PEER           PERF_MEM_S(SNOOPX, PEER)
#define LOAD           PERF_MEM_S(OP, LOAD)
#define STORE          PERF_MEM_S(OP, STORE)
#define HIT            LEVEL(HIT)

static void
levels_are_those_of_the_bits_or_of_the_number(void **state)
{
	static const struct {
		uint64_t source;
		const char *level;
	} known[] = {
		{LEVEL(L1) | HIT, "L1"},
		{NUMBER(L1), "L1"},
		{LEVEL(LFB) | HIT, "fill buffer"},
		{NUMBER(LFB), "fill buffer"},
		{LEVEL(L2) | HIT | NUMBER(L2), "L2"},
		{LEVEL(L3) | HIT, "L3"},
		{NUMBER(L3) | REMOTE, "remote cache"},
		{NUMBER(ANY_CACHE) | REMOTE | HOPS(0), "L3"}, /* a core of the same node */
		{NUMBER(ANY_CACHE) | REMOTE | HOPS(1), "remote cache"},
		{LEVEL(REM_CCE1) | HIT, "remote cache"},
		{LEVEL(REM_CCE2) | HIT | NUMBER(ANY_CACHE), "remote cache"},
		{LEVEL(LOC_RAM) | HIT | NUMBER(RAM), "local memory"},
		{NUMBER(PMEM), "local memory"},
		{LEVEL(REM_RAM2) | HIT, "remote memory"},
		{NUMBER(RAM) | REMOTE, "remote memory"},
		{LEVEL(UNC) | HIT, "not cached"},
		{NUMBER(IO), "not cached"},
		{LEVEL(NA), "not known"},
		{NUMBER(NA) | REMOTE, "remote cache"}, /* Skylake */
		{0, "not known"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_string_equal(data_level_text(data_source_level(known[i].source)), known[i].level);
}

static void
an_access_has_what_a_profile_needs(void **state)
{
	struct data_source_access access;

	(void)state;
	assert_true(data_source_access(LOAD | LEVEL(REM_CCE1) | HIT | HITM, &access));
	assert_int_equal(access.level, MEMORY_CACHE);
	assert_true(access.is_remote);
	assert_int_equal(access.flags, MEMORY_TRANSFER | MEMORY_FAR);
	assert_true(data_source_access(LOAD | LEVEL(L2) | HIT | PEER, &access)); /* Arm's SPE */
	assert_int_equal(access.level, MEMORY_CACHE);
	assert_int_equal(access.flags, MEMORY_TRANSFER);
	assert_true(data_source_access(LOAD | LEVEL(REM_RAM1) | HIT, &access));
	assert_int_equal(access.level, MEMORY_DRAM);
	assert_true(access.is_remote);
	assert_int_equal(access.flags, 0);
	assert_true(data_source_access(LOAD | LEVEL(L1) | HIT | PERF_MEM_S(LOCK, LOCKED), &access));
	assert_int_equal(access.level, MEMORY_OWN);
	assert_int_equal(access.flags, MEMORY_STORE | MEMORY_ATOMIC);
}

/* A load is of use where it is known what served it, a store in any case: it tells who writes a line. */
static void
a_store_of_no_level_is_known_and_a_load_is_not(void **state)
{
	struct data_source_access access;

	(void)state;
	assert_true(data_source_access(STORE | LEVEL(NA), &access));
	assert_int_equal(access.level, MEMORY_OWN);
	assert_true(data_source_access(STORE | LEVEL(L1) | LEVEL(MISS), &access));
	assert_int_equal(access.level, MEMORY_OWN);
	assert_int_equal(access.flags, MEMORY_STORE);
	assert_false(data_source_access(LOAD | LEVEL(NA), &access));
	assert_false(data_source_access(LEVEL(L3) | HIT, &access)); /* neither */
}

/* As c2c_decode_stats() of linux 6.1 does it, worked out by hand. */
static void
an_access_counts_for_all_that_it_says(void **state)
{
	struct data_source_counts counts;

	(void)state;
	memset(&counts, 0, sizeof(counts));
	/* another node's memory, known by the distance alone; a cache there had it modified */
	data_source_count(&counts, LOAD | HIT | LEVEL(L3) | REMOTE | HITM, 64, 100, true);
	assert_int_equal(counts.counts[DATA_LOAD_LOCAL_HITM], 1);
	assert_int_equal(counts.counts[DATA_LOAD_REMOTE_HITM], 1);
	assert_int_equal(counts.counts[DATA_LOAD_REMOTE_DRAM], 1);
	assert_int_equal(counts.counts[DATA_LOAD_EXCLUSIVE], 1);
	assert_int_equal(counts.counts[DATA_LOAD_LLC], 1);
	/* with hops, the distance is none of nodes */
	data_source_count(&counts, LOAD | HIT | LEVEL(L3) | REMOTE | HOPS(0) | HITM, 64, 100, true);
	assert_int_equal(counts.counts[DATA_LOAD_LOCAL_HITM], 2);
	assert_int_equal(counts.counts[DATA_LOAD_REMOTE_HITM], 1);
	data_source_count(&counts, LOAD | LEVEL(REM_CCE1) | PEER, 64, 100, true);
	assert_int_equal(counts.counts[DATA_LOAD_REMOTE_HIT], 1);
	assert_int_equal(counts.counts[DATA_LOAD_REMOTE_PEER], 1);
	data_source_count(&counts, STORE | LEVEL(L1) | LEVEL(MISS) | PERF_MEM_S(LOCK, LOCKED), 64, 0, false);
	assert_int_equal(counts.counts[DATA_STORE_L1_MISS], 1);
	assert_int_equal(counts.counts[DATA_LOCKED], 1);
	assert_int_equal(counts.counts[DATA_NO_MAPPING], 1);
	/* memory of both nodes */
	data_source_count(&counts, LOAD | HIT | LEVEL(LOC_RAM) | REMOTE | PERF_MEM_S(SNOOP, HIT), 64, 100, true);
	assert_int_equal(counts.counts[DATA_LOAD_LOCAL_DRAM], 1);
	assert_int_equal(counts.counts[DATA_LOAD_REMOTE_DRAM], 2);
	assert_int_equal(counts.counts[DATA_LOAD_SHARED], 2);
	assert_int_equal(counts.counts[DATA_SAMPLES], 5);
	assert_int_equal(counts.counts[DATA_LOADS], 4);
	assert_int_equal(counts.counts[DATA_STORES], 1);
}

static void
what_has_no_address_or_is_no_access_counts_for_nothing_else(void **state)
{
	struct data_source_counts counts;

	(void)state;
	memset(&counts, 0, sizeof(counts));
	data_source_count(&counts, LOAD | LEVEL(L1) | HIT, 0, 1, false);
	data_source_count(&counts, STORE | LEVEL(L1) | HIT, 0, 1, false);
	data_source_count(&counts, LEVEL(L1) | HIT, 64, 1, false);
	assert_int_equal(counts.counts[DATA_LOAD_NO_ADDRESS], 1);
	assert_int_equal(counts.counts[DATA_STORE_NO_ADDRESS], 1);
	assert_int_equal(counts.counts[DATA_NOT_PARSED], 1);
	assert_int_equal(counts.counts[DATA_LOAD_L1], 0);
	assert_int_equal(counts.counts[DATA_STORE_L1_HIT], 0);
	assert_int_equal(counts.counts[DATA_NO_MAPPING], 0);
}

/* A sample without a weight counts as 1, as `perf mem report` has it; damaged ones do not wrap. */
static void
weights_are_summed_by_level(void **state)
{
	struct data_source_counts counts;

	(void)state;
	memset(&counts, 0, sizeof(counts));
	data_source_count(&counts, LOAD | LEVEL(L2) | HIT, 64, 20, true);
	data_source_count(&counts, LOAD | LEVEL(L2) | HIT, 64, 0, true);
	assert_int_equal(counts.levels[DATA_LEVEL_L2].samples, 2);
	assert_int_equal(counts.levels[DATA_LEVEL_L2].weight, 21);
	data_source_count(&counts, LOAD | LEVEL(L3) | HIT, 64, UINT64_MAX, true);
	assert_true(counts.all.weight == UINT64_MAX);
	assert_int_equal(counts.all.samples, 3);
}

/* Every count and every level has a name of its own. */
static void
names_differ(void **state)
{
	(void)state;
	for (unsigned i = 0; i < DATA_COUNTS; i++) {
		assert_non_null(data_count_key(i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(data_count_key(i), data_count_key(k));
	}
	for (unsigned i = 0; i < DATA_LEVELS; i++)
		assert_non_null(data_level_text(i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_are_those_of_the_bits_or_of_the_number),
		cmocka_unit_test(an_access_has_what_a_profile_needs),
		cmocka_unit_test(a_store_of_no_level_is_known_and_a_load_is_not),
		cmocka_unit_test(an_access_counts_for_all_that_it_says),
		cmocka_unit_test(what_has_no_address_or_is_no_access_counts_for_nothing_else),
		cmocka_unit_test(weights_are_summed_by_level),
		cmocka_unit_test(names_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
