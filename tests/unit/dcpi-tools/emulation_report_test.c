#include "tests/unit/test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/emu/report.h"
#include "tests/unit/dcpi-tools/record_made.h"

/* Two cores of 1000 MHz for two milliseconds. */
struct emulation_report_stage {
	struct setup setup;
	struct emulation_outcome outcome;
	struct emulation_report report;
};

static void
describe(struct setup *setup)
{
	setup_init(setup, 2);
	setup->machine.clock_mhz = 1000;
	setup->machine.cores = 4;
	setup->machine.nodes = 1;
	setup->machine.level_count = 2;
	setup->machine.controllers = 2;
	setup->machine.load_count = 2;
	setup->machine.loads[1].bandwidth_gb_s = 0.1;
	snprintf(setup->machine.name, sizeof(setup->machine.name), "small");
	snprintf(setup->machine.title, sizeof(setup->machine.title), "A small one");
}

static int
set_up(void **state)
{
	static const struct record_header header = {
		.magic = RECORD_MAGIC, .pid = 2000000000, .vcpu_count = 2, .comm = "two", .unfollowed = 1};
	static const struct record_counters threads[] = {
		{
			.clock = 2000000,
			.threads = 1,
			.cycles = {[REASON_EXECUTION] = 1000000,
	                           [REASON_DATA_CACHE] = 500000,
	                           [REASON_BANDWIDTH] = 500000},
			.stores_missed = {200, 30},
			.code_missed = {0, 20},
			.node_bytes = {6400},
			.events = {[SETUP_EVENT_LEVEL1_DATA] = 600,
	                           [SETUP_EVENT_LEVEL1_CODE] = 100,
	                           [SETUP_EVENT_LEVEL2] = 70,
	                           [SETUP_EVENT_DATA_TLB] = 40,
	                           [SETUP_EVENT_DATA_WALK] = 10,
	                           [SETUP_EVENT_BRANCH] = 25},
		},
		{
			.clock = 2000000,
			.began = 500000,
			.threads = 1,
			.cycles = {[REASON_EXECUTION] = 700000,
	                           [REASON_TRANSFER] = 50000,
	                           [REASON_CALL] = 250000,
	                           [REASON_BLOCKED] = 500000},
			.transfers = 30,
			.far_transfers = 12,
			.node_bytes = {193600},
			.waits = 9,
			.timeouts = 1,
			.events = {[SETUP_EVENT_LEVEL1_DATA] = 100},
		},
	};
	struct emulation_report_stage *stage = calloc(1, sizeof(*stage));
	char directory[64];

	record_made_directory(directory);
	record_made_file(directory, "record.2000000000.0", &header, threads);
	assert_int_equal(counters_read(directory, &stage->outcome.counters), 0);
	record_made_remove(directory);
	describe(&stage->setup);
	stage->outcome.run.start_ns = 1000000000;
	stage->outcome.run.end_ns = 1020000000;
	stage->outcome.epoch = 3;
	stage->outcome.executed =
		(struct executed){.instructions = 600000, .loads = 6000, .stores = 3000, .branches = 1000};
	stage->report = (struct emulation_report){
		.setup = &stage->setup, .outcome = &stage->outcome, .database = "/tmp/db", .label = "try1"};
	*state = stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct emulation_report_stage *stage = *state;

	emulation_fini(&stage->outcome);
	free(stage);
	return 0;
}

static void
assert_text(const struct emulation_report_stage *stage, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(emulation_report_text(&stage->report, stream), 0);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
}

static void
the_report_is_as_worked_out_by_hand(void **state)
{
	static const char expected[] =
		"Machine:   A small one (small), 1000 MHz, 2 of its 4 cores\n"
		"Time:      0.002000 s, 2000000 cycles; 0.02 s here, 10.0 times as long\n"
		"Busy:      1.50 cores on average, 0.003000 s of one\n"
		"Executed:  1 process, 1 program, 2 threads, 600000 instructions, 0.20 a busy cycle\n"
		"\n"
		"          cycles     busy spent on\n"
		"         1700000   56.67% Execution\n"
		"          500000   16.67% D-cache miss\n"
		"           50000    1.67% Lines of other cores\n"
		"          500000   16.67% Memory bandwidth\n"
		"          250000    8.33% System calls\n"
		"          500000        - Blocked\n"
		"\n"
		"        accesses         misses     hits per 1000 of\n"
		"               -            100        -    0.167 L1 code\n"
		"            9000            900   90.00%    1.500 L1 data\n"
		"            1000            100   90.00%    0.167 L2\n"
		"               -             30        -    0.050 other cores\n"
		"               -             12        -    0.020 other nodes\n"
		"               -              0        -    0.000 ITB\n"
		"            9000             40   99.56%    0.067 DTB\n"
		"              40             10   75.00%    0.017 TB level 2\n"
		"            1000             25   97.50%    0.042 branches\n"
		"\n"
		"           bytes           GB/s    limit memory of\n"
		"          200000          0.100    50.0% node 0 (0.2 GB/s)\n"
		"\n"
		"     busy cycles   exec   code   data branch  calls blocked thread\n"
		"         2000000  50.0%   0.0%  50.0%   0.0%   0.0%    0.0% 0 of two, process 2000000000\n"
		"         1000000  70.0%   0.0%   5.0%   0.0%  25.0%   33.3% 1 of two, process 2000000000\n"
		"\n"
		"Missing:   1 program that was started could not be followed\n"
		"Waits:     1 of 9 for slower threads ended without them\n"
		"Profile:   epoch 3 of /tmp/db, label try1\n";

	assert_text(*state, expected);
}

static void
what_was_not_modelled_is_not_reported(void **state)
{
	static const char expected[] = "Machine:   A small one (small), 1000 MHz, 2 of its 4 cores\n"
				       "Time:      not modelled; 0.02 s here\n"
				       "Executed:  1 process, 1 program, 2 threads, 600000 instructions\n"
				       "\n"
				       "        accesses         misses     hits per 1000 of\n"
				       "            1000             25   97.50%    0.042 branches\n"
				       "\n"
				       "Missing:   1 program that was started could not be followed\n"
				       "Waits:     1 of 9 for slower threads ended without them\n";
	struct emulation_report_stage *stage = *state;

	stage->setup.parts = SETUP_COUNTS | SETUP_BRANCHES;
	stage->outcome.epoch = 0;
	assert_text(stage, expected);
}

/* A core, a block, a record: what there is one of is not told as several. */
static void
one_of_a_thing_is_told_as_one(void **state)
{
	static const char expected[] = "Machine:   A small one (small), 1000 MHz, 1 of its 1 core\n"
				       "Time:      not modelled; 0.02 s here\n"
				       "Executed:  1 process, 1 program, 2 threads, 600000 instructions\n"
				       "\n"
				       "        accesses         misses     hits per 1000 of\n"
				       "            1000             25   97.50%    0.042 branches\n"
				       "\n"
				       "Missing:   1 program that was started could not be followed\n"
				       "Missing:   1 block of code or stalls found no room\n"
				       "Missing:   1 process still runs; what it does from now on is not in it\n"
				       "Missing:   the records of 1 process are damaged\n"
				       "Waits:     1 of 9 for slower threads ended without them\n";
	struct emulation_report_stage *stage = *state;

	stage->setup.parts = SETUP_COUNTS | SETUP_BRANCHES;
	stage->setup.threads = stage->setup.machine.cores = 1;
	stage->outcome.counters.programs[0].unrecorded = 1;
	stage->outcome.counters.running = stage->outcome.counters.damaged = 1;
	stage->outcome.epoch = 0;
	assert_text(stage, expected);
}

static void
json_has_all_of_it(void **state)
{
	struct emulation_report_stage *stage = *state;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	json_t *root, *cycles, *programs;

	assert_int_equal(emulation_report_json(&stage->report, stream), 0);
	fclose(stream);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_string_equal(json_text(root, "schema"), "dcpiemu/1");
	assert_int_equal(json_integer_value(json_object_get(root, "elapsed_cycles")), 2000000);
	cycles = json_object_get(root, "cycles");
	assert_int_equal(json_integer_value(json_object_get(cycles, "data-cache")), 500000);
	assert_int_equal(json_integer_value(json_object_get(cycles, "blocked")), 500000);
	programs = json_object_get(root, "programs");
	assert_int_equal(json_array_size(programs), 1);
	assert_int_equal(json_array_size(json_object_get(json_array_get(programs, 0), "threads")), 2);
	json_decref(root);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_report_is_as_worked_out_by_hand, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_not_modelled_is_not_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_of_a_thing_is_told_as_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(json_has_all_of_it, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
