#include "tests/unit/test.h"

#include <errno.h>

#include "stream/merge.h"
#include "tests/unit/stream/fake_ring.h"

static const struct record_layout plain = {.sample_type = PLAIN_SAMPLE, .sample_id_all = false};

#define CPUS 3

struct merge_fixture {
	struct merge *merge;
	struct fake_ring cpus[CPUS];
	size_t count; /* records handed over */
	struct {
		uint32_t cpu;
		enum record_type type;
		uint64_t time;
	} seen[512];
};

static int
see(void *context, uint32_t cpu, const struct record *record)
{
	struct merge_fixture *fixture = context;

	assert_true(fixture->count < sizeof(fixture->seen) / sizeof(fixture->seen[0]));
	fixture->seen[fixture->count].cpu = cpu;
	fixture->seen[fixture->count].type = record->type;
	fixture->seen[fixture->count].time = record->time;
	fixture->count++;
	return 0;
}

static int
setup(void **state)
{
	struct merge_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->merge = merge_new();
	assert_non_null(fixture->merge);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		fake_ring_init(&fixture->cpus[cpu], 0);
		assert_int_equal(merge_add(fixture->merge, fixture->cpus[cpu].ring, &plain, cpu), 0);
	}
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	struct merge_fixture *fixture = *state;

	merge_free(fixture->merge);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		fake_ring_fini(&fixture->cpus[cpu]);
	free(fixture);
	return 0;
}

static void
drain(struct merge_fixture *fixture, uint64_t horizon)
{
	assert_int_equal(merge_drain(fixture->merge, horizon, see, fixture), 0);
}

#define assert_times(fixture, ...)                                                                                     \
	do {                                                                                                           \
		static const uint64_t times_[] = {__VA_ARGS__};                                                        \
		assert_int_equal((fixture)->count, sizeof(times_) / sizeof(times_[0]));                                \
		for (size_t i_ = 0; i_ < (fixture)->count; i_++)                                                       \
			assert_int_equal((fixture)->seen[i_].time, times_[i_]);                                        \
	} while (0)

static void
records_of_all_cpus_come_in_time_order(void **state)
{
	struct merge_fixture *fixture = *state;

	fake_ring_sample(&fixture->cpus[0], 0, 100);
	fake_ring_sample(&fixture->cpus[0], 0, 110);
	fake_ring_sample(&fixture->cpus[0], 0, 400);
	fake_ring_sample(&fixture->cpus[1], 0, 50);
	fake_ring_sample(&fixture->cpus[1], 0, 300);
	fake_ring_sample(&fixture->cpus[2], 0, 105);
	fake_ring_sample(&fixture->cpus[2], 0, 350);
	drain(fixture, UINT64_MAX);
	assert_times(fixture, 50, 100, 105, 110, 300, 350, 400);
	assert_int_equal(fixture->seen[0].cpu, 1);
	assert_int_equal(fixture->seen[2].cpu, 2);
	assert_int_equal(fixture->seen[6].cpu, 0);
}

static void
what_is_later_than_the_horizon_stays_in_its_ring(void **state)
{
	struct merge_fixture *fixture = *state;

	fake_ring_sample(&fixture->cpus[0], 0, 100);
	fake_ring_sample(&fixture->cpus[0], 0, 200);
	fake_ring_sample(&fixture->cpus[0], 0, 201);
	drain(fixture, 200);
	assert_times(fixture, 100, 200);
	assert_int_equal(fixture->cpus[0].header->data_tail, 80);
	assert_int_equal(ring_used(fixture->cpus[0].ring), 40);
	fake_ring_sample(&fixture->cpus[1], 0, 150); /* late, but older than what waits */
	drain(fixture, 300);
	assert_times(fixture, 100, 200, 150, 201);
}

static void
a_time_that_steps_back_in_its_ring_comes_at_once(void **state)
{
	struct merge_fixture *fixture = *state;

	fake_ring_sample(&fixture->cpus[0], 0, 100);
	fake_ring_sample(&fixture->cpus[0], 0, 90); /* the interrupt came while this was being written */
	fake_ring_sample(&fixture->cpus[0], 0, 120);
	fake_ring_sample(&fixture->cpus[1], 0, 110);
	drain(fixture, 200);
	assert_times(fixture, 100, 90, 110, 120);
}

static void
a_record_without_a_time_goes_with_the_one_before_it(void **state)
{
	struct merge_fixture *fixture = *state;

	fake_ring_sample(&fixture->cpus[0], 0, 100);
	fake_ring_comm(&fixture->cpus[0], "timeless");
	fake_ring_sample(&fixture->cpus[0], 0, 300);
	fake_ring_sample(&fixture->cpus[1], 0, 200);
	drain(fixture, 250);
	assert_times(fixture, 100, 0, 200);
	assert_int_equal(fixture->seen[1].type, RECORD_COMM);
}

static void
at_the_same_time_a_map_change_comes_before_samples(void **state)
{
	struct merge_fixture *fixture = *state;

	fake_ring_sample(&fixture->cpus[0], 0, 100);
	fake_ring_sample(&fixture->cpus[0], 0, 200);
	fake_ring_sample(&fixture->cpus[1], 0, 200);
	fake_ring_sample(&fixture->cpus[2], 0, 200);
	fake_ring_comm(&fixture->cpus[2], "timeless"); /* counts as 200, behind its sample */
	drain(fixture, 200);
	assert_int_equal(fixture->count, 5);
	assert_int_equal(fixture->seen[0].time, 100);
	fixture->count = 0;

	fake_ring_sample(&fixture->cpus[0], 0, 300);
	fake_ring_sample(&fixture->cpus[2], 0, 300);
	fake_ring_comm(&fixture->cpus[1], "timeless"); /* counts as 200 */
	drain(fixture, 300);
	assert_int_equal(fixture->seen[0].type, RECORD_COMM);
}

static void
records_written_after_a_drain_come_with_the_next(void **state)
{
	struct merge_fixture *fixture = *state;

	drain(fixture, 1000);
	assert_int_equal(fixture->count, 0);
	fake_ring_sample(&fixture->cpus[2], 0, 100);
	drain(fixture, 1000);
	assert_times(fixture, 100);
}

static void
a_ring_that_was_removed_is_left_alone(void **state)
{
	struct merge_fixture *fixture = *state;

	fake_ring_sample(&fixture->cpus[0], 0, 100);
	fake_ring_sample(&fixture->cpus[1], 0, 200);
	fake_ring_sample(&fixture->cpus[2], 0, 300);
	merge_remove(fixture->merge, fixture->cpus[1].ring);
	drain(fixture, 1000);
	assert_times(fixture, 100, 300);
	assert_int_equal(ring_used(fixture->cpus[1].ring), 40);
	merge_remove(fixture->merge, fixture->cpus[1].ring); /* a second time does no harm */
}

static void
space_of_damaged_records_is_given_back(void **state)
{
	static const uint8_t no_size[16] = {PERF_RECORD_SAMPLE};
	struct merge_fixture *fixture = *state;

	fake_ring_write(&fixture->cpus[0], no_size, sizeof(no_size));
	drain(fixture, 1000);
	assert_int_equal(fixture->count, 0);
	assert_int_equal(fixture->cpus[0].header->data_tail, sizeof(no_size));
}

static int
see_three(void *context, uint32_t cpu, const struct record *record)
{
	struct merge_fixture *fixture = context;

	if (fixture->count == 3)
		return -ENOSPC;
	return see(context, cpu, record);
}

static void
a_sink_that_is_full_gets_the_same_record_next_time(void **state)
{
	struct merge_fixture *fixture = *state;

	for (uint64_t time = 1; time <= 6; time++)
		fake_ring_sample(&fixture->cpus[time % 2], 0, time);
	assert_int_equal(merge_drain(fixture->merge, UINT64_MAX, see_three, fixture), -ENOSPC);
	assert_times(fixture, 1, 2, 3);
	drain(fixture, UINT64_MAX);
	assert_times(fixture, 1, 2, 3, 4, 5, 6);
}

/* The kernel writes on while it is drained: space must come back before the drain ends. */
static int
write_more_while_there_is_room(void *context, uint32_t cpu, const struct record *record)
{
	struct merge_fixture *fixture = context;
	struct fake_ring *fake = &fixture->cpus[cpu];

	fixture->count++;
	if (record->time < 5000 && fake->header->data_head - fake->header->data_tail + 40 <= fake->size)
		fake_ring_sample(fake, 0, record->time + 1);
	return 0;
}

static void
space_comes_back_during_a_long_drain(void **state)
{
	struct merge_fixture *fixture = *state;

	fake_ring_sample(&fixture->cpus[0], 0, 1);
	assert_int_equal(merge_drain(fixture->merge, UINT64_MAX, write_more_while_there_is_room, fixture), 0);
	assert_true(fixture->count > fixture->cpus[0].size / 40);
}

/* More rings than the heap begins with, in an order that a linear generator scatters. */
static void
many_rings_are_merged_in_order(void **state)
{
	struct merge_fixture *fixture = *state;
	struct fake_ring more[40];
	uint32_t random = 1;

	for (size_t i = 0; i < 40; i++) {
		uint64_t time = 0;

		fake_ring_init(&more[i], 0);
		assert_int_equal(merge_add(fixture->merge, more[i].ring, &plain, 100 + (uint32_t)i), 0);
		for (size_t record = 0; record < 10; record++) {
			random = random * 1103515245 + 12345;
			time += 1 + (random >> 16) % 1000;
			fake_ring_sample(&more[i], 0, time);
		}
	}
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->count, 400);
	for (size_t i = 1; i < fixture->count; i++)
		assert_true(fixture->seen[i - 1].time <= fixture->seen[i].time);
	for (size_t i = 0; i < 40; i++) {
		merge_remove(fixture->merge, more[i].ring);
		fake_ring_fini(&more[i]);
	}
}

/* What changes a map is handed over after all older samples and before all younger ones, of whatever ring. */
static void
samples_keep_their_order_with_maps_but_not_among_themselves(void **state)
{
	struct merge_fixture *fixture = *state;
	struct fake_ring samples[2];

	for (uint32_t i = 0; i < 2; i++) {
		fake_ring_init(&samples[i], 0);
		assert_int_equal(merge_add_samples(fixture->merge, samples[i].ring, &plain, 10 + i), 0);
	}
	for (uint64_t time = 100; time <= 700; time += 100) {
		fake_ring_sample(&samples[0], 0, time);
		fake_ring_sample(&samples[1], 0, time + 50);
	}
	fake_ring_sample(&fixture->cpus[0], 0, 300); /* as any record in a ring that has not only samples */
	fake_ring_sample(&fixture->cpus[1], 0, 520);
	drain(fixture, 650);
	assert_times(fixture, 100, 200, 150, 250, 300, 300, 400, 500, 350, 450, 520, 550, 650, 600);
	drain(fixture, UINT64_MAX);
	assert_int_equal(fixture->count, 16);
	for (uint32_t i = 0; i < 2; i++) {
		merge_remove(fixture->merge, samples[i].ring);
		fake_ring_fini(&samples[i]);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_of_all_cpus_come_in_time_order),
		TEST(what_is_later_than_the_horizon_stays_in_its_ring),
		TEST(a_time_that_steps_back_in_its_ring_comes_at_once),
		TEST(a_record_without_a_time_goes_with_the_one_before_it),
		TEST(at_the_same_time_a_map_change_comes_before_samples),
		TEST(records_written_after_a_drain_come_with_the_next),
		TEST(a_ring_that_was_removed_is_left_alone),
		TEST(space_of_damaged_records_is_given_back),
		TEST(a_sink_that_is_full_gets_the_same_record_next_time),
		TEST(space_comes_back_during_a_long_drain),
		TEST(many_rings_are_merged_in_order),
		TEST(samples_keep_their_order_with_maps_but_not_among_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
