/* Tests of locality/line_set.h: lines that are known, and samples of more than there is room for. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "locality/line_set.h"

#define BASE   UINT64_C(0x7f0000000000)
#define ROOM   4096
#define OWNERS 4

struct line_fixture {
	struct line_set set;
	struct line_keys *kept;
	uint64_t lines[OWNERS];
};

static int
set_up(void **state)
{
	struct line_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	fixture->kept = calloc(1, sizeof(*fixture->kept) + ROOM * sizeof(uint64_t));
	if (!fixture->kept)
		return -1;
	line_set_init(&fixture->set, fixture->kept, ROOM);
	return 0;
}

static int
tear_down(void **state)
{
	struct line_fixture *fixture = *state;

	line_set_fini(&fixture->set);
	free(fixture->kept);
	free(fixture);
	return 0;
}

/* By owners, each in the group that it has in `groups`. The keys stay. */
static void
count(struct line_fixture *fixture, const uint32_t groups[OWNERS])
{
	uint64_t keys[ROOM];

	for (uint32_t i = 0; i < fixture->kept->count; i++)
		keys[i] = fixture->kept->keys[i];
	for (unsigned i = 0; i < OWNERS; i++)
		fixture->lines[i] = 0;
	line_keys_count(keys, fixture->kept->count, fixture->kept->halvings, groups, OWNERS, OWNERS, fixture->lines);
}

static const uint32_t apart[OWNERS] = {0, 1, 2, 3};

static void
lines_are_counted_once(void **state)
{
	struct line_fixture *fixture = *state;

	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 1000; i++)
			line_set_add(&fixture->set, 1, BASE + 8 * i, 8);
	count(fixture, apart);
	assert_int_equal(fixture->lines[0], 0);
	assert_int_equal(fixture->lines[1], 125);
}

static void
an_access_over_a_border_has_both_lines(void **state)
{
	struct line_fixture *fixture = *state;

	line_set_add(&fixture->set, 0, BASE + 60, 4);
	line_set_add(&fixture->set, 1, BASE + 60, 5);
	line_set_add(&fixture->set, 2, BASE + 63, 66);
	line_set_add(&fixture->set, 3, BASE + 63, 0);
	count(fixture, apart);
	assert_int_equal(fixture->lines[0], 1);
	assert_int_equal(fixture->lines[1], 2);
	assert_int_equal(fixture->lines[2], 3);
	assert_int_equal(fixture->lines[3], 1);
}

static void
owners_in_one_group_share_lines(void **state)
{
	static const uint32_t groups[OWNERS] = {0, 0, 2, UINT32_MAX};
	struct line_fixture *fixture = *state;

	for (unsigned i = 0; i < 100; i++) {
		line_set_add(&fixture->set, 0, BASE + 64 * i, 8);
		line_set_add(&fixture->set, 1, BASE + 64 * (i + 50), 8);
		line_set_add(&fixture->set, 3, BASE + 64 * i, 8);
	}
	count(fixture, groups);
	assert_int_equal(fixture->lines[0], 150);
	assert_int_equal(fixture->lines[1], 0);
	assert_int_equal(fixture->lines[2], 0);
	assert_int_equal(fixture->lines[3], 0);
}

static void
assert_within(uint64_t found, uint64_t expected, unsigned percent)
{
	if (found * 100 > expected * (100 + percent) || found * 100 < expected * (100 - percent))
		fail_msg("%llu is not %llu", (unsigned long long)found, (unsigned long long)expected);
}

/* At least 2,048 keys are kept: a standard error is 2.2 %. */
static void
more_than_there_is_room_for_is_sampled(void **state)
{
	struct line_fixture *fixture = *state;

	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 1000000; i++)
			line_set_add(&fixture->set, 2, BASE + 64 * i, 8);
	assert_true(fixture->kept->count <= ROOM && fixture->kept->count >= ROOM / 4);
	count(fixture, apart);
	assert_within(fixture->lines[2], 1000000, 9);
}

/* Strides must not decide what is sampled. */
static void
samples_are_fair_to_strides(void **state)
{
	struct line_fixture *fixture = *state;

	for (unsigned i = 0; i < 200000; i++) {
		line_set_add(&fixture->set, 0, BASE + UINT64_C(64) * i, 8);
		line_set_add(&fixture->set, 1, BASE + UINT64_C(4096) * i, 8);
		line_set_add(&fixture->set, 2, BASE + UINT64_C(65536) * i, 8);
	}
	count(fixture, apart);
	for (unsigned i = 0; i < 3; i++)
		assert_within(fixture->lines[i], 200000, 15);
}

static void
what_is_kept_is_taken_over(void **state)
{
	struct line_fixture *fixture = *state;

	for (unsigned i = 0; i < 10; i++)
		line_set_add(&fixture->set, 0, BASE + 64 * i, 8);
	line_set_fini(&fixture->set);
	line_set_continue(&fixture->set, fixture->kept, ROOM);
	for (unsigned i = 5; i < 20; i++)
		line_set_add(&fixture->set, 0, BASE + 64 * i, 8);
	count(fixture, apart);
	assert_int_equal(fixture->lines[0], 20);
}

static void
keys_are_brought_to_one_sample(void **state)
{
	struct line_fixture *fixture = *state;
	uint64_t keys[1000], lines[1] = {0};
	static const uint32_t one[1] = {0};
	uint32_t kept;

	(void)fixture;
	for (unsigned i = 0; i < 1000; i++)
		keys[i] = i;
	assert_int_equal(line_keys_sample(keys, 1000, 0), 1000);
	kept = line_keys_sample(keys, 1000, 2);
	assert_true(kept > 150 && kept < 350);
	assert_int_equal(line_keys_sample(keys, kept, 2), kept);
	line_keys_count(keys, kept, 2, one, 1, 1, lines);
	assert_int_equal(lines[0], kept * 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_counted_once),          TEST(an_access_over_a_border_has_both_lines),
		TEST(owners_in_one_group_share_lines), TEST(more_than_there_is_room_for_is_sampled),
		TEST(samples_are_fair_to_strides),     TEST(what_is_kept_is_taken_over),
		TEST(keys_are_brought_to_one_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
