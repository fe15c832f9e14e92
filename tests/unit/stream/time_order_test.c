#include "tests/unit/test.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "stream/time_order.h"

struct time_order_fixture {
	struct time_order *order;
	size_t count;
	uint64_t times[4096];
	struct record last;
	uint32_t last_event;
	char last_path[64];
	struct perf_branch_entry last_branch;
	uint64_t last_chain[4], last_registers[4];
	char last_stack[16];
	int answer; /* of the sink */
};

static int
see(void *context, const struct record *record, uint32_t event)
{
	struct time_order_fixture *fixture = context;

	assert_true(fixture->count < sizeof(fixture->times) / sizeof(fixture->times[0]));
	fixture->times[fixture->count++] = record->time;
	fixture->last = *record;
	fixture->last_event = event;
	if (record->type == RECORD_MMAP)
		snprintf(fixture->last_path, sizeof(fixture->last_path), "%s", record->mmap.path);
	if (record->type == RECORD_SAMPLE && record->sample.branch_count > 0)
		memcpy(&fixture->last_branch, record->sample.branches, sizeof(fixture->last_branch));
	if (record->type == RECORD_SAMPLE && record->sample.call_chain)
		memcpy(fixture->last_chain, record->sample.call_chain,
		       record->sample.call_chain_count * sizeof(uint64_t));
	if (record->type == RECORD_SAMPLE && record->sample.registers)
		memcpy(fixture->last_registers, record->sample.registers,
		       record->sample.register_count * sizeof(uint64_t));
	if (record->type == RECORD_SAMPLE && record->sample.stack)
		memcpy(fixture->last_stack, record->sample.stack, record->sample.stack_size);
	return fixture->answer;
}

static int
setup_with(void **state, size_t limit)
{
	struct time_order_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->order = time_order_new(limit, see, fixture);
	assert_non_null(fixture->order);
	*state = fixture;
	return 0;
}

static int
setup(void **state)
{
	return setup_with(state, (size_t)1 << 20);
}

static int
setup_small(void **state)
{
	return setup_with(state, 0);
}

static int
teardown(void **state)
{
	struct time_order_fixture *fixture = *state;

	time_order_free(fixture->order);
	free(fixture);
	return 0;
}

static void
put(struct time_order_fixture *fixture, uint64_t time)
{
	const struct record record = {.type = RECORD_SAMPLE, .time = time};

	assert_int_equal(time_order_put(fixture->order, &record, 7), 0);
}

#define assert_times(fixture, ...)                                                                                     \
	do {                                                                                                           \
		static const uint64_t times_[] = {__VA_ARGS__};                                                        \
		assert_int_equal((fixture)->count, sizeof(times_) / sizeof(times_[0]));                                \
		assert_memory_equal((fixture)->times, times_, sizeof(times_));                                         \
	} while (0)

static void
all_that_waits_comes_in_the_order_of_time_at_the_end(void **state)
{
	static const uint64_t times[] = {5, 9, 2, 6, 7, 1, 3, 4, 8};
	struct time_order_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		put(fixture, times[i]);
	assert_int_equal(fixture->count, 0);
	assert_int_equal(time_order_end(fixture->order), 0);
	assert_times(fixture, 1, 2, 3, 4, 5, 6, 7, 8, 9);
}

static void
rounds_of_nothing_hand_over_nothing(void **state)
{
	struct time_order_fixture *fixture = *state;

	assert_int_equal(time_order_round(fixture->order), 0);
	assert_int_equal(time_order_round(fixture->order), 0);
	assert_int_equal(time_order_end(fixture->order), 0);
	assert_int_equal(fixture->count, 0);
}

/* What comes behind the second end is no older than what came before the first. */
static void
the_end_of_a_round_lets_go_what_the_round_before_had_seen(void **state)
{
	struct time_order_fixture *fixture = *state;

	put(fixture, 10);
	put(fixture, 4);
	assert_int_equal(time_order_round(fixture->order), 0);
	assert_int_equal(fixture->count, 0);
	put(fixture, 8); /* of another CPU: older than what came before the end */
	put(fixture, 14);
	assert_int_equal(time_order_round(fixture->order), 0);
	assert_times(fixture, 4, 8, 10);
	put(fixture, 12);
	assert_int_equal(time_order_round(fixture->order), 0);
	assert_times(fixture, 4, 8, 10, 12, 14);
	assert_int_equal(time_order_late(fixture->order), 0);
}

static void
records_of_one_time_stay_as_they_came(void **state)
{
	struct time_order_fixture *fixture = *state;
	struct record record = {.type = RECORD_MMAP, .time = 5};

	put(fixture, 6);
	record.mmap.path = "first";
	assert_int_equal(time_order_put(fixture->order, &record, 0), 0);
	put(fixture, 1);
	record.mmap.path = "second";
	assert_int_equal(time_order_put(fixture->order, &record, 0), 0);
	assert_int_equal(time_order_put(fixture->order, &(struct record){.type = RECORD_EXIT, .time = 4}, 0), 0);
	fixture->answer = 0;
	assert_int_equal(time_order_end(fixture->order), 0);
	assert_times(fixture, 1, 4, 5, 5, 6);
	assert_string_equal(fixture->last_path, "second");
}

static void
a_record_without_a_time_is_not_held_back(void **state)
{
	struct time_order_fixture *fixture = *state;

	put(fixture, 3);
	put(fixture, 0);
	put(fixture, UINT64_MAX);
	assert_times(fixture, 0, UINT64_MAX);
}

static void
what_a_record_points_to_is_kept_with_it(void **state)
{
	struct perf_branch_entry branches[2] = {{.from = 0x10, .to = 0x20}, {.from = 0x30, .to = 0x40}};
	uint64_t chain[3] = {0x51, 0x52, 0x53};
	struct record mapping = {.type = RECORD_MMAP, .time = 2, .pid = 42};
	struct record sample = {.type = RECORD_SAMPLE, .time = 1};
	struct time_order_fixture *fixture = *state;
	char path[] = "/lib/libz.so";

	mapping.mmap.path = path;
	mapping.mmap.start = 0x1000;
	sample.sample.branches = (const uint8_t *)branches;
	sample.sample.branch_count = 2;
	sample.sample.call_chain = (const uint8_t *)chain;
	sample.sample.call_chain_count = 3;
	sample.sample.address = 0x77;
	assert_int_equal(time_order_put(fixture->order, &mapping, 3), 0);
	assert_int_equal(time_order_put(fixture->order, &sample, 3), 0);
	memset(path, 'x', sizeof(path) - 1);
	memset(branches, 0, sizeof(branches));
	memset(chain, 0, sizeof(chain));
	assert_int_equal(time_order_end(fixture->order), 0);
	assert_string_equal(fixture->last_path, "/lib/libz.so");
	assert_int_equal(fixture->last.mmap.start, 0x1000);
	assert_int_equal(fixture->last.pid, 42);
	assert_int_equal(fixture->last_event, 3);
	assert_int_equal(fixture->last_branch.from, 0x10);
	assert_int_equal(fixture->last_branch.to, 0x20);
	assert_int_equal(fixture->last_chain[0], 0x51);
	assert_int_equal(fixture->last_chain[1], 0x52);
	assert_int_equal(fixture->last_chain[2], 0x53);
}

static void
a_call_chain_is_kept_without_branches_and_none_stays_none(void **state)
{
	struct record sample = {.type = RECORD_SAMPLE, .time = 1};
	struct time_order_fixture *fixture = *state;
	uint64_t chain[2] = {0x61, 0x62};

	sample.sample.call_chain = (const uint8_t *)chain;
	sample.sample.call_chain_count = 2;
	assert_int_equal(time_order_put(fixture->order, &sample, 0), 0);
	memset(chain, 0, sizeof(chain));
	sample = (struct record){.type = RECORD_SAMPLE, .time = 2};
	assert_int_equal(time_order_put(fixture->order, &sample, 0), 0);
	assert_int_equal(time_order_end(fixture->order), 0);
	assert_int_equal(fixture->count, 2);
	assert_int_equal(fixture->last_chain[0], 0x61);
	assert_int_equal(fixture->last_chain[1], 0x62);
	assert_null(fixture->last.sample.call_chain);
}

static void
registers_and_the_copy_of_the_stack_are_kept(void **state)
{
	uint64_t chain[1] = {0x61}, registers[3] = {0x71, 0x72, 0x73};
	struct record sample = {.type = RECORD_SAMPLE, .time = 1};
	struct time_order_fixture *fixture = *state;
	uint8_t stack[13] = "a stack copy";

	sample.sample.call_chain = (const uint8_t *)chain;
	sample.sample.call_chain_count = 1;
	sample.sample.registers = (const uint8_t *)registers;
	sample.sample.register_count = 3;
	sample.sample.stack = stack;
	sample.sample.stack_size = sizeof(stack);
	assert_int_equal(time_order_put(fixture->order, &sample, 0), 0);
	memset(registers, 0, sizeof(registers));
	memset(stack, 0, sizeof(stack));
	assert_int_equal(time_order_end(fixture->order), 0);
	assert_int_equal(fixture->last_chain[0], 0x61);
	assert_int_equal(fixture->last_registers[0], 0x71);
	assert_int_equal(fixture->last_registers[2], 0x73);
	assert_string_equal(fixture->last_stack, "a stack copy");
	sample = (struct record){.type = RECORD_SAMPLE, .time = 2}; /* of a kernel thread */
	assert_int_equal(time_order_put(fixture->order, &sample, 0), 0);
	assert_int_equal(time_order_end(fixture->order), 0);
	assert_null(fixture->last.sample.registers);
	assert_null(fixture->last.sample.stack);
}

/* Without rounds - perf of 2010, or a hostile file - memory has an end nevertheless, and late records are counted. */
static void
what_waits_has_a_limit(void **state)
{
	struct time_order_fixture *fixture = *state;
	size_t at_first;

	for (uint64_t time = 1; time <= 2000; time++)
		put(fixture, time);
	at_first = time_order_memory(fixture->order);
	assert_true(fixture->count > 0);
	for (uint64_t time = 2001; time <= 4000; time++)
		put(fixture, time);
	assert_true(time_order_memory(fixture->order) <= 2 * at_first);
	assert_int_equal(time_order_late(fixture->order), 0);
	put(fixture, 1);
	assert_int_equal(time_order_late(fixture->order), 1);
	assert_int_equal(time_order_end(fixture->order), 0);
	assert_int_equal(fixture->count, 4001);
}

static void
what_the_sink_says_is_told(void **state)
{
	struct time_order_fixture *fixture = *state;

	put(fixture, 1);
	fixture->answer = -ENOSPC;
	assert_int_equal(time_order_end(fixture->order), -ENOSPC);
	fixture->answer = 0;
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_that_waits_comes_in_the_order_of_time_at_the_end),
		TEST(rounds_of_nothing_hand_over_nothing),
		TEST(the_end_of_a_round_lets_go_what_the_round_before_had_seen),
		TEST(records_of_one_time_stay_as_they_came),
		TEST(a_record_without_a_time_is_not_held_back),
		TEST(what_a_record_points_to_is_kept_with_it),
		TEST(a_call_chain_is_kept_without_branches_and_none_stays_none),
		TEST(registers_and_the_copy_of_the_stack_are_kept),
		cmocka_unit_test_setup_teardown(what_waits_has_a_limit, setup_small, teardown),
		TEST(what_the_sink_says_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
