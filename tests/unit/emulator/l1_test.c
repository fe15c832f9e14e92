/* Tests of emulator/model/l1.h. */
#include "tests/unit/test.h"

#include <string.h>

#include "emulator/model/hit_filter.h"
#include "emulator/model/l1.h"
#include "tests/unit/emulator/reference_cache.h"

#define LINE 64
#define FAR  UINT64_C(0x400000000) /* of the guest's numbers from ours */

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* With no TLB. */
static struct l1
new_level(unsigned sets, unsigned ways, enum machine_replacement replacement)
{
	const struct machine_cache model = {
		.bytes = (uint64_t)sets * ways * LINE, .ways = ways, .cores = 1, .replacement = replacement};
	struct l1 level, pages;

	assert_int_equal(l1_init(&level, &model, LINE, 7), 0);
	pages = (struct l1){.slots = 0};
	assert_non_null(l1_join(&level, 6, &pages, 12, FILTER_NO_ROOM));
	return level;
}

static void
free_level(struct l1 *level)
{
	free(level->filter);
	l1_fini(level);
}

static bool
hits(const struct l1 *level, uint64_t line)
{
	return !filter_line_differs(filter_line(level->filter, line + FAR), line + FAR, false);
}

static struct l1_found
use(struct l1 *level, uint64_t line)
{
	struct l1_found found = l1_use(level, line, level->filter->use += FILTER_USE);

	l1_put_line(level, found.entry, line + FAR, false);
	return found;
}

/* Every other hit is only stamped. Those that are too far up for the tables are none, and no others. */
static void
compare_with_reference(unsigned sets, unsigned ways, enum machine_replacement replacement)
{
	struct l1 level = new_level(sets, ways, replacement);
	struct reference_cache reference = reference_new(sets, ways, replacement == REPLACEMENT_FIFO);
	uint64_t random = sets * 100 + ways, lines = (uint64_t)sets * ways * 3 / 2 + 1;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t line = next_random(&random) % lines;
		struct reference_found wanted = reference_access(&reference, line, false);
		struct l1_found found;

		if (hits(&level, line)) {
			assert_true(wanted.hit);
			if (i % 2) {
				assert_true(filter_use(level.filter, false, line + FAR, 0));
				continue;
			}
		}
		assert_int_equal(l1_has(&level, line), wanted.hit);
		found = use(&level, line);
		assert_int_equal(found.hit, wanted.hit);
		if (!found.hit)
			assert_int_equal(found.victim_tag == TAG_NONE ? REFERENCE_NONE
			                                              : l1_victim_line(&level, line, found.victim_tag),
			                 wanted.victim);
		assert_int_equal(hits(&level, line), filter_entry_to(level.filter, found.entry) != FILTER_NOWHERE);
	}
	reference_free(&reference);
	free_level(&level);
}

static const unsigned way_counts[] = {1, 2, 3, 4, 5, 8, 11, 12, 16, 31, 32};
static const unsigned set_counts[] = {1, 8, 64, 512};

static void
each_access_finds_what_the_reference_finds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(way_counts) / sizeof(*way_counts); i++) {
		for (size_t j = 0; j < sizeof(set_counts) / sizeof(*set_counts); j++) {
			compare_with_reference(set_counts[j], way_counts[i], REPLACEMENT_LRU);
			compare_with_reference(set_counts[j], way_counts[i], REPLACEMENT_FIFO);
		}
	}
}

static void
first_in_first_out_it_may_have_any_number_of_ways(void **state)
{
	(void)state;
	compare_with_reference(1, 64, REPLACEMENT_FIFO);
	compare_with_reference(1, 72, REPLACEMENT_FIFO);
	compare_with_reference(4, 1024, REPLACEMENT_FIFO);
}

/* A TLB, every `sharing`th page of which shares entries of the filter. */
static void
compare_pages_with_reference(unsigned sets, unsigned ways, bool is_ordered, unsigned sharing)
{
	const struct machine_cache model = {.bytes = sets * ways,
	                                    .ways = ways,
	                                    .cores = 1,
	                                    .replacement = is_ordered ? REPLACEMENT_FIFO : REPLACEMENT_LRU};
	struct reference_cache reference = reference_new(sets, ways, is_ordered);
	uint64_t random = ways * 100 + sharing, pages = (uint64_t)sets * ways * 3 / 2 + 1;
	struct l1 level, lines;

	assert_int_equal(l1_init(&level, &model, 1, 0), 0);
	lines = (struct l1){.slots = 0};
	assert_non_null(l1_join(&lines, 6, &level, 12, FILTER_NO_ROOM));
	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t which = next_random(&random) % pages;
		const uint64_t page = FAR + which * (which % sharing ? 1 : FILTER_PAGES);
		const bool wanted = reference_access(&reference, page, false).hit;
		struct l1_found found;

		if (filter_use_page(level.filter, page)) {
			assert_true(wanted);
			continue;
		}
		found = l1_use_any(&level, page, level.filter->use += FILTER_USE);
		l1_put_page(&level, found.entry, page);
		assert_int_equal(found.hit, wanted);
		assert_true(filter_use_page(level.filter, page));
	}
	reference_free(&reference);
	free_level(&level);
}

static void
a_tlb_that_is_first_in_first_out_has_the_pages_of_the_reference(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(way_counts) / sizeof(*way_counts); i++) {
		for (unsigned sharing = 1; sharing <= 100; sharing *= 10)
			compare_pages_with_reference(1, way_counts[i], true, sharing);
	}
	compare_pages_with_reference(1, 1000, true, 2);
}

static void
a_tlb_in_the_order_of_lru_has_the_pages_of_the_reference(void **state)
{
	(void)state;
	for (unsigned sets = 1; sets <= 64; sets *= 4) {
		for (unsigned ways = 1; ways <= 4; ways++) {
			for (unsigned sharing = 1; sharing <= 100; sharing *= 10)
				compare_pages_with_reference(sets, ways, false, sharing);
		}
	}
}

/* A level 1, every `sharing`th line of which shares entries of the filter. */
static void
compare_lines_with_reference(unsigned ways, unsigned sharing)
{
	const struct machine_cache model = {.bytes = 16 * ways * 64, .ways = ways, .cores = 1};
	struct reference_cache reference = reference_new(16, ways, false);
	uint64_t random = ways * 100 + sharing, lines = 16 * ways * 3 / 2;
	struct l1 level, pages;

	assert_int_equal(l1_init(&level, &model, 64, 0), 0);
	pages = (struct l1){.slots = 0};
	assert_non_null(l1_join(&level, 6, &pages, 12, FILTER_NO_ROOM));
	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t which = next_random(&random) % lines;
		const uint64_t line = FAR + which * (which % sharing ? 1 : FILTER_LINES);
		const bool wanted = reference_access(&reference, line, false).hit;
		struct l1_found found;

		if (filter_use_line(level.filter, line, false)) {
			assert_true(wanted);
			continue;
		}
		found = l1_use(&level, line, level.filter->use += FILTER_USE);
		assert_int_equal(found.hit, wanted);
		l1_put_line(&level, found.entry, line, false);
	}
	reference_free(&reference);
	free_level(&level);
}

static void
level_1_has_the_lines_of_the_reference(void **state)
{
	(void)state;
	for (unsigned ways = 4; ways <= 8; ways += 4) {
		compare_lines_with_reference(ways, 100);
		compare_lines_with_reference(ways, 3);
		compare_lines_with_reference(ways, 1);
	}
}

/* Each of the ways about as often, and none while there is room. */
static void
a_random_victim_may_be_any_way(void **state)
{
	struct l1 level = new_level(1, 8, REPLACEMENT_RANDOM);
	unsigned left[8] = {0};

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(use(&level, i).victim_tag, TAG_NONE);
	for (uint64_t i = 8; i < 8008; i++) {
		struct l1_found found = use(&level, i);

		assert_false(found.hit);
		left[found.entry - level.entries]++;
	}
	for (unsigned i = 0; i < 8; i++)
		assert_in_range(left[i], 850, 1150);
	free_level(&level);
}

static void
what_is_forgotten_is_there_and_asked_for_again(void **state)
{
	struct l1 level = new_level(64, 8, REPLACEMENT_LRU);

	(void)state;
	use(&level, 5);
	assert_true(hits(&level, 5));
	l1_forget(&level);
	assert_false(hits(&level, 5));
	assert_true(l1_has(&level, 5));
	assert_true(use(&level, 5).hit);
	assert_true(hits(&level, 5));
	free_level(&level);
}

static void
bytes_of_two_lines_are_not_taken_for_one(void **state)
{
	struct l1 level = new_level(2, 2, REPLACEMENT_LRU);
	struct hit_filter *filter = level.filter;
	const uint64_t at = (5 + FAR) * LINE;

	(void)state;
	use(&level, 5);
	use(&level, 6);
	assert_true(filter_access(filter, false, false, at, at + LINE - 1, 0));
	assert_true(filter_access(filter, false, false, at + LINE, at + LINE, 0));
	assert_false(filter_access(filter, false, false, at + LINE - 1, at + LINE, 0));
	assert_false(filter_access(filter, false, false, at - 1, at, 0));
	free_level(&level);
}

static void
bytes_near_each_other_may_be_of_two_lines_of_a_page(void **state)
{
	struct l1 level = new_level(2, 2, REPLACEMENT_LRU);
	struct hit_filter *filter = level.filter;
	const uint64_t at = (5 + FAR) * LINE;

	(void)state;
	use(&level, 5);
	use(&level, 6);
	assert_true(filter_access_span(filter, false, at, at + LINE - 1, 0, true));
	assert_true(filter_access_span(filter, false, at + 1, at + LINE, 0, true));
	assert_false(filter_access_span(filter, false, at + 1, at + LINE, 0, false));
	assert_false(filter_access_span(filter, false, at - 1, at, 0, true));
	assert_false(filter_access_span(filter, false, at + 2 * LINE - 1, at + 2 * LINE, 0, true));
	assert_true(filter_access(filter, true, false, at, at, 0));
	assert_false(filter_access_span(filter, true, at + 1, at + LINE, 0, true));
	assert_true(filter_access(filter, true, false, at + LINE, at + LINE, 0));
	assert_true(filter_access_span(filter, true, at + 1, at + LINE, 0, true));
	free_level(&level);
}

/* Of two lines the last was used last. */
static void
bytes_near_each_other_are_used_in_turn(void **state)
{
	struct l1 level = new_level(2, 2, REPLACEMENT_LRU);
	const uint64_t at = (4 + FAR) * LINE;

	(void)state;
	use(&level, 4);
	use(&level, 5);
	use(&level, 6); /* of the set of 4 */
	assert_true(filter_access_span(level.filter, false, at + 1, at + LINE, 0, true));
	use(&level, 8);
	assert_true(hits(&level, 4));
	assert_false(hits(&level, 6));
	free_level(&level);
}

static void
bytes_that_must_have_been_written_were(void **state)
{
	struct l1 level = new_level(2, 2, REPLACEMENT_LRU);
	const uint64_t at = (5 + FAR) * LINE;

	(void)state;
	use(&level, 5);
	assert_false(filter_access_span(level.filter, true, at, at + 7, 0, true));
	assert_true(filter_access(level.filter, true, false, at + 8, at + 15, 0));
	assert_true(filter_access_span(level.filter, true, at, at + 7, 0, true));
	assert_true(filter_use(level.filter, true, 5 + FAR, 0));
	assert_true(filter_access(level.filter, false, false, at, at, 0));
	free_level(&level);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_access_finds_what_the_reference_finds),
		cmocka_unit_test(first_in_first_out_it_may_have_any_number_of_ways),
		cmocka_unit_test(a_tlb_that_is_first_in_first_out_has_the_pages_of_the_reference),
		cmocka_unit_test(a_tlb_in_the_order_of_lru_has_the_pages_of_the_reference),
		cmocka_unit_test(level_1_has_the_lines_of_the_reference),
		cmocka_unit_test(a_random_victim_may_be_any_way),
		cmocka_unit_test(what_is_forgotten_is_there_and_asked_for_again),
		cmocka_unit_test(bytes_of_two_lines_are_not_taken_for_one),
		cmocka_unit_test(bytes_near_each_other_may_be_of_two_lines_of_a_page),
		cmocka_unit_test(bytes_near_each_other_are_used_in_turn),
		cmocka_unit_test(bytes_that_must_have_been_written_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
