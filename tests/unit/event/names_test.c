#include "tests/unit/test.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "event/event.h"
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

struct split {
	char bare[EVENT_NAME_SIZE];
	struct event_modifiers modifiers;
	char why[256];
	int err;
};

static struct split
split(const char *name)
{
	struct split result = {0};

	result.err = event_modifiers_split(name, result.bare, &result.modifiers, result.why, sizeof(result.why));
	return result;
}

static void
a_bare_name_has_no_modifiers(void **state)
{
	struct split result = split("cycles");

	(void)state;
	assert_int_equal(result.err, 0);
	assert_string_equal(result.bare, "cycles");
	assert_false(result.modifiers.user);
	assert_false(result.modifiers.kernel);
	assert_false(result.modifiers.has_precise);
	assert_false(result.modifiers.no_idle);
}

static void
letters_behind_a_colon_are_modifiers(void **state)
{
	struct split result = split("cycles:uppI");

	(void)state;
	assert_int_equal(result.err, 0);
	assert_string_equal(result.bare, "cycles");
	assert_true(result.modifiers.user);
	assert_false(result.modifiers.kernel);
	assert_true(result.modifiers.has_precise);
	assert_int_equal(result.modifiers.precise, 2);
	assert_true(result.modifiers.no_idle);
	assert_true(split("r1c2:k").modifiers.kernel);
	assert_int_equal(split("cycles:P").modifiers.precise, EVENT_PRECISE_MAX);
}

static void
letters_behind_a_pmu_event_need_no_colon(void **state)
{
	struct split result = split("cpu/event=0x3c,umask=1/u");

	(void)state;
	assert_int_equal(result.err, 0);
	assert_string_equal(result.bare, "cpu/event=0x3c,umask=1/");
	assert_true(result.modifiers.user);
	result = split("cpu/event=0x3c/:pp");
	assert_int_equal(result.err, 0);
	assert_string_equal(result.bare, "cpu/event=0x3c/");
	assert_int_equal(result.modifiers.precise, 2);
}

static void
what_is_no_modifier_is_refused_with_those_that_are(void **state)
{
	static const char *const wrong[] = {"cycles:x",  "cycles:",       "cycles:pppp",
	                                    "cycles:Pp", "cpu/event=1/:", "cpu/event=1/q"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct split result = split(wrong[i]);

		assert_int_equal(result.err, -DCPI_ENOEVENT);
		assert_ptr_equal(strstr(result.why, wrong[i]), result.why);
		assert_non_null(strstr(result.why, "u (user mode), k (kernel mode)"));
	}
}

static void
an_empty_or_endless_name_is_refused(void **state)
{
	char endless[EVENT_NAME_SIZE + 1];

	(void)state;
	assert_int_equal(split("").err, -DCPI_ENOEVENT);
	assert_int_equal(split(":u").err, -DCPI_ENOEVENT);
	memset(endless, 'a', sizeof(endless));
	endless[EVENT_NAME_SIZE] = '\0';
	assert_string_equal(split(endless).why, "an event's name has at most 127 characters");
	endless[EVENT_NAME_SIZE - 1] = '\0';
	assert_int_equal(split(endless).err, 0);
}

static void
assert_name(struct perf_event_attr attr, const char *expected)
{
	char name[EVENT_NAME_SIZE];

	event_name_of(&attr, name);
	assert_string_equal(name, expected);
}

static void
an_event_is_called_as_everybody_calls_it(void **state)
{
	(void)state;
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}, "cycles");
	assert_name((struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK},
	            "cpu-clock");
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HW_CACHE, .config = 0x10000}, "L1-dcache-load-misses");
}

static void
modes_and_precision_are_modifiers(void **state)
{
	(void)state;
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .exclude_kernel = 1, .precise_ip = 2},
	            "cycles:upp");
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = 1, .exclude_user = 1},
	            "instructions:k");
}

/* Linux 5.13: which kind of core counts stands in the upper half. */
static void
the_kind_of_core_has_no_part_in_the_name(void **state)
{
	(void)state;
	assert_name((struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = 0x400000000}, "cycles");
}

static void
what_has_no_name_is_called_by_its_numbers(void **state)
{
	(void)state;
	assert_name((struct perf_event_attr){.type = PERF_TYPE_RAW, .config = 0x1c2}, "r1c2");
	assert_name((struct perf_event_attr){.type = 10, .config = 0xabc}, "event-10-abc");
}

static void
a_unit_is_found_behind_pmu_and_modifiers(void **state)
{
	static const struct {
		const char *name, *unit;
	} units[] = {
		{"cycles:ppp", "cycles"},      {"cpu_core/cycles:ppp/", "cycles"}, {"cpu-cycles", "cycles"},
		{"task-clock", "ns"},          {"instructions:u", "events"},       {"sched:sched_switch", "events"},
		{"cpu/event=0xc0/", "events"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		char unit[EVENT_UNIT_SIZE];

		event_unit_of(units[i].name, unit);
		assert_string_equal(unit, units[i].unit);
	}
}

static const char *
suggest(const char *word)
{
	static struct event_suggestion suggestion;

	event_suggestion_init(&suggestion, word);
	event_names_suggest(&suggestion);
	return event_suggestion_get(&suggestion);
}

static void
a_near_miss_finds_the_name_that_was_meant(void **state)
{
	(void)state;
	assert_string_equal(suggest("cylces"), "cycles");
	assert_string_equal(suggest("cache-mises"), "cache-misses");
	assert_string_equal(suggest("cpuclock"), "cpu-clock");
	assert_string_equal(suggest("LLC-load-miss"), "LLC-load-misses");
	assert_string_equal(suggest("page_faults"), "page-faults");
}

static void
a_nearer_candidate_replaces_a_farther_one_only(void **state)
{
	struct event_suggestion suggestion;

	(void)state;
	event_suggestion_init(&suggestion, "umasks");
	assert_null(event_suggestion_get(&suggestion));
	event_suggestion_consider(&suggestion, "masks_");
	assert_string_equal(event_suggestion_get(&suggestion), "masks_");
	event_suggestion_consider(&suggestion, "umask");
	assert_string_equal(event_suggestion_get(&suggestion), "umask");
	event_suggestion_consider(&suggestion, "event");
	event_suggestion_consider(&suggestion, "masks");
	assert_string_equal(event_suggestion_get(&suggestion), "umask");
}

static void
what_is_near_to_nothing_suggests_nothing(void **state)
{
	(void)state;
	assert_null(suggest("inst_retired.any"));
	assert_null(suggest("xyzzy"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_aliases_of_perf_are_known),
		cmocka_unit_test(what_cannot_happen_has_no_name),
		cmocka_unit_test(the_other_name_is_found_from_either_side),
		cmocka_unit_test(a_bare_name_has_no_modifiers),
		cmocka_unit_test(letters_behind_a_colon_are_modifiers),
		cmocka_unit_test(letters_behind_a_pmu_event_need_no_colon),
		cmocka_unit_test(what_is_no_modifier_is_refused_with_those_that_are),
		cmocka_unit_test(an_empty_or_endless_name_is_refused),
		cmocka_unit_test(an_event_is_called_as_everybody_calls_it),
		cmocka_unit_test(modes_and_precision_are_modifiers),
		cmocka_unit_test(the_kind_of_core_has_no_part_in_the_name),
		cmocka_unit_test(what_has_no_name_is_called_by_its_numbers),
		cmocka_unit_test(a_unit_is_found_behind_pmu_and_modifiers),
		cmocka_unit_test(a_nearer_candidate_replaces_a_farther_one_only),
		cmocka_unit_test(a_near_miss_finds_the_name_that_was_meant),
		cmocka_unit_test(what_is_near_to_nothing_suggests_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
