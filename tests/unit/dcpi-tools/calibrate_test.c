/* Tests of dcpi-tools/emu/calibrate/: what a machine says of itself, and what a file says of it. */
#include "tests/unit/test.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/emu/calibrate/describe.h"
#include "dcpi-tools/emu/calibrate/measure.h"

#define CACHE "devices/system/cpu/cpu0/cache/index"

static char *root; /* of a made-up /sys */

static int
make_root(void **state)
{
	static char path[] = "/tmp/dcpi-host-XXXXXX";

	(void)state;
	memcpy(strrchr(path, '-'), "-XXXXXX", 7);
	root = mkdtemp(path);
	return root ? 0 : -1;
}

static int
remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static int
remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	assert_true((size_t)snprintf(path, sizeof(path), "%s/%s", root, name) < sizeof(path));
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fprintf(file, "%s\n", text) > 0);
	assert_int_equal(fclose(file), 0);
}

static void
put_cache(unsigned index, const char *level, const char *type, const char *size, const char *ways)
{
	const char *const names[] = {"level", "type", "size", "ways_of_associativity"};
	const char *const values[] = {level, type, size, ways};

	for (unsigned i = 0; i < 4; i++) {
		char name[128];

		snprintf(name, sizeof(name), CACHE "%u/%s", index, names[i]);
		put(name, values[i]);
	}
}

static void
read_host(struct host *host)
{
	char why[256] = "";

	if (host_read(root, "/proc", host, why, sizeof(why)))
		fail_msg("%s", why);
}

static void
caches_are_those_that_the_kernel_tells_of(void **state)
{
	struct host host;

	(void)state;
	put("devices/system/cpu/online", "0");
	put_cache(0, "1", "Data", "48K", "12");
	put_cache(1, "1", "Instruction", "32K", "8");
	put_cache(2, "2", "Unified", "2048K", "16");
	put_cache(3, "3", "Unified", "46080K", "20");
	put(CACHE "0/coherency_line_size", "128");
	read_host(&host);
	assert_int_equal(host.cores, 1);
	assert_int_equal(host.nodes, 1);
	assert_int_equal(host.line_bytes, 128);
	assert_int_equal(host.level_count, 3);
	assert_int_equal(host.code.bytes, 32768);
	assert_int_equal(host.levels[0].bytes, 49152);
	assert_int_equal(host.levels[0].ways, 12);
	assert_int_equal(host.levels[2].bytes, 46080 << 10);
	assert_int_equal(host.levels[2].ways, 20);
}

/* 12 MiB in 11 ways: no whole number of sets. Ways of 0: the kernel does not know. */
static void
what_a_file_cannot_say_becomes_what_it_can(void **state)
{
	struct host host;

	(void)state;
	put("devices/system/cpu/online", "0");
	put_cache(0, "1", "Data", "32K", "0");
	put_cache(1, "2", "Unified", "12M", "11");
	read_host(&host);
	assert_int_equal(host.level_count, 2);
	assert_int_equal(host.levels[0].ways, 8);
	assert_int_equal(host.levels[1].bytes, 12 << 20);
	assert_int_equal(host.levels[1].ways, 8);
	assert_int_equal(host.code.bytes, 32768);
}

/* Only the first CPU of a core counts; which ones this process may use is not made up. */
static void
a_core_of_two_threads_is_one(void **state)
{
	struct host host;

	(void)state;
	put("devices/system/cpu/online", "0-1");
	put("devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1");
	put("devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1");
	put_cache(0, "1", "Data", "32K", "8");
	put(CACHE "0/shared_cpu_list", "0-1");
	read_host(&host);
	assert_int_equal(host.cores, 1);
	assert_int_equal(host.levels[0].cores, 1);
}

/* Two cores, three levels; 4, 14 and 50 cycles at 2 GHz, memory 100 ns. */
static const struct host host = {
	.cpu = "Two \"cores\" \\ of one",
	.cores = 2,
	.nodes = 1,
	.line_bytes = 64,
	.page_bytes = 4096,
	.level_count = 3,
	.code = {.bytes = 32768, .ways = 8, .cores = 1},
	.levels = {{.bytes = 32768, .ways = 8, .cores = 1},
                   {.bytes = 1 << 20, .ways = 8, .cores = 1},
                   {.bytes = 45 << 20, .ways = 20, .cores = 2}},
};

static const struct measurements found = {
	.clock_mhz = {.value = 2000.4},
	.level_cycles = {{.value = 4.1}, {.value = 13.9}, {.value = 50.2}},
	.memory_cycles = {.value = 200.0},
	.memory_ns = {.value = 100.0},
	.tlbs = {.data_entries = 72, .shared_entries = 3072, .hit_cycles = 7.2, .walk_cycles = 90.4},
	.misses_in_flight = 24,
	.call_cycles = {.value = 605.4},
	.bandwidth_count = 2,
	.bandwidths = {{1, 12.0}, {2, 20.0}},
	.point_count = 3,
	.points = {{1.0, 101.0}, {15.0, 140.0}, {15.5, 130.0}},
};

static const struct pipeline pipeline = {.name = "in-order-2", .write_buffer_entries = 17, .code_tlb = {.entries = 64}};

static void
describe(const struct host *of, const struct measurements *measured, struct machine *machine)
{
	char why[256] = "";

	if (describe_machine(of, measured, &pipeline, machine, why, sizeof(why)))
		fail_msg("%s", why);
}

static void
figures_become_those_of_a_machine(void **state)
{
	struct machine machine;

	(void)state;
	describe(&host, &found, &machine);
	assert_true(machine.clock_mhz == 2000);
	assert_int_equal(machine.levels[1].latency_cycles, 14);
	assert_int_equal(machine.levels[2].cores, 2);
	assert_int_equal(machine.misses_in_flight, 24);
	assert_int_equal(machine.data_tlb.miss_cycles, 7);
	assert_int_equal(machine.shared_tlb.entries, 3072);
	assert_int_equal(machine.shared_tlb.ways, 6);
	assert_int_equal(machine.shared_tlb.miss_cycles, 90);
	assert_int_equal(machine.code_tlb.entries, 64);
	assert_int_equal(machine.write_buffer_entries, 17);
	assert_string_equal(machine.pipeline_name, "in-order-2");
	assert_true(machine.call_cycles == 605);
}

/* Without a second TLB, each miss is a walk. */
static void
one_level_of_tlbs_walks(void **state)
{
	struct measurements one = found;
	struct machine machine;

	(void)state;
	one.tlbs = (struct measured_tlbs){.data_entries = 48, .walk_cycles = 31};
	describe(&host, &one, &machine);
	assert_int_equal(machine.data_tlb.ways, 48);
	assert_int_equal(machine.data_tlb.miss_cycles, 31);
	assert_int_equal(machine.shared_tlb.entries, 0);
}

static void
what_is_written_is_read_as_it_was(void **state)
{
	char why[512] = "", text[8192] = "";
	FILE *stream = fmemopen(text, sizeof(text), "w");
	struct machine machine, read;

	(void)state;
	assert_non_null(stream);
	describe(&host, &found, &machine);
	assert_int_equal(describe_write(&machine, "# A head.\n", stream), 0);
	assert_int_equal(fclose(stream), 0);
	assert_memory_equal(text, "# A head.\nname = \"host\";\n", 24);
	if (machine_parse("text", text, &read, why, sizeof(why)))
		fail_msg("%s", why);
	assert_memory_equal(&read, &machine, sizeof(read));
}

static void
several_nodes_are_written_and_read(void **state)
{
	char why[512] = "", text[8192] = "";
	FILE *stream = fmemopen(text, sizeof(text), "w");
	struct host two = host;
	struct machine machine, read;

	(void)state;
	assert_non_null(stream);
	two.nodes = 2;
	two.levels[2].cores = 1;
	two.distance = 2.1;
	describe(&two, &found, &machine);
	/* half of all memory's, and 110 % of the 100 ns more */
	assert_true(machine.loads[machine.load_count - 1].bandwidth_gb_s == 10);
	assert_true(machine.remote_latency_ns > 109.99 && machine.remote_latency_ns < 110.01);
	assert_int_equal(describe_write(&machine, "", stream), 0);
	assert_int_equal(fclose(stream), 0);
	if (machine_parse("text", text, &read, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(read.nodes, 2);
}

static void
assert_refused(const struct measurements *measured, const char *expected)
{
	struct machine machine;
	char why[256] = "";

	assert_int_equal(describe_machine(&host, measured, &pipeline, &machine, why, sizeof(why)), -DCPI_ECONFIG);
	assert_string_equal(why, expected);
}

static void
figures_that_contradict_each_other_are_refused(void **state)
{
	struct measurements wrong = found;

	(void)state;
	wrong.level_cycles[1].value = 4.2;
	assert_refused(&wrong,
	               "level 2 took 4.2 cycles, level 1 4.1: the machine is too busy, or its caches are not what the "
	               "kernel says");
	wrong = found;
	wrong.memory_cycles.value = 55;
	assert_refused(&wrong,
	               "memory took 55.0 cycles, level 3 50.2: the machine is too busy, or its caches are not what "
	               "the kernel says");
	wrong = found;
	wrong.clock_mhz.value = 99;
	assert_refused(&wrong, "additions came at 99 MHz: no clock of today");
	wrong = found;
	wrong.bandwidth_count = 0;
	assert_refused(&wrong, "memory was read at 0.000 GB/s: the machine is too busy");
}

/* Eighths of 16 GB/s: 2.1 and 3 are in one, 14 and 15 in the last. */
static void
a_curve_is_the_quickest_of_each_part(void **state)
{
	static const struct machine_load points[] = {
		{2.1, 120}, {3, 90}, {0.5, 500}, {9, 160}, {11, 140}, {14.5, 900}, {15, 200},
	};
	struct machine_load curve[MACHINE_CURVE_MAX];
	const unsigned count = describe_curve(points, 7, 80, 16, curve);

	(void)state;
	assert_int_equal(count, 6);
	assert_true(curve[0].bandwidth_gb_s == 0 && curve[0].latency_ns == 80);
	assert_true(curve[1].bandwidth_gb_s == 3 && curve[1].latency_ns == 90);
	/* it cannot take 160 at 9 where it takes 140 at 11 */
	assert_true(curve[2].bandwidth_gb_s == 9 && curve[2].latency_ns == 140);
	assert_true(curve[3].bandwidth_gb_s == 11 && curve[3].latency_ns == 140);
	assert_true(curve[4].bandwidth_gb_s == 15 && curve[4].latency_ns == 200);
	assert_true(curve[5].bandwidth_gb_s == 16 && curve[5].latency_ns == 200);
}

static void
a_curve_without_points_is_flat(void **state)
{
	struct machine_load curve[MACHINE_CURVE_MAX];

	(void)state;
	assert_int_equal(describe_curve(NULL, 0, 80, 16, curve), 2);
	assert_true(curve[0].latency_ns == 80 && curve[1].latency_ns == 80 && curve[1].bandwidth_gb_s == 16);
}

/* What a Zen 4 showed. */
static void
tlbs_end_where_more_pages_cost_more(void **state)
{
	static const struct measured_pages pages = {
		.pages = {32, 64, 72, 80, 96, 128, 160, 256, 1024, 2048, 3072, 4096, 8192},
		.extra_cycles = {0, 0, 0, 6.8, 7, 7, 7.1, 7, 8, 8, 29.5, 53.2, 90},
		.count = 13,
	};
	struct measured_tlbs tlbs;

	(void)state;
	measure_find_tlbs(&pages, &tlbs);
	assert_int_equal(tlbs.data_entries, 72);
	assert_int_equal(tlbs.shared_entries, 3072);
	assert_true(tlbs.hit_cycles == 7.1);
	assert_true(tlbs.walk_cycles == 90 - 7.1);
}

static void
one_tlb_has_one_step(void **state)
{
	static const struct measured_pages pages = {
		.pages = {8, 16, 32, 64, 128},
		.extra_cycles = {0, 0, 0.5, 30, 31},
		.count = 5,
	};
	struct measured_tlbs tlbs;

	(void)state;
	measure_find_tlbs(&pages, &tlbs);
	assert_int_equal(tlbs.data_entries, 32);
	assert_int_equal(tlbs.shared_entries, 0);
	assert_true(tlbs.walk_cycles == 30);
}

static void
pages_that_cost_nothing_show_no_tlb(void **state)
{
	static const struct measured_pages pages = {.pages = {8, 16}, .extra_cycles = {0, 0.1}, .count = 2};
	struct measured_tlbs tlbs;

	(void)state;
	measure_find_tlbs(&pages, &tlbs);
	assert_int_equal(tlbs.data_entries, 0);
}

/* Sorted: 100, 101, 104, 130; a quarter of four are at most 101. */
static void
the_least_of_runs_is_as_sure_as_others_are_near(void **state)
{
	double runs[] = {130, 101, 100, 104};
	const struct figure figure = figure_least(runs, 4);
	const struct figure wide = {.value = 1, .spread = 0.1}, wild = {.value = 1, .spread = 0.2};

	(void)state;
	assert_true(figure.value == 100);
	assert_true(figure.spread > 0.0099 && figure.spread < 0.0101);
	assert_string_equal(figure_sureness(&figure), "sure");
	assert_string_equal(figure_sureness(&wide), "roughly");
	assert_string_equal(figure_sureness(&wild), "doubtful");
	assert_true(figure_least(runs, 0).value == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(caches_are_those_that_the_kernel_tells_of, make_root, remove_root),
		cmocka_unit_test_setup_teardown(what_a_file_cannot_say_becomes_what_it_can, make_root, remove_root),
		cmocka_unit_test_setup_teardown(a_core_of_two_threads_is_one, make_root, remove_root),
		cmocka_unit_test(figures_become_those_of_a_machine),
		cmocka_unit_test(one_level_of_tlbs_walks),
		cmocka_unit_test(what_is_written_is_read_as_it_was),
		cmocka_unit_test(several_nodes_are_written_and_read),
		cmocka_unit_test(figures_that_contradict_each_other_are_refused),
		cmocka_unit_test(a_curve_is_the_quickest_of_each_part),
		cmocka_unit_test(a_curve_without_points_is_flat),
		cmocka_unit_test(tlbs_end_where_more_pages_cost_more),
		cmocka_unit_test(one_tlb_has_one_step),
		cmocka_unit_test(pages_that_cost_nothing_show_no_tlb),
		cmocka_unit_test(the_least_of_runs_is_as_sure_as_others_are_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
