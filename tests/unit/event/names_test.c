#include "tests/unit/test.h"

#include "event/names.h"

/* Numbers by hand from perf_event_open(2): generalized hardware events count from 0 in the order of its list, cache
 * events are cache | operation << 8 | result << 16. */
static const struct {
	const char *name;
	const char *canonical;
	uint32_t type;
	uint64_t config;
	const char *unit;
} known[] = {
	{"cycles", "cycles", 0, 0, "cycles"},
	{"cpu-cycles", "cycles", 0, 0, "cycles"},
	{"instructions", "instructions", 0, 1, "events"},
	{"cache-references", "cache-references", 0, 2, "events"},
	{"cache-misses", "cache-misses", 0, 3, "events"},
	{"branches", "branches", 0, 4, "events"},
	{"branch-instructions", "branches", 0, 4, "events"},
	{"branch-misses", "branch-misses", 0, 5, "events"},
	{"bus-cycles", "bus-cycles", 0, 6, "cycles"},
	{"stalled-cycles-frontend", "stalled-cycles-frontend", 0, 7, "cycles"},
	{"idle-cycles-frontend", "stalled-cycles-frontend", 0, 7, "cycles"},
	{"stalled-cycles-backend", "stalled-cycles-backend", 0, 8, "cycles"},
	{"idle-cycles-backend", "stalled-cycles-backend", 0, 8, "cycles"},
	{"ref-cycles", "ref-cycles", 0, 9, "cycles"},
	{"cpu-clock", "cpu-clock", 1, 0, "ns"},
	{"task-clock", "task-clock", 1, 1, "ns"},
	{"page-faults", "page-faults", 1, 2, "events"},
	{"faults", "page-faults", 1, 2, "events"},
	{"context-switches", "context-switches", 1, 3, "events"},
	{"cs", "context-switches", 1, 3, "events"},
	{"cpu-migrations", "cpu-migrations", 1, 4, "events"},
	{"migrations", "cpu-migrations", 1, 4, "events"},
	{"minor-faults", "minor-faults", 1, 5, "events"},
	{"major-faults", "major-faults", 1, 6, "events"},
	{"alignment-faults", "alignment-faults", 1, 7, "events"},
	{"emulation-faults", "emulation-faults", 1, 8, "events"},
	{"cgroup-switches", "cgroup-switches", 1, 11, "events"},
	{"L1-dcache-loads", "L1-dcache-loads", 3, 0x00000, "events"},
	{"L1-dcache-load-misses", "L1-dcache-load-misses", 3, 0x10000, "events"},
	{"L1-dcache-stores", "L1-dcache-stores", 3, 0x00100, "events"},
	{"L1-dcache-prefetch-misses", "L1-dcache-prefetch-misses", 3, 0x10200, "events"},
	{"L1-icache-load-misses", "L1-icache-load-misses", 3, 0x10001, "events"},
	{"LLC-loads", "LLC-loads", 3, 0x00002, "events"},
	{"llc-load-misses", "LLC-load-misses", 3, 0x10002, "events"},
	{"LLC-store-misses", "LLC-store-misses", 3, 0x10102, "events"},
	{"dTLB-load-misses", "dTLB-load-misses", 3, 0x10003, "events"},
	{"dTLB-prefetches", "dTLB-prefetches", 3, 0x00203, "events"},
	{"iTLB-load-misses", "iTLB-load-misses", 3, 0x10004, "events"},
	{"branch-loads", "branch-loads", 3, 0x00005, "events"},
	{"branch-load-misses", "branch-load-misses", 3, 0x10005, "events"},
	{"node-loads", "node-loads", 3, 0x00006, "events"},
	{"node-store-misses", "node-store-misses", 3, 0x10106, "events"},
	{"node-prefetch-misses", "node-prefetch-misses", 3, 0x10206, "events"},
};

static void
names_and_aliases_of_perf_are_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct event_encoding encoding;
		char canonical[EVENT_NAME_SIZE];

		assert_true(event_name_find(known[i].name, &encoding, canonical));
		assert_string_equal(canonical, known[i].canonical);
		assert_int_equal(encoding.type, known[i].type);
		assert_int_equal(encoding.config, known[i].config);
		assert_int_equal(encoding.config1, 0);
		assert_int_equal(encoding.config2, 0);
		assert_string_equal(encoding.unit, known[i].unit);
	}
}

static void
what_cannot_happen_has_no_name(void **state)
{
	static const char *const unknown[] = {
		"L1-icache-stores",
		"iTLB-stores",
		"iTLB-prefetches",
		"branch-stores",
		"L1-dcache",
		"LLC-",
		"cycle",
		"",
		"dummy",
	};
	struct event_encoding encoding;
	char canonical[EVENT_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_false(event_name_find(unknown[i], &encoding, canonical));
}

static void
the_other_name_is_found_from_either_side(void **state)
{
	(void)state;
	assert_string_equal(event_name_alias("cycles"), "cpu-cycles");
	assert_string_equal(event_name_alias("cpu-cycles"), "cycles");
	assert_null(event_name_alias("instructions"));
	assert_null(event_name_alias("nonsense"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_aliases_of_perf_are_known),
		cmocka_unit_test(what_cannot_happen_has_no_name),
		cmocka_unit_test(the_other_name_is_found_from_either_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
