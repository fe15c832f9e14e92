/* Sampled offsets, with the procedures that they lie in. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/common/sample_points.h"
#include "tests/unit/dcpi-tools/fixture.h"
#include "tests/unit/dcpi-tools/self.h"

#define CLOCK  0
#define FAULTS 1

struct points_fixture {
	struct selection_fixture sampled;
	struct sample_points points; /* made by the test */
};

static int
setup(void **state)
{
	struct points_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (fixture)
		fixture_init(&fixture->sampled);
	return fixture ? 0 : -1;
}

static int
teardown(void **state)
{
	struct points_fixture *fixture = *state;

	sample_points_fini(&fixture->points);
	free(fixture);
	return 0;
}

static void
image_with_sample(struct points_fixture *fixture, enum image_kind kind, const char *path)
{
	const uint32_t image = fixture_image(&fixture->sampled, kind, path, "");

	fixture_count(&fixture->sampled, image, 0x10, CLOCK, 1);
}

static void
make(struct points_fixture *fixture, const bool *wanted)
{
	struct sample_points_request request = {
		.selection = &fixture->sampled.selection,
		.wanted = wanted,
		.symbolizer = symbolizer_new(NULL),
	};

	assert_int_equal(sample_points_make(&request, &fixture->points), 0);
	symbolizer_free(request.symbolizer);
}

static void
events_of_one_offset_are_one_point(void **state)
{
	struct points_fixture *fixture = *state;
	uint32_t image;

	image = fixture_image(&fixture->sampled, IMAGE_ANON, "[anon]", "");
	fixture_count(&fixture->sampled, image, 0x10, CLOCK, 5);
	fixture_count(&fixture->sampled, image, 0x10, FAULTS, 2);
	fixture_count(&fixture->sampled, image, 0x20, FAULTS, 3);
	make(fixture, NULL);
	assert_int_equal(fixture->points.count, 2);
	assert_int_equal(fixture->points.points[0].offset, 0x10);
	assert_int_equal(sample_points_samples(&fixture->points, &fixture->points.points[0], CLOCK), 5);
	assert_int_equal(sample_points_samples(&fixture->points, &fixture->points.points[0], FAULTS), 2);
	assert_int_equal(sample_points_samples(&fixture->points, &fixture->points.points[1], CLOCK), 0);
	assert_int_equal(sample_points_samples(&fixture->points, &fixture->points.points[1], FAULTS), 3);
}

static void
images_have_procedures_of_their_own(void **state)
{
	struct points_fixture *fixture = *state;

	image_with_sample(fixture, IMAGE_USER, "/nowhere/a");
	image_with_sample(fixture, IMAGE_USER, "/nowhere/b");
	make(fixture, NULL);
	assert_int_equal(fixture->points.procedure_count, 2);
	assert_string_equal(fixture->points.procedures[0].title, "[file not found: a]");
	assert_null(fixture->points.procedures[0].name);
	assert_string_equal(fixture->points.procedures[1].title, "[file not found: b]");
	assert_int_equal(fixture->points.points[1].procedure, 1);
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
	struct points_fixture *fixture = *state;
	char path[PATH_MAX];

	fixture_image(&fixture->sampled, IMAGE_USER, path, "");
	assert_int_equal(self_find(&fixture->sampled.images[0], path), 0);
	fixture_count(&fixture->sampled, 0, offset, CLOCK, 1);
	fixture_count(&fixture->sampled, 0, offset + 1, CLOCK, 1);
	make(fixture, NULL);
	assert_int_equal(fixture->points.count, 2);
	assert_int_equal(fixture->points.procedure_count, 1);
	assert_string_equal(fixture->points.procedures[0].name, "function_of_two_points");
	assert_int_equal(fixture->points.procedures[0].procedure.offset, offset);
}

static void
only_wanted_images_have_points(void **state)
{
	static const bool wanted[] = {false, true};
	struct points_fixture *fixture = *state;

	image_with_sample(fixture, IMAGE_ANON, "a");
	image_with_sample(fixture, IMAGE_ANON, "b");
	make(fixture, wanted);
	assert_int_equal(fixture->points.count, 1);
	assert_int_equal(fixture->points.points[0].image, 1);
}

static void
only_offsets_with_samples_of_wanted_events_are_points(void **state)
{
	static const struct shown_events shown_events = {.count = 1, .events = {FAULTS}};
	struct points_fixture *fixture = *state;
	struct sample_points_request request = {.selection = &fixture->sampled.selection,
	                                        .shown_events = &shown_events};
	uint32_t image;

	image = fixture_image(&fixture->sampled, IMAGE_ANON, "[anon]", "");
	fixture_count(&fixture->sampled, image, 0x10, CLOCK, 5);
	fixture_count(&fixture->sampled, image, 0x20, CLOCK, 6);
	fixture_count(&fixture->sampled, image, 0x20, FAULTS, 3);
	assert_int_equal(sample_points_make(&request, &fixture->points), 0);
	assert_int_equal(fixture->points.count, 1);
	assert_int_equal(fixture->points.points[0].offset, 0x20);
	assert_int_equal(sample_points_samples(&fixture->points, &fixture->points.points[0], CLOCK), 6);
	assert_int_equal(fixture->points.procedure_count, 0); /* nobody asked for them */
}

static void
no_samples_are_no_points(void **state)
{
	struct points_fixture *fixture = *state;

	make(fixture, NULL);
	assert_int_equal(fixture->points.count, 0);
	assert_int_equal(fixture->points.procedure_count, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events_of_one_offset_are_one_point, setup, teardown),
		cmocka_unit_test_setup_teardown(images_have_procedures_of_their_own, setup, teardown),
		cmocka_unit_test_setup_teardown(offsets_of_a_function_are_in_one_procedure, setup, teardown),
		cmocka_unit_test_setup_teardown(only_wanted_images_have_points, setup, teardown),
		cmocka_unit_test_setup_teardown(only_offsets_with_samples_of_wanted_events_are_points, setup, teardown),
		cmocka_unit_test_setup_teardown(no_samples_are_no_points, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
