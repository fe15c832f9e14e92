#include "machine/machine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"

#include "tests/unit/test.h"

/* The least that a file may say; what a test changes of it comes in between. A line each. */
#define NAMES "name = \"small\"; title = \"a small machine\"; pipeline = \"in-order-2\";\n"
#define CORE                                                                                                           \
	"clock_mhz = 1000.5; nodes = 1; cores = 4; line_bytes = 64; page_bytes = 4096; misses_in_flight = 4; "         \
	"write_buffer_entries = 8; call_cycles = 100;\n"
#define LEVEL1   "{ bytes = 8192; ways = 2; latency_cycles = 3; }"
#define CACHES   "caches = { code = " LEVEL1 "; level1 = " LEVEL1 "; };\n"
#define BRANCHES "branches = { predictor = \"static\"; };\n"
#define CURVE    "curve = ( { gb_s = 0; latency_ns = 80; }, { gb_s = 10; latency_ns = 160; } );"
#define MEMORY   "memory = { controllers = 2; " CURVE " };\n"
#define SMALL    NAMES CORE CACHES BRANCHES MEMORY

static void
parse(const char *text, struct machine *machine)
{
	char why[512] = "";

	if (machine_parse("small.conf", text, machine, why, sizeof(why)))
		fail_msg("%s", why);
}

static void
assert_refused(const char *text, const char *expected)
{
	struct machine machine;
	char why[512] = "";

	assert_int_equal(machine_parse("small.conf", text, &machine, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, expected);
}

static void
a_small_file_is_a_whole_machine(void **state)
{
	struct machine machine;

	(void)state;
	parse(SMALL, &machine);
	assert_string_equal(machine.name, "small");
	assert_string_equal(machine.title, "a small machine");
	assert_string_equal(machine.pipeline_name, "in-order-2");
	assert_true(machine.clock_mhz == 1000.5);
	assert_int_equal(machine.cores, 4);
	assert_int_equal(machine.line_bytes, 64);
	assert_int_equal(machine.code.bytes, 8192);
	assert_int_equal(machine.level_count, 1);
	assert_int_equal(machine.levels[0].ways, 2);
	assert_int_equal(machine.levels[0].cores, 1);
	assert_int_equal(machine.levels[0].replacement, REPLACEMENT_LRU);
	assert_int_equal(machine.data_tlb.entries, 0);
	assert_int_equal(machine.prefetcher_count, 0);
	assert_int_equal(machine.predictor, PREDICTOR_STATIC);
	assert_int_equal(machine.controllers, 2);
	assert_int_equal(machine.load_count, 2);
	assert_true(machine.loads[1].bandwidth_gb_s == 10 && machine.loads[1].latency_ns == 160);
	assert_int_equal(machine.placement, PLACEMENT_FIRST_TOUCH);
	assert_true(machine.call_cycles == 100);
}

static void
all_that_a_file_may_say_is_taken(void **state)
{
	struct machine machine;

	(void)state;
	parse(NAMES
	      "clock_mhz = 2300; nodes = 2; cores = 8; line_bytes = 128; page_bytes = 65536; misses_in_flight = 10; "
	      "write_buffer_entries = 42; call_cycles = 250.5;\n"
	      "caches = { code = { bytes = 32768; ways = 8; latency_cycles = 4; };\n"
	      "level1 = { bytes = 32768; ways = 8; latency_cycles = 4; };\n"
	      "level2 = { bytes = 262144; ways = 8; latency_cycles = 12; cores = 2; replacement = \"fifo\"; };\n"
	      "level3 = { bytes = 8589934592; ways = 32; latency_cycles = 50; cores = 4; replacement = \"random\"; }; "
	      "};\n"
	      "tlbs = { code = { entries = 128; ways = 4; miss_cycles = 7; }; data = { entries = 48; ways = 48; "
	      "miss_cycles = 8; }; shared = { entries = 1536; ways = 6; miss_cycles = 30; }; };\n"
	      "prefetchers = ( { kind = \"stream\"; level = 2; entries = 32; degree = 2; distance = 20; accuracy = "
	      "0.9; },"
	      "{ kind = \"stride\"; level = 1; entries = 64; degree = 1; distance = 1; accuracy = 1; } );\n"
	      "branches = { predictor = \"gshare\"; entries = 4096; history_bits = 12; return_stack = 16; targets = "
	      "512; };\n"
	      "memory = { controllers = 1; remote_latency_ns = 60; remote_bandwidth_gb_s = 38.4; placement = \"node\"; "
	      "placement_node = 1; " CURVE " };\n",
	      &machine);
	assert_int_equal(machine.nodes, 2);
	assert_int_equal(machine.level_count, 3);
	assert_int_equal(machine.levels[1].replacement, REPLACEMENT_FIFO);
	assert_int_equal(machine.levels[1].cores, 2);
	assert_true(machine.levels[2].bytes == UINT64_C(1) << 33);
	assert_int_equal(machine.levels[2].replacement, REPLACEMENT_RANDOM);
	assert_int_equal(machine.code_tlb.miss_cycles, 7);
	assert_int_equal(machine.data_tlb.ways, 48);
	assert_int_equal(machine.shared_tlb.entries, 1536);
	assert_int_equal(machine.prefetcher_count, 2);
	assert_int_equal(machine.prefetchers[0].kind, PREFETCH_STREAM);
	assert_int_equal(machine.prefetchers[0].distance, 20);
	assert_true(machine.prefetchers[0].accuracy == 0.9);
	assert_int_equal(machine.prefetchers[1].kind, PREFETCH_STRIDE);
	assert_int_equal(machine.predictor, PREDICTOR_GSHARE);
	assert_int_equal(machine.history_bits, 12);
	assert_int_equal(machine.target_entries, 512);
	assert_true(machine.remote_latency_ns == 60 && machine.remote_bandwidth_gb_s == 38.4);
	assert_int_equal(machine.placement, PLACEMENT_NODE);
	assert_int_equal(machine.placement_node, 1);
}

static void
what_is_out_of_range_is_refused_with_file_line_and_range(void **state)
{
	(void)state;
	assert_refused(NAMES "clock_mhz = 0.5;", "small.conf:2: clock_mhz is 0.5; it must be from 1 to 20000 MHz");
	assert_refused(NAMES CORE CACHES BRANCHES "memory = { controllers = 65; };",
	               "small.conf:5: controllers is 65; it must be from 1 to 64");
	assert_refused(NAMES CORE "caches = { code = { bytes = 100; }; };",
	               "small.conf:3: bytes is 100; it must be from 512 to 17179869184 bytes");
	assert_refused(NAMES CORE "caches = {\ncode = { bytes = \"many\"; }; };",
	               "small.conf:4: bytes must be a whole number from 512 to 17179869184 bytes");
}

static void
what_is_missing_is_named(void **state)
{
	(void)state;
	assert_refused("name = \"a\";", "small.conf: title is missing");
	assert_refused(NAMES CORE, "small.conf: caches is missing");
	assert_refused(NAMES CORE "caches = { code = " LEVEL1 "; };", "small.conf:3: level1 is missing");
	assert_refused(NAMES CORE CACHES, "small.conf: branches is missing");
	assert_refused(NAMES CORE CACHES BRANCHES, "small.conf: memory is missing");
	assert_refused(NAMES CORE CACHES BRANCHES "memory = { controllers = 1; };", "small.conf:5: curve is missing");
	assert_refused(NAMES CORE CACHES "branches = { };", "small.conf:4: predictor is missing");
}

static void
unknown_names_are_refused_with_what_was_probably_meant(void **state)
{
	(void)state;
	assert_refused(NAMES CORE "clock_mzh = 1;",
	               "small.conf:3: there is no option clock_mzh (did you mean clock_mhz?)");
	assert_refused(NAMES CORE "caches = { code = { byte = 1; }; };",
	               "small.conf:3: there is no option byte (did you mean bytes?)");
	assert_refused(NAMES CORE CACHES BRANCHES "memory = { curve2 = 1; };",
	               "small.conf:5: there is no option curve2 (did you mean curve?)");
	assert_refused(NAMES CORE CACHES "branches = { predictor = \"oracle\"; };",
	               "small.conf:4: predictor must be \"static\", \"bimodal\" or \"gshare\"");
}

static void
what_is_no_configuration_is_refused_with_its_line(void **state)
{
	(void)state;
	assert_refused(NAMES "clock_mhz = = 2;", "small.conf:2: syntax error");
	assert_refused("name = 3;", "small.conf:1: name must be a string, in \"...\"");
	assert_refused("name = \"a b\"; title = \"\";",
	               "small.conf:1: name must be letters, digits and signs, without a space or a slash");
	assert_refused("name = \"a/b\"; title = \"\";",
	               "small.conf:1: name must be letters, digits and signs, without a space or a slash");
	assert_refused("name = \"a\\xffb\"; title = \"\";",
	               "small.conf:1: name must be letters, digits and signs, without a space or a slash");
}

static void
nodes_have_equally_many_cores(void **state)
{
	(void)state;
	assert_refused(NAMES "clock_mhz = 1000; nodes = 3; cores = 4; line_bytes = 64; page_bytes = 4096;\n"
	                     "misses_in_flight = 4; write_buffer_entries = 8; call_cycles = 100;",
	               "small.conf:2: cores is 4; 3 nodes must have equally many");
}

/* 2 ways of 64 bytes: 8192 bytes are 64 sets; 12288 would be 96. */
static void
a_cache_of_level_1_has_a_power_of_two_of_sets(void **state)
{
	(void)state;
	assert_refused(NAMES CORE "caches = { code = " LEVEL1
	                          ";\nlevel1 = { bytes = 12288; ways = 2; latency_cycles = 3; }; };",
	               "small.conf:4: bytes is 12288; with 2 ways of 64 bytes it must be 128 times a power of two");
	assert_refused(NAMES CORE "caches = { code = { bytes = 8191; ways = 2; latency_cycles = 3; }; };",
	               "small.conf:3: bytes is 8191; with 2 ways of 64 bytes it must be a multiple of 128");
	assert_refused(NAMES CORE "caches = { code = { bytes = 512; ways = 32; latency_cycles = 3; }; };",
	               "small.conf:3: bytes is 512; with 32 ways of 64 bytes it must be a multiple of 2048");
}

#define LEVELS(second) NAMES CORE "caches = { code = " LEVEL1 "; level1 = " LEVEL1 ";\nlevel2 = { " second " }; };\n"

static void
levels_grow_in_size_latency_and_cores(void **state)
{
	(void)state;
	assert_refused(LEVELS("bytes = 16384; ways = 2; latency_cycles = 3;"),
	               "small.conf:4: latency_cycles is 3; the level before it has 3");
	assert_refused(LEVELS("bytes = 4096; ways = 2; latency_cycles = 9;"),
	               "small.conf:4: bytes is 4096; the level before it has 8192");
	assert_refused(LEVELS("bytes = 16384; ways = 2; latency_cycles = 9; cores = 3;"),
	               "small.conf:4: cores is 3, which share it; it must divide the 4 cores of a node");
	assert_refused(LEVELS("bytes = 16384; ways = 2; latency_cycles = 9; cores = 4; };\nlevel3 = { bytes = 32768; "
	                      "ways = 2; "
	                      "latency_cycles = 20; cores = 2; "),
	               "small.conf:5: cores is 2; it must be a multiple of the level's before it, 4");
}

/* 45 MiB in 20 ways: 36864 sets. */
static void
other_levels_have_any_number_of_sets(void **state)
{
	struct machine machine;

	(void)state;
	parse(LEVELS("bytes = 47185920; ways = 20; latency_cycles = 50; cores = 4;") BRANCHES MEMORY, &machine);
	assert_int_equal(machine.levels[1].bytes, 47185920);
}

static void
levels_have_no_gaps_and_the_first_is_not_shared(void **state)
{
	(void)state;
	assert_refused(NAMES CORE "caches = { code = " LEVEL1 "; level1 = " LEVEL1 ";\nlevel3 = " LEVEL1 "; };",
	               "small.conf:4: there is a level3, but no level2");
	assert_refused(NAMES CORE "caches = { code = " LEVEL1
	                          "; level1 = { bytes = 8192; ways = 2; latency_cycles = 3; cores = 2; }; };",
	               "small.conf:3: cores is 2; a cache of level 1 is one core's");
}

static void
a_tlb_has_a_power_of_two_of_sets(void **state)
{
	(void)state;
	assert_refused(NAMES CORE CACHES "tlbs = { code = { entries = 24; ways = 8; miss_cycles = 7; }; };",
	               "small.conf:4: entries is 24; it must be ways, 8, times a power of two");
	assert_refused(NAMES CORE CACHES "tlbs = { code = { entries = 8; ways = 8; miss_cycles = 7; }; };",
	               "small.conf:4: data is missing");
}

#define PREFETCHER(level, degree)                                                                                      \
	NAMES CORE CACHES "prefetchers = ( { kind = \"stream\"; level = " level "; entries = 8; degree = " degree      \
			  "; distance = 4; accuracy = 0.5; } );"

static void
a_prefetcher_belongs_to_a_level_that_is_there(void **state)
{
	(void)state;
	assert_refused(PREFETCHER("2", "1"), "small.conf:4: level is 2; there are 1 of caches");
	assert_refused(PREFETCHER("1", "5"), "small.conf:4: degree is 5; it must be at most distance, 4");
	assert_refused(NAMES CORE CACHES "prefetchers = ( 3 );",
	               "small.conf:4: prefetchers must be a list of groups, ( { ... }, ... )");
	assert_refused(NAMES CORE CACHES
	               "prefetchers = ( { level = 1; entries = 8; degree = 1; distance = 4; accuracy = 0.5; } );",
	               "small.conf:4: kind is missing");
}

static void
a_history_is_no_longer_than_the_counters_have_bits(void **state)
{
	(void)state;
	assert_refused(NAMES CORE CACHES "branches = { predictor = \"gshare\"; entries = 1024; history_bits = 11; };",
	               "small.conf:4: history_bits is 11; 1024 entries have fewer");
	assert_refused(NAMES CORE CACHES "branches = { predictor = \"bimodal\"; entries = 1000; };",
	               "small.conf:4: entries is 1000; it must be a power of two");
	assert_refused(NAMES CORE CACHES "branches = { predictor = \"bimodal\"; };",
	               "small.conf:4: entries is 0; it must be a power of two");
}

#define POINTS(points) NAMES CORE CACHES BRANCHES "memory = { controllers = 1;\ncurve = ( " points " ); };"

static void
a_curve_ascends(void **state)
{
	(void)state;
	assert_refused(POINTS("{ gb_s = 2; latency_ns = 80; }, { gb_s = 2; latency_ns = 90; }"),
	               "small.conf:6: gb_s is 2; it must be more than 2 before it");
	assert_refused(POINTS("{ gb_s = 2; latency_ns = 80; }, { gb_s = 3; latency_ns = 79.5; }"),
	               "small.conf:6: latency_ns is 79.5; it must be no less than 80 before it");
	assert_refused(POINTS(""), "small.conf:6: curve has 0 points; it must have from 1 to 32");
	assert_refused(POINTS("{ gb_s = 0; latency_ns = 80; }"),
	               "small.conf:6: the last point of curve is the limit; its gb_s must be above 0");
	assert_refused(POINTS("7"), "small.conf:6: curve must be a list of groups, ( { ... }, ... )");
}

/* 3 cycles at 1000.5 MHz are 2.9985 ns. */
static void
memory_is_slower_than_the_last_cache(void **state)
{
	(void)state;
	assert_refused(POINTS("{ gb_s = 2; latency_ns = 2.5; }"),
	               "small.conf:6: latency_ns is 2.5; the last cache has 2.9985");
}

static void
several_nodes_are_some_way_apart(void **state)
{
	(void)state;
	assert_refused(
		NAMES
		"clock_mhz = 1000; nodes = 2; cores = 4; line_bytes = 64; page_bytes = 4096; misses_in_flight = 4; "
		"write_buffer_entries = 8; call_cycles = 100;\n" CACHES BRANCHES MEMORY,
		"small.conf:5: remote_latency_ns is missing: there are 2 nodes");
	assert_refused(NAMES CORE CACHES BRANCHES "memory = { controllers = 2; placement_node = 1; " CURVE " };",
	               "small.conf:5: placement_node is 1; nodes are counted from 0 to 0");
}

static void
used_cores_are_spread_over_the_nodes(void **state)
{
	static const unsigned cores[][4] = {{4, 0, 0, 0}, {4, 1, 1, 0}, {4, 2, 6, 1}, {4, 3, 7, 1},  {5, 0, 0, 0},
	                                    {5, 2, 2, 0}, {5, 3, 6, 1}, {5, 4, 7, 1}, {12, 5, 5, 0}, {12, 6, 6, 1},
	                                    {1, 0, 0, 0}, {2, 1, 6, 1}}; /* used, seen, core, node */
	const struct machine machine = {.nodes = 2, .cores = 12};

	(void)state;
	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		const unsigned core = machine_used_core(&machine, cores[i][0], cores[i][1]);

		assert_int_equal(core, cores[i][2]);
		assert_int_equal(core / 6, cores[i][3]);
	}
	for (unsigned used = 1; used <= 24; used++) {
		const struct machine four = {.nodes = 4, .cores = 24};
		unsigned before = 0;

		for (unsigned i = 0; i < used; i++) {
			const unsigned core = machine_used_core(&four, used, i);

			assert_true(core < 24 && (i == 0 || core > before));
			before = core;
		}
	}
}

/* Every machine that is described is sound, has the name of its file, and a pipeline; there are those of the poster. */
static void
all_described_machines_are_sound(void **state)
{
	static const char *const wanted[] = {"e5-2603v1",    "e5-2690v4",  "e5-2699v3",
	                                     "e5-2699v3-2s", "in-order-2", "opteron-6174-2s"};
	char directory[PATH_MAX];
	char **names;
	size_t found = 0;
	int count;

	(void)state;
	machine_directory(directory, sizeof(directory));
	count = config_model_list(directory, &names);
	assert_true(count >= 4);
	for (int i = 0; i < count; i++) {
		char why[1024] = "";
		struct pipeline pipeline;
		struct machine machine;

		if (machine_choose(names[i], &machine, &pipeline, why, sizeof(why)))
			fail_msg("%s", why);
		assert_string_equal(machine.name, names[i]);
		assert_string_equal(machine.pipeline_name, pipeline.name);
		for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
			found += strcmp(names[i], wanted[w]) == 0;
	}
	assert_int_equal(found, sizeof(wanted) / sizeof(wanted[0]));
	config_model_list_free(names, count);
}

static void
write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
a_machine_that_is_none_is_refused_with_those_near(void **state)
{
	char why[1024] = "";
	struct pipeline pipeline;
	struct machine machine;

	(void)state;
	assert_int_equal(machine_choose("in-order2", &machine, &pipeline, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, "there is no machine \"in-order2\"; did you mean \"in-order-2\"?");
	assert_int_equal(machine_choose("./none.conf", &machine, &pipeline, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "./none.conf: cannot read the description of a machine: No such file or directory");
}

static void
make_directory(char *path, size_t size, const char *home, const char *below)
{
	assert_true((size_t)snprintf(path, size, "%s%s", home, below) < size);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* The described machine, with twice the cores, in a home of its own. */
static void
ones_own_machine_comes_first(void **state)
{
	char home[] = "/tmp/dcpi-machine-XXXXXX", path[PATH_MAX + 32], directory[PATH_MAX], why[1024] = "";
	struct pipeline pipeline;
	struct machine machine;
	char *text;

	(void)state;
	machine_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/in-order-2.conf", directory);
	assert_int_equal(config_model_read(path, "it", &text, why, sizeof(why)), 0);
	memcpy(strstr(text, "cores = 4"), "cores = 8", 9);
	assert_non_null(mkdtemp(home));
	assert_int_equal(setenv("XDG_CONFIG_HOME", home, 1), 0);
	make_directory(directory, sizeof(directory), home, "/dcpi");
	make_directory(directory, sizeof(directory), home, "/dcpi/machines");
	assert_int_equal(machine_own_directory(path, sizeof(path)), 0);
	assert_string_equal(path, directory);
	assert_true((size_t)snprintf(path, sizeof(path), "%s/dcpi/machines/in-order-2.conf", home) < sizeof(path));
	write_file(path, text);
	free(text);
	if (machine_choose("in-order-2", &machine, &pipeline, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(machine.cores, 8);
	assert_int_equal(unlink(path), 0);
	for (int up = 0; up < 3; up++) {
		*strrchr(path, '/') = '\0';
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

/* The two-wide machine with `change` in the place of `what`, which is as long, in a file of its own. */
static void
write_changed(char *path, const char *what, const char *change)
{
	char directory[PATH_MAX], from[PATH_MAX + 32], why[1024] = "";
	char *text, *at;
	int fd;

	machine_directory(directory, sizeof(directory));
	snprintf(from, sizeof(from), "%s/in-order-2.conf", directory);
	assert_int_equal(config_model_read(from, "it", &text, why, sizeof(why)), 0);
	at = strstr(text, what);
	assert_non_null(at);
	memcpy(at, change, strlen(change));
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	write_file(path, text);
	free(text);
}

static void
a_pipeline_that_is_none_is_refused_with_the_file(void **state)
{
	char path[] = "/tmp/dcpi-machine-XXXXXX", why[1024] = "", expected[1024];
	struct pipeline pipeline;
	struct machine machine;

	(void)state;
	write_changed(path, "pipeline = \"in-order-2", "pipeline = \"in-order-3");
	assert_int_equal(machine_choose(path, &machine, &pipeline, why, sizeof(why)), -DCPI_ECONFIG);
	snprintf(expected, sizeof(expected),
	         "%s: pipeline: there is no model of a CPU \"in-order-3\"; did you mean \"in-order-2\"?", path);
	assert_string_equal(why, expected);
	assert_int_equal(unlink(path), 0);
}

/* The model of the CPU has 3 cycles, for vectors, too. */
static void
a_load_takes_what_the_machine_says(void **state)
{
	char path[] = "/tmp/dcpi-machine-XXXXXX", why[1024] = "";
	struct pipeline pipeline;
	struct machine machine;

	(void)state;
	write_changed(path, "level1 = { bytes = 32768; ways = 4; latency_cycles = 3",
	              "level1 = { bytes = 32768; ways = 4; latency_cycles = 5");
	if (machine_choose(path, &machine, &pipeline, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(pipeline.operations[CLASS_LOAD].latency, 5);
	assert_int_equal(pipeline.operations[OPERATION_LOAD_VECTOR].latency, 5);
	assert_int_equal(unlink(path), 0);
}

/* The model of the CPU has 64 bytes. */
static void
lines_are_as_long_as_the_machine_says(void **state)
{
	char path[] = "/tmp/dcpi-machine-XXXXXX", why[1024] = "";
	struct pipeline pipeline;
	struct machine machine;

	(void)state;
	write_changed(path, "line_bytes = 64", "line_bytes = 32");
	if (machine_choose(path, &machine, &pipeline, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(pipeline.cache_line, 32);
	assert_int_equal(unlink(path), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_file_is_a_whole_machine),
		cmocka_unit_test(all_that_a_file_may_say_is_taken),
		cmocka_unit_test(what_is_out_of_range_is_refused_with_file_line_and_range),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(unknown_names_are_refused_with_what_was_probably_meant),
		cmocka_unit_test(what_is_no_configuration_is_refused_with_its_line),
		cmocka_unit_test(nodes_have_equally_many_cores),
		cmocka_unit_test(a_cache_of_level_1_has_a_power_of_two_of_sets),
		cmocka_unit_test(other_levels_have_any_number_of_sets),
		cmocka_unit_test(levels_grow_in_size_latency_and_cores),
		cmocka_unit_test(levels_have_no_gaps_and_the_first_is_not_shared),
		cmocka_unit_test(a_tlb_has_a_power_of_two_of_sets),
		cmocka_unit_test(a_prefetcher_belongs_to_a_level_that_is_there),
		cmocka_unit_test(a_history_is_no_longer_than_the_counters_have_bits),
		cmocka_unit_test(a_curve_ascends),
		cmocka_unit_test(memory_is_slower_than_the_last_cache),
		cmocka_unit_test(several_nodes_are_some_way_apart),
		cmocka_unit_test(used_cores_are_spread_over_the_nodes),
		cmocka_unit_test(all_described_machines_are_sound),
		cmocka_unit_test(a_machine_that_is_none_is_refused_with_those_near),
		cmocka_unit_test(ones_own_machine_comes_first),
		cmocka_unit_test(a_pipeline_that_is_none_is_refused_with_the_file),
		cmocka_unit_test(a_load_takes_what_the_machine_says),
		cmocka_unit_test(lines_are_as_long_as_the_machine_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
