/* Tests of emulator/model/first_level.h. */
#include "tests/unit/test.h"

#include <string.h>

#include "emulator/model/first_level.h"
#include "emulator/model/plain_usual.h"
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
static struct first_level
new_level(unsigned sets, unsigned ways, enum machine_replacement replacement)
{
	const struct machine_cache model = {
		.bytes = (uint64_t)sets * ways * LINE, .ways = ways, .cores = 1, .replacement = replacement};
	struct first_level level, pages;

	assert_int_equal(first_level_init(&level, &model, LINE, 7), 0);
	first_level_init_plain(&pages);
	assert_non_null(first_level_join(&level, 6, &pages, 12, PLAIN_NO_ROOM));
	return level;
}

static void
free_level(struct first_level *level)
{
	free(level->plain);
	first_level_fini(level);
}

static bool
is_plain(const struct first_level *level, uint64_t line)
{
	return !plain_line_differs(plain_line(level->plain, line + FAR), line + FAR, false);
}

static struct first_found
use(struct first_level *level, uint64_t line)
{
	struct first_found found = first_level_use(level, line, level->plain->use += PLAIN_USE);

	first_level_put_line(level, found.place, line + FAR, false);
	return found;
}

/* Every other plain hit is only stamped. Those that are too far up for the tables are none, and no others. */
static void
compare_with_reference(unsigned sets, unsigned ways, enum machine_replacement replacement)
{
	struct first_level level = new_level(sets, ways, replacement);
	struct reference_cache reference = reference_new(sets, ways, replacement == REPLACEMENT_FIFO);
	uint64_t random = sets * 100 + ways, lines = (uint64_t)sets * ways * 3 / 2 + 1;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t line = next_random(&random) % lines;
		struct reference_found wanted = reference_access(&reference, line, false);
		struct first_found found;

		if (is_plain(&level, line)) {
			assert_true(wanted.hit);
			if (i % 2) {
				assert_true(plain_hits_use_one(level.plain, false, line + FAR, 0));
				continue;
			}
		}
		assert_int_equal(first_level_has(&level, line), wanted.hit);
		found = use(&level, line);
		assert_int_equal(found.hit, wanted.hit);
		if (!found.hit)
			assert_int_equal(found.left == TAG_NONE ? REFERENCE_NONE
			                                        : first_level_left(&level, line, found.left),
			                 wanted.left);
		assert_int_equal(is_plain(&level, line), plain_place_to(level.plain, found.place) != PLAIN_NOWHERE);
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

/* A TLB of one set, every `sharing`th page shares entries: how often what was no plain hit was known not to be there.
 */
static unsigned
compare_pages_with_reference(unsigned sets, unsigned ways, bool is_ordered, unsigned sharing)
{
	const struct machine_cache model = {.bytes = sets * ways,
	                                    .ways = ways,
	                                    .cores = 1,
	                                    .replacement = is_ordered ? REPLACEMENT_FIFO : REPLACEMENT_LRU};
	struct reference_cache reference = reference_new(sets, ways, is_ordered);
	uint64_t random = ways * 100 + sharing, pages = (uint64_t)sets * ways * 3 / 2 + 1;
	struct first_level level, lines;
	unsigned known = 0;

	assert_int_equal(first_level_init(&level, &model, 1, 0), 0);
	first_level_init_plain(&lines);
	assert_non_null(first_level_join(&lines, 6, &level, 12, PLAIN_NO_ROOM));
	assert_int_equal(level.is_ordered, is_ordered);
	assert_int_equal(level.is_recent, !is_ordered);
	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t which = next_random(&random) % pages;
		const uint64_t page = FAR + which * (which % sharing ? 1 : PLAIN_PAGES);
		const bool wanted = reference_access(&reference, page, false).hit;

		if (plain_use_page(level.plain, page)) {
			assert_true(wanted);
		} else if (is_ordered && first_level_lacks_ordered(&level, plain_page(level.plain, page), page)) {
			assert_false(wanted);
			first_level_bring_ordered(&level, page, page);
			known++;
		} else if (is_ordered) {
			assert_int_equal(first_level_use_ordered(&level, page, page), wanted);
		} else if (first_level_lacks_recent(plain_page(level.plain, page), page)) {
			assert_false(wanted);
			first_level_bring_recent(&level, page, page);
			known++;
		} else {
			assert_int_equal(first_level_use_recent(&level, page, page), wanted);
		}
		assert_true(plain_use_page(level.plain, page));
		assert_int_equal(plain_page_of(plain_page(level.plain, page))->offset, page);
	}
	reference_free(&reference);
	free_level(&level);
	return known;
}

static void
ordered_it_knows_which_pages_it_lacks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(way_counts) / sizeof(*way_counts); i++) {
		assert_in_range(compare_pages_with_reference(1, way_counts[i], true, 100), 5000, 20000);
		compare_pages_with_reference(1, way_counts[i], true, 3);
		compare_pages_with_reference(1, way_counts[i], true, 1);
	}
	compare_pages_with_reference(1, 1000, true, 2);
}

static void
recent_it_knows_which_pages_it_lacks(void **state)
{
	(void)state;
	for (unsigned sets = 1; sets <= 64; sets *= 4) {
		for (unsigned ways = 1; ways <= 4; ways++) {
			assert_in_range(compare_pages_with_reference(sets, ways, false, 100), 5000, 20000);
			compare_pages_with_reference(sets, ways, false, 3);
			compare_pages_with_reference(sets, ways, false, 1);
		}
	}
}

/* A level 1, every `sharing`th line shares entries: how often what was no plain hit was known not to be there. */
static unsigned
compare_lines_with_reference(unsigned ways, unsigned sharing)
{
	const struct machine_cache model = {.bytes = 16 * ways * 64, .ways = ways, .cores = 1};
	struct reference_cache reference = reference_new(16, ways, false);
	uint64_t random = ways * 100 + sharing, lines = 16 * ways * 3 / 2;
	struct first_level level, pages;
	unsigned known = 0;

	assert_int_equal(first_level_init(&level, &model, 64, 0), 0);
	first_level_init_plain(&pages);
	assert_non_null(first_level_join(&level, 6, &pages, 12, PLAIN_NO_ROOM));
	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t which = next_random(&random) % lines;
		const uint64_t line = FAR + which * (which % sharing ? 1 : PLAIN_LINES);
		const bool wanted = reference_access(&reference, line, false).hit;
		struct first_found found;

		if (plain_use_line(level.plain, line, false)) {
			assert_true(wanted);
			continue;
		}
		if (first_level_lacks_line(&level, plain_line(level.plain, line),
		                           line << 6 | next_random(&random) % 64)) {
			assert_false(wanted);
			known++;
		}
		found = first_level_use(&level, line, level.plain->use += PLAIN_USE);
		assert_int_equal(found.hit, wanted);
		first_level_put_line(&level, found.place, line, false);
	}
	first_level_doubt_entries(&level);
	for (uint64_t line = 0; line < 1000; line++)
		assert_false(first_level_lacks_line(&level, plain_line(level.plain, line), line << 6));
	reference_free(&reference);
	free_level(&level);
	return known;
}

static void
it_knows_which_lines_it_lacks(void **state)
{
	(void)state;
	for (unsigned ways = 4; ways <= 8; ways += 4) {
		assert_in_range(compare_lines_with_reference(ways, 100), 5000, 20000);
		compare_lines_with_reference(ways, 3);
		compare_lines_with_reference(ways, 1);
	}
}

/* Far up in memory, plain hits cannot be found, and what is usual is not. */
static void
what_is_not_near_is_neither_usual_nor_ordered(void **state)
{
	const struct machine_cache many = {.bytes = 5000, .ways = 5000, .replacement = REPLACEMENT_FIFO};
	struct first_level level = new_level(2048, 8, REPLACEMENT_LRU), lines;

	(void)state;
	assert_int_equal(level.usual_slots, 0);
	free_level(&level);
	assert_int_equal(first_level_init(&level, &many, 1, 0), 0);
	first_level_init_plain(&lines);
	assert_non_null(first_level_join(&lines, 6, &level, 12, PLAIN_NO_ROOM));
	assert_false(level.is_ordered);
	free_level(&level);
}

/* Each of the ways about as often, and none while there is room. */
static void
a_random_victim_may_be_any_way(void **state)
{
	struct first_level level = new_level(1, 8, REPLACEMENT_RANDOM);
	unsigned left[8] = {0};

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(use(&level, i).left, TAG_NONE);
	for (uint64_t i = 8; i < 8008; i++) {
		struct first_found found = use(&level, i);

		assert_false(found.hit);
		left[found.place - level.places]++;
	}
	for (unsigned i = 0; i < 8; i++)
		assert_in_range(left[i], 850, 1150);
	free_level(&level);
}

static void
what_is_forgotten_is_there_and_no_plain_hit(void **state)
{
	struct first_level level = new_level(64, 8, REPLACEMENT_LRU);

	(void)state;
	use(&level, 5);
	assert_true(is_plain(&level, 5));
	first_level_forget(&level);
	assert_false(is_plain(&level, 5));
	assert_true(first_level_has(&level, 5));
	assert_true(use(&level, 5).hit);
	assert_true(is_plain(&level, 5));
	free_level(&level);
}

static void
bytes_of_two_lines_are_no_plain_hit_of_one(void **state)
{
	struct first_level level = new_level(2, 2, REPLACEMENT_LRU);
	struct plain_hits *plain = level.plain;
	const uint64_t at = (5 + FAR) * LINE;

	(void)state;
	use(&level, 5);
	use(&level, 6);
	assert_true(plain_hits_access_bytes(plain, false, at, at + LINE - 1, 0));
	assert_true(plain_hits_access_bytes(plain, false, at + LINE, at + LINE, 0));
	assert_false(plain_hits_access_bytes(plain, false, at + LINE - 1, at + LINE, 0));
	assert_false(plain_hits_access_bytes(plain, false, at - 1, at, 0));
	free_level(&level);
}

static void
bytes_near_each_other_may_be_of_two_lines_of_a_page(void **state)
{
	struct first_level level = new_level(2, 2, REPLACEMENT_LRU);
	struct plain_hits *plain = level.plain;
	const uint64_t at = (5 + FAR) * LINE;

	(void)state;
	use(&level, 5);
	use(&level, 6);
	assert_true(plain_hits_use_near(plain, false, at, at + LINE - 1, 0, true));
	assert_true(plain_hits_use_near(plain, false, at + 1, at + LINE, 0, true));
	assert_false(plain_hits_use_near(plain, false, at + 1, at + LINE, 0, false));
	assert_false(plain_hits_use_near(plain, false, at - 1, at, 0, true));
	assert_false(plain_hits_use_near(plain, false, at + 2 * LINE - 1, at + 2 * LINE, 0, true));
	assert_true(plain_hits_access_bytes(plain, true, at, at, 0));
	assert_false(plain_hits_use_near(plain, true, at + 1, at + LINE, 0, true));
	assert_true(plain_hits_access_bytes(plain, true, at + LINE, at + LINE, 0));
	assert_true(plain_hits_use_near(plain, true, at + 1, at + LINE, 0, true));
	free_level(&level);
}

/* Of two lines the last was used last. */
static void
bytes_near_each_other_are_used_in_turn(void **state)
{
	struct first_level level = new_level(2, 2, REPLACEMENT_LRU);
	const uint64_t at = (4 + FAR) * LINE;

	(void)state;
	use(&level, 4);
	use(&level, 5);
	use(&level, 6); /* of the set of 4 */
	assert_true(plain_hits_use_near(level.plain, false, at + 1, at + LINE, 0, true));
	use(&level, 8);
	assert_true(is_plain(&level, 4));
	assert_false(is_plain(&level, 6));
	free_level(&level);
}

static void
bytes_that_must_have_been_written_were(void **state)
{
	struct first_level level = new_level(2, 2, REPLACEMENT_LRU);
	const uint64_t at = (5 + FAR) * LINE;

	(void)state;
	use(&level, 5);
	assert_false(plain_hits_use_near(level.plain, true, at, at + 7, 0, true));
	assert_true(plain_hits_access_bytes(level.plain, true, at + 8, at + 15, 0));
	assert_true(plain_hits_use_near(level.plain, true, at, at + 7, 0, true));
	assert_true(plain_hits_use_one(level.plain, true, 5 + FAR, 0));
	assert_true(plain_hits_access_bytes(level.plain, false, at, at, 0));
	free_level(&level);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_access_finds_what_the_reference_finds),
		cmocka_unit_test(first_in_first_out_it_may_have_any_number_of_ways),
		cmocka_unit_test(ordered_it_knows_which_pages_it_lacks),
		cmocka_unit_test(recent_it_knows_which_pages_it_lacks),
		cmocka_unit_test(it_knows_which_lines_it_lacks),
		cmocka_unit_test(what_is_not_near_is_neither_usual_nor_ordered),
		cmocka_unit_test(a_random_victim_may_be_any_way),
		cmocka_unit_test(what_is_forgotten_is_there_and_no_plain_hit),
		cmocka_unit_test(bytes_of_two_lines_are_no_plain_hit_of_one),
		cmocka_unit_test(bytes_near_each_other_may_be_of_two_lines_of_a_page),
		cmocka_unit_test(bytes_near_each_other_are_used_in_turn),
		cmocka_unit_test(bytes_that_must_have_been_written_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
