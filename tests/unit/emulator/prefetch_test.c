/* Tests of emulator/model/prefetch.h. */
#include "tests/unit/test.h"

#include "emulator/model/prefetch.h"

#define LINE UINT64_C(64)
#define PAGE UINT64_C(0x7000)
#define CODE UINT64_C(0x401000)

static const struct machine machine = {.line_bytes = 64, .page_bytes = 4096};
static struct prefetcher prefetcher;

static int
teardown(void **state)
{
	(void)state;
	prefetcher_fini(&prefetcher);
	return 0;
}

static void
begin(enum machine_prefetch kind, unsigned entries, unsigned degree, unsigned distance)
{
	const struct machine_prefetcher model = {
		.kind = kind, .level = 2, .entries = entries, .degree = degree, .distance = distance, .accuracy = 1};

	assert_int_equal(prefetcher_init(&prefetcher, &model, &machine), 0);
}

static unsigned
watch(uint64_t address, uint64_t instruction, bool missed)
{
	return prefetcher_train(&prefetcher, address, instruction, missed);
}

/* Lines of PAGE from `first` on, `step` apart, and no others. */
static void
assert_lines(unsigned count, unsigned wanted, int first, int step)
{
	assert_int_equal(count, wanted);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(prefetcher_line(&prefetcher, i), (int64_t)(PAGE / LINE) + first + step * (int)i);
}

static void
the_line_behind_one_that_missed_is_asked_for(void **state)
{
	(void)state;
	begin(PREFETCH_NEXT_LINE, 0, 1, 1);
	assert_lines(watch(PAGE + 5 * LINE + 8, CODE, true), 1, 6, 1);
	assert_lines(watch(PAGE + 5 * LINE + 8, CODE, false), 0, 0, 0);
	assert_lines(watch(PAGE + 2 * LINE, 0, true), 1, 3, 1);
}

static void
nothing_behind_the_page_is_asked_for(void **state)
{
	(void)state;
	begin(PREFETCH_NEXT_LINE, 0, 4, 4);
	assert_lines(watch(PAGE + 61 * LINE, CODE, true), 2, 62, 1);
	assert_lines(watch(PAGE + 63 * LINE, CODE, true), 0, 0, 0);
}

/* The third of three in turn begins it; then each asks for as many more as it may, up to the distance. */
static void
a_stream_is_followed_up_to_its_distance(void **state)
{
	(void)state;
	begin(PREFETCH_STREAM, 16, 2, 5);
	assert_lines(watch(PAGE + 0 * LINE, CODE, true), 0, 0, 0);
	assert_lines(watch(PAGE + 1 * LINE, CODE, true), 0, 0, 0);
	assert_lines(watch(PAGE + 2 * LINE, CODE, true), 2, 3, 1);
	assert_lines(watch(PAGE + 3 * LINE, CODE, false), 2, 5, 1);
	assert_lines(watch(PAGE + 4 * LINE, CODE, false), 2, 7, 1);
	assert_lines(watch(PAGE + 5 * LINE, CODE, false), 2, 9, 1);
	assert_lines(watch(PAGE + 6 * LINE, CODE, false), 1, 11, 1);
	assert_lines(watch(PAGE + 7 * LINE, CODE, false), 1, 12, 1);
}

static void
a_stream_may_go_down(void **state)
{
	(void)state;
	begin(PREFETCH_STREAM, 16, 2, 8);
	watch(PAGE + 9 * LINE, CODE, true);
	watch(PAGE + 8 * LINE, CODE, true);
	assert_lines(watch(PAGE + 7 * LINE, CODE, true), 2, 6, -1);
	assert_lines(watch(PAGE + 6 * LINE, CODE, false), 2, 4, -1);
	assert_lines(watch(PAGE + 5 * LINE, CODE, false), 2, 2, -1);
	assert_lines(watch(PAGE + 4 * LINE, CODE, false), 1, 0, -1);
	assert_lines(watch(PAGE + 3 * LINE, CODE, false), 0, 0, 0);
}

static void
what_goes_to_and_fro_is_no_stream(void **state)
{
	(void)state;
	begin(PREFETCH_STREAM, 16, 2, 8);
	for (unsigned i = 0; i < 20; i++)
		assert_lines(watch(PAGE + (i % 2 ? 10 : 12) * LINE, CODE, true), 0, 0, 0);
}

static void
what_jumps_farther_than_the_distance_is_no_stream(void **state)
{
	(void)state;
	begin(PREFETCH_STREAM, 16, 2, 3);
	for (unsigned i = 0; i < 12; i++)
		assert_lines(watch(PAGE + i * 5 * LINE, CODE, true), 0, 0, 0);
}

static void
a_stream_begins_with_lines_that_are_near(void **state)
{
	(void)state;
	begin(PREFETCH_STREAM, 16, 1, 20);
	for (unsigned i = 0; i < 12; i++)
		assert_lines(watch(PAGE + i * 5 * LINE, CODE, true), 0, 0, 0);
	watch(PAGE + 4096, CODE, true);
	watch(PAGE + 4096 + 4 * LINE, CODE, true);
	assert_lines(watch(PAGE + 4096 + 8 * LINE, CODE, true), 1, 64 + 9, 1);
	assert_lines(watch(PAGE + 4096 + 20 * LINE, CODE, true), 1, 64 + 21, 1);
}

/* Of one page more than there are entries for, none is still known when it comes again. */
static void
so_many_streams_are_followed_at_once(void **state)
{
	(void)state;
	begin(PREFETCH_STREAM, 4, 1, 8);
	for (unsigned i = 0; i < 12; i++) {
		unsigned count = watch(PAGE + (i % 4) * 4096 + (i / 4) * LINE, CODE, true);

		assert_int_equal(count, i >= 8);
	}
	prefetcher_fini(&prefetcher);
	begin(PREFETCH_STREAM, 4, 1, 8);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(watch(PAGE + (i % 5) * 4096 + (i / 5) * LINE, CODE, true), 0);
}

/* Pages whose look-up begins at one place of the table, taking turns. */
static void
streams_as_many_pages_apart_as_are_remembered_stay_apart(void **state)
{
	const uint64_t apart = PREFETCH_RECENT * UINT64_C(4096);

	(void)state;
	begin(PREFETCH_STREAM, 16, 1, 8);
	for (unsigned i = 0; i < 30; i++) {
		const uint64_t page = i % 3 * (apart / LINE);
		const unsigned count = watch(PAGE + i % 3 * apart + i / 3 * LINE, CODE, true);

		assert_lines(count, i >= 6, (int)(page + i / 3 + 1), 1);
	}
}

/* Eight pages of one set, of which the first is needed again: the second makes room for a ninth. */
static void
who_was_not_needed_for_the_longest_time_makes_room(void **state)
{
	(void)state;
	begin(PREFETCH_STREAM, 8, 1, 8);
	for (unsigned i = 0; i < 16; i++)
		watch(PAGE + (i % 8) * 4096 + (i / 8) * LINE, CODE, true);
	watch(PAGE, CODE, true);
	watch(PAGE + LINE, CODE, true);
	watch(PAGE + 8 * UINT64_C(4096), CODE, true);
	assert_lines(watch(PAGE + 2 * 4096 + 2 * LINE, CODE, true), 1, 2 * 64 + 3, 1);
	assert_lines(watch(PAGE + 1 * 4096 + 2 * LINE, CODE, true), 0, 0, 0);
	watch(PAGE + 2 * LINE, CODE, true);
	assert_lines(watch(PAGE + 3 * LINE, CODE, true), 1, 4, 1);
}

/* Of pages whose numbers have the same lower half each has its own stream. */
static void
streams_of_pages_far_apart_stay_apart(void **state)
{
	const uint64_t apart = UINT64_C(1) << 44;

	(void)state;
	begin(PREFETCH_STREAM, 16, 1, 8);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(watch(PAGE + i * LINE, CODE, true), i >= 2);
		assert_int_equal(watch(PAGE + apart + (20 - i) * LINE, CODE, true), i >= 2);
		if (i >= 2)
			assert_int_equal(prefetcher_line(&prefetcher, 0), (PAGE + apart) / LINE + 20 - i - 1);
	}
}

static void
a_stride_within_lines_asks_for_the_next_line(void **state)
{
	(void)state;
	begin(PREFETCH_STRIDE, 64, 1, 2);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(watch(PAGE + i * 8, CODE, true), i == 6); /* 16 bytes on is the line behind */
	assert_int_equal(prefetcher_line(&prefetcher, 0), PAGE / LINE + 1);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(watch(PAGE + 5 * LINE - 8 - i * 8, CODE + 4, true), i == 6);
	assert_int_equal(prefetcher_line(&prefetcher, 0), PAGE / LINE + 3);
}

static void
an_instruction_keeps_its_stride(void **state)
{
	(void)state;
	begin(PREFETCH_STRIDE, 64, 1, 2);
	watch(PAGE + 0 * LINE, CODE, true);
	watch(PAGE + 1 * LINE, CODE + 4, true); /* somebody else in between */
	watch(PAGE + 5 * LINE, CODE, true);
	assert_lines(watch(PAGE + 10 * LINE, CODE, true), 1, 15, 1);
	watch(PAGE + 40 * LINE, CODE + 4, true);
	assert_lines(watch(PAGE + 15 * LINE, CODE, true), 1, 20, 1);
	assert_lines(watch(PAGE + 20 * LINE, CODE, true), 1, 25, 1);
	assert_lines(watch(PAGE + 21 * LINE, CODE, true), 0, 0, 0);
}

static void
what_is_fetched_as_code_has_no_stride(void **state)
{
	(void)state;
	begin(PREFETCH_STRIDE, 64, 1, 2);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(watch(PAGE + i * LINE, 0, true), 0);
}

static void
a_share_of_fetches_is_right_evenly(void **state)
{
	unsigned right = 0;

	(void)state;
	begin(PREFETCH_NEXT_LINE, 0, 1, 1);
	prefetcher.model.accuracy = 0.9;
	for (unsigned i = 0; i < 1000; i++) {
		bool is_accurate = prefetcher_next_is_accurate(&prefetcher);

		prefetcher_count(&prefetcher, is_accurate);
		right += is_accurate;
		if (i % 10 == 9)
			assert_int_equal(right, (i + 1) / 10 * 9);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_line_behind_one_that_missed_is_asked_for),
		TEST(nothing_behind_the_page_is_asked_for),
		TEST(a_stream_is_followed_up_to_its_distance),
		TEST(a_stream_may_go_down),
		TEST(what_goes_to_and_fro_is_no_stream),
		TEST(what_jumps_farther_than_the_distance_is_no_stream),
		TEST(a_stream_begins_with_lines_that_are_near),
		TEST(so_many_streams_are_followed_at_once),
		TEST(streams_as_many_pages_apart_as_are_remembered_stay_apart),
		TEST(who_was_not_needed_for_the_longest_time_makes_room),
		TEST(streams_of_pages_far_apart_stay_apart),
		TEST(a_stride_within_lines_asks_for_the_next_line),
		TEST(an_instruction_keeps_its_stride),
		TEST(what_is_fetched_as_code_has_no_stride),
		TEST(a_share_of_fetches_is_right_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
