/* Sampled offsets, with the procedures that they lie in. */
#include "tests/unit/test.h"

#include "dcpi-tools/common/sample_points.h"
#include "tests/unit/dcpi-tools/fixture.h"
#include "tests/unit/dcpi-tools/self.h"

#define CLOCK  0
#define FAULTS 1

static void
make(const struct selection_fixture *fixture, const bool *wanted, struct sample_points *points)
{
	struct sample_points_request request = {
		.selection = &fixture->selection,
		.wanted = wanted,
		.symbolizer = symbolizer_new(NULL),
	};

	assert_int_equal(sample_points_make(&request, points), 0);
	symbolizer_free(request.symbolizer);
}

static void
events_of_one_offset_are_one_point(void **state)
{
	struct selection_fixture fixture;
	struct sample_points points;
	uint32_t image;

	(void)state;
	fixture_init(&fixture);
	image = fixture_image(&fixture, IMAGE_ANON, "[anon]", "");
	fixture_count(&fixture, image, 0x10, CLOCK, 5);
	fixture_count(&fixture, image, 0x10, FAULTS, 2);
	fixture_count(&fixture, image, 0x20, FAULTS, 3);
	make(&fixture, NULL, &points);
	assert_int_equal(points.count, 2);
	assert_int_equal(points.points[0].offset, 0x10);
	assert_int_equal(sample_points_samples(&points, &points.points[0], CLOCK), 5);
	assert_int_equal(sample_points_samples(&points, &points.points[0], FAULTS), 2);
	assert_int_equal(sample_points_samples(&points, &points.points[1], CLOCK), 0);
	assert_int_equal(sample_points_samples(&points, &points.points[1], FAULTS), 3);
	sample_points_fini(&points);
}

static void
images_have_procedures_of_their_own(void **state)
{
	struct selection_fixture fixture;
	struct sample_points points;

	(void)state;
	fixture_init(&fixture);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_USER, "/nowhere/a", ""), 0x10, CLOCK, 1);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_USER, "/nowhere/b", ""), 0x10, CLOCK, 1);
	make(&fixture, NULL, &points);
	assert_int_equal(points.procedure_count, 2);
	assert_string_equal(points.procedures[0].title, "[file not found: a]");
	assert_null(points.procedures[0].name);
	assert_string_equal(points.procedures[1].title, "[file not found: b]");
	assert_int_equal(points.points[1].procedure, 1);
	sample_points_fini(&points);
}

/* Longer than one instruction, whatever the compiler. */
int function_of_two_points(int value);

int
function_of_two_points(int value)
{
	return value * 3 + 1;
}

static void
offsets_of_a_function_are_in_one_procedure(void **state)
{
	const uint64_t offset = self_offset(function_of_two_points);
	struct selection_fixture fixture;
	struct sample_points points;
	char path[PATH_MAX];

	(void)state;
	fixture_init(&fixture);
	fixture_image(&fixture, IMAGE_USER, path, "");
	assert_int_equal(self_find(&fixture.images[0], path), 0);
	fixture_count(&fixture, 0, offset, CLOCK, 1);
	fixture_count(&fixture, 0, offset + 1, CLOCK, 1);
	make(&fixture, NULL, &points);
	assert_int_equal(points.count, 2);
	assert_int_equal(points.procedure_count, 1);
	assert_string_equal(points.procedures[0].name, "function_of_two_points");
	assert_int_equal(points.procedures[0].procedure.offset, offset);
	sample_points_fini(&points);
}

static void
only_wanted_images_have_points(void **state)
{
	static const bool wanted[] = {false, true};
	struct selection_fixture fixture;
	struct sample_points points;

	(void)state;
	fixture_init(&fixture);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_ANON, "a", ""), 0x10, CLOCK, 1);
	fixture_count(&fixture, fixture_image(&fixture, IMAGE_ANON, "b", ""), 0x10, CLOCK, 1);
	make(&fixture, wanted, &points);
	assert_int_equal(points.count, 1);
	assert_int_equal(points.points[0].image, 1);
	sample_points_fini(&points);
}

static void
only_offsets_with_samples_of_wanted_events_are_points(void **state)
{
	static const struct columns columns = {.count = 1, .events = {FAULTS}};
	struct selection_fixture fixture;
	struct sample_points_request request = {.selection = &fixture.selection, .columns = &columns};
	struct sample_points points;
	uint32_t image;

	(void)state;
	fixture_init(&fixture);
	image = fixture_image(&fixture, IMAGE_ANON, "[anon]", "");
	fixture_count(&fixture, image, 0x10, CLOCK, 5);
	fixture_count(&fixture, image, 0x20, CLOCK, 6);
	fixture_count(&fixture, image, 0x20, FAULTS, 3);
	assert_int_equal(sample_points_make(&request, &points), 0);
	assert_int_equal(points.count, 1);
	assert_int_equal(points.points[0].offset, 0x20);
	assert_int_equal(sample_points_samples(&points, &points.points[0], CLOCK), 6);
	assert_int_equal(points.procedure_count, 0); /* nobody asked for them */
	sample_points_fini(&points);
}

static void
no_samples_are_no_points(void **state)
{
	struct selection_fixture fixture;
	struct sample_points points;

	(void)state;
	fixture_init(&fixture);
	make(&fixture, NULL, &points);
	assert_int_equal(points.count, 0);
	assert_int_equal(points.procedure_count, 0);
	sample_points_fini(&points);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_one_offset_are_one_point),
		cmocka_unit_test(images_have_procedures_of_their_own),
		cmocka_unit_test(offsets_of_a_function_are_in_one_procedure),
		cmocka_unit_test(only_wanted_images_have_points),
		cmocka_unit_test(only_offsets_with_samples_of_wanted_events_are_points),
		cmocka_unit_test(no_samples_are_no_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
