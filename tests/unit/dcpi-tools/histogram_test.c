#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/image_name.h"
#include "tests/unit/dcpi-tools/fixture.h"
#include "tests/unit/dcpi-tools/self.h"

int function_in_between(int value);

#define CLOCK  0
#define FAULTS 1

static const struct shown_events both = {.count = 2, .events = {CLOCK, FAULTS}};
static const struct shown_events faults_only = {.count = 1, .events = {FAULTS}};

/* Code of the kernel's making is an image of its own, so procedures need no file here. */
static void
make(struct selection_fixture *fixture, const bool *wanted, bool by_image, struct histogram *histogram)
{
	struct histogram_request request = {
		.selection = &fixture->selection,
		.wanted = wanted,
		.image_titles = image_titles(&fixture->selection),
		.symbolizer = by_image ? NULL : symbolizer_new(NULL),
	};

	assert_non_null(request.image_titles);
	assert_int_equal(histogram_make(&request, histogram), 0);
	for (size_t i = 0; i < histogram->row_count; i++) /* titles go with the request */
		histogram->rows[i].image_title = fixture->images[histogram->rows[i].image].path;
	symbolizer_free(request.symbolizer);
	image_titles_free(request.image_titles, fixture->selection.image_count);
}

/* gzip 50 + 10 with 2 faults, sh 30, cp 30 with 1 fault, cat 5 faults only */
static void
make_four_images(struct selection_fixture *fixture)
{
	uint32_t image;

	fixture_init(fixture);
	image = fixture_image(fixture, IMAGE_ANON, "sh", "");
	fixture_count(fixture, image, 0x10, CLOCK, 30);
	image = fixture_image(fixture, IMAGE_ANON, "gzip", "");
	fixture_count(fixture, image, 0x10, CLOCK, 50);
	fixture_count(fixture, image, 0x20, CLOCK, 10);
	fixture_count(fixture, image, 0x20, FAULTS, 2);
	image = fixture_image(fixture, IMAGE_ANON, "cp", "");
	fixture_count(fixture, image, 0x10, CLOCK, 30);
	fixture_count(fixture, image, 0x10, FAULTS, 1);
	image = fixture_image(fixture, IMAGE_ANON, "cat", "");
	fixture_count(fixture, image, 0x10, FAULTS, 5);
}

static void
assert_order(const struct histogram *histogram, const char *const *images, size_t count)
{
	assert_int_equal(histogram->row_count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(histogram->rows[i].image_title, images[i]);
}

static void
samples_of_an_image_add_up(void **state)
{
	struct selection_fixture fixture;
	struct histogram histogram;

	(void)state;
	make_four_images(&fixture);
	make(&fixture, NULL, true, &histogram);
	histogram_sort(&histogram, &both);
	assert_int_equal(histogram.rows[0].counts[CLOCK], 60);
	assert_int_equal(histogram.rows[0].counts[FAULTS], 2);
	assert_null(histogram.rows[0].title);
	assert_int_equal(histogram.totals[CLOCK], 120);
	assert_int_equal(histogram.totals[FAULTS], 8);
	histogram_fini(&histogram);
}

static void
rows_are_sorted_by_the_first_column_then_the_others(void **state)
{
	static const char *const by_clock[] = {"gzip", "cp", "sh", "cat"};
	static const char *const by_faults[] = {"cat", "gzip", "cp", "sh"};
	struct selection_fixture fixture;
	struct histogram histogram;

	(void)state;
	make_four_images(&fixture);
	make(&fixture, NULL, true, &histogram);
	histogram_sort(&histogram, &both);
	assert_order(&histogram, by_clock, 4);
	histogram_sort(&histogram, &faults_only);
	assert_order(&histogram, by_faults, 4);
	histogram_fini(&histogram);
}

static void
equal_rows_are_sorted_by_name(void **state)
{
	static const char *const expected[] = {"a", "b", "c"};
	struct selection_fixture fixture;
	struct histogram histogram;

	(void)state;
	fixture_init(&fixture);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_ANON, "c", ""), 0, CLOCK, 1);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_ANON, "a", ""), 0, CLOCK, 1);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_ANON, "b", ""), 0, CLOCK, 1);
	make(&fixture, NULL, true, &histogram);
	histogram_sort(&histogram, &both);
	assert_order(&histogram, expected, 3);
	histogram_fini(&histogram);
}

/* Two processes, each with an image of its own. */
static void
what_processes_of_one_name_made_is_one_image(void **state)
{
	static const char *const by_image[] = {"[jit:node]", "node", "[jit:java]"};
	static const uint64_t samples[] = {7, 5, 1};
	struct histogram histogram;
	struct selection_fixture fixture;
	uint32_t image;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		fixture_init(&fixture);
		for (uint64_t process = 10; process < 12; process++) {
			image = fixture_image(&fixture, IMAGE_JIT, "[jit:node]", "");
			fixture.images[image].inode = process;
			fixture_count(&fixture, image, 0x10 * process, CLOCK, process - 7);
		}
		image = fixture_image(&fixture, IMAGE_JIT, "[jit:java]", "");
		fixture.images[image].inode = 12;
		fixture_count(&fixture, image, 0x10, CLOCK, 1);
		fixture_count(&fixture, fixture_image(&fixture, IMAGE_ANON, "node", ""), 0, CLOCK, 5);
		make(&fixture, NULL, i == 0, &histogram);
		histogram_sort(&histogram, &both);
		assert_order(&histogram, by_image, 3);
		for (size_t row = 0; row < 3; row++)
			assert_int_equal(histogram.rows[row].counts[CLOCK], samples[row]);
		assert_int_equal(histogram.totals[CLOCK], 13);
		histogram_fini(&histogram);
	}
}

static void
only_wanted_images_are_counted(void **state)
{
	static const bool wanted[] = {true, false, false, true};
	static const char *const expected[] = {"sh", "cat"};
	struct selection_fixture fixture;
	struct histogram histogram;

	(void)state;
	make_four_images(&fixture);
	make(&fixture, wanted, true, &histogram);
	histogram_sort(&histogram, &both);
	assert_order(&histogram, expected, 2);
	assert_int_equal(histogram.totals[CLOCK], 30);
	assert_int_equal(histogram.totals[FAULTS], 5);
	histogram_fini(&histogram);
}

static size_t
cut(const struct shown_events *events, double keep_percent, size_t limit)
{
	struct selection_fixture fixture;
	struct histogram histogram;
	size_t shown;

	make_four_images(&fixture);
	make(&fixture, NULL, true, &histogram);
	histogram_sort(&histogram, events);
	shown = histogram_cut(&histogram, events, histogram.totals[events->events[0]], keep_percent, limit);
	histogram_fini(&histogram);
	return shown;
}

static void
keep_shows_just_enough_rows(void **state)
{
	(void)state;
	/* of 120: gzip 60 (50 %), cp 30 (75 %), sh 30 (100 %), cat 0 */
	assert_int_equal(cut(&both, 100, 0), 4);
	assert_int_equal(cut(&both, 99, 0), 3);
	assert_int_equal(cut(&both, 75, 0), 2);
	assert_int_equal(cut(&both, 50, 0), 1);
	assert_int_equal(cut(&both, 50.1, 0), 2);
	assert_int_equal(cut(&both, 0, 0), 0);
}

static void
limit_shows_so_many_rows_at_most(void **state)
{
	(void)state;
	assert_int_equal(cut(&both, 100, 1), 1);
	assert_int_equal(cut(&both, 100, 10), 4);
	assert_int_equal(cut(&both, 75, 1), 1);
}

static void
rows_without_samples_in_a_column_are_left_out(void **state)
{
	(void)state;
	assert_int_equal(cut(&faults_only, 100, 0), 3); /* sh had none */
}

__attribute__((noinline)) int
function_in_between(int value)
{
	return value * 3 + getpid();
}

/* What lies around a function - here the file's headers and what is beyond its end - is one row, not two. */
static void
a_procedure_in_pieces_is_one_row(void **state)
{
	struct selection_fixture fixture;
	struct histogram histogram;
	char path[PATH_MAX];
	uint32_t image;

	(void)state;
	fixture_init(&fixture);
	image = fixture_image(&fixture, IMAGE_USER, "", "");
	assert_int_equal(self_find(&fixture.images[image], path), 0);
	fixture_count(&fixture, image, 0, CLOCK, 1);
	fixture_count(&fixture, image, self_offset(function_in_between), CLOCK, 2);
	fixture_count(&fixture, image, self_offset(function_in_between) + 1, FAULTS, 8);
	fixture_count(&fixture, image, UINT32_MAX, CLOCK, 4);
	make(&fixture, NULL, false, &histogram);
	histogram_sort(&histogram, &both);
	assert_int_equal(histogram.row_count, 2);
	assert_string_equal(histogram.rows[0].title, "[no symbol: histogram_test]");
	assert_int_equal(histogram.rows[0].counts[CLOCK], 5);
	assert_string_equal(histogram.rows[1].title, "function_in_between");
	assert_int_equal(histogram.rows[1].counts[CLOCK], 2);
	assert_int_equal(histogram.rows[1].counts[FAULTS], 8);
	histogram_fini(&histogram);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_an_image_add_up),
		cmocka_unit_test(rows_are_sorted_by_the_first_column_then_the_others),
		cmocka_unit_test(equal_rows_are_sorted_by_name),
		cmocka_unit_test(what_processes_of_one_name_made_is_one_image),
		cmocka_unit_test(only_wanted_images_are_counted),
		cmocka_unit_test(keep_shows_just_enough_rows),
		cmocka_unit_test(limit_shows_so_many_rows_at_most),
		cmocka_unit_test(rows_without_samples_in_a_column_are_left_out),
		cmocka_unit_test(a_procedure_in_pieces_is_one_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
