/* The image is made by the assembler, in a folder that goes away; offsets are nm's. */
#include "tests/unit/image/elf_fixture.h"

#include <errno.h>

#include "analysis/survey.h"

/* `warm.cold` was split off `warm`; `inner` lies within `outer`; behind `last` is data. */
#define SOURCE                                                                                                         \
	".macro function name\n .type \\name, %function\n\\name:\n.endm\n.text\n"                                      \
	"function warm\nnop\nnop\nret\n.size warm, . - warm\n"                                                         \
	"function outer\nnop\nfunction inner\nnop\nnop\n.size inner, . - inner\nret\n.size outer, . - outer\n"         \
	"function last\nnop\nret\n.size last, . - last\n.type nowhere, %object\nnowhere: nop\nret\n"                   \
	"function warm.cold\nnop\nret\n.size warm.cold, . - warm.cold\n"

#define MANY       60 /* procedures, enough for threads */
#define COUNTS_MAX MANY
#define VISITS_MAX MANY

struct survey_stage {
	struct selection selection;
	struct selection_event events[2];
	struct selection_image selected;
	struct selection_count counts[COUNTS_MAX];
	struct image image;
	struct pipeline pipeline;
	struct code_image code;
	char path[PATH_MAX];

	/* what was visited */
	char names[VISITS_MAX][64];
	uint64_t samples[VISITS_MAX];
	size_t visit_count;
	uint64_t skipped;
	char why[128];
	int answer; /* the visitor's */
};

static uint64_t
offset_of(const struct survey_stage *stage, const char *name)
{
	struct elf_layout layout = layout_of(stage->path);

	return code_offset(&layout, nm_address_of(stage->path, name));
}

/* An image of assembler source. */
static void
set_stage_of(const struct folder *folder, const char *source, struct survey_stage *stage)
{
	char directory[4096], note[512];

	memset(stage, 0, sizeof(*stage));
	write_file(folder, "survey.s", "%s", source);
	assert_true(run_in(folder, "gcc -nostdlib -shared -Wl,--build-id -o survey.so survey.s"));
	stage->image = image_of(path_in(folder, "survey.so", stage->path));
	stage->selected = (struct selection_image){.number = 1, .image = &stage->image};
	for (size_t i = 0; i < 2; i++) {
		snprintf(stage->events[i].name, sizeof(stage->events[i].name), i ? "faults" : "cycles");
		snprintf(stage->events[i].unit, sizeof(stage->events[i].unit), i ? "faults" : "cycles");
		stage->events[i].available = true;
		stage->events[i].period = 1000;
	}
	stage->selection = (struct selection){
		.event_count = 2,
		.events = stage->events,
		.image_count = 1,
		.images = &stage->selected,
		.counts = stage->counts,
	};
	pipeline_directory(directory, sizeof(directory));
	assert_int_equal(pipeline_choose(directory, "in-order-2", "", &stage->pipeline, note, sizeof(note)), 0);
	assert_int_equal(code_image_open(&stage->code, &stage->selection, 0), 0);
	assert_int_equal(code_image_read(&stage->code), 0);
}

static void
set_stage(const struct folder *folder, struct survey_stage *stage)
{
	set_stage_of(folder, SOURCE, stage);
}

/* Samples at a symbol; to be called in the order of their offsets. */
static void
add_samples(struct survey_stage *stage, const char *name, uint64_t count, uint16_t event)
{
	assert_true(stage->selection.count_count < COUNTS_MAX);
	stage->counts[stage->selection.count_count++] =
		(struct selection_count){.offset = offset_of(stage, name), .count = count, .event = event};
}

static int
take_procedure(void *context, const struct procedure_input *input, const struct procedure_analysis *analysis)
{
	struct survey_stage *stage = context;

	assert_true(stage->visit_count < VISITS_MAX);
	snprintf(stage->names[stage->visit_count], sizeof(stage->names[0]), "%s", input->symbol->name);
	stage->samples[stage->visit_count++] = analysis->time_samples;
	return stage->answer;
}

static int
take_skipped(void *context, uint32_t image, const char *why, uint64_t samples)
{
	struct survey_stage *stage = context;

	assert_int_equal(image, 0);
	stage->skipped += samples;
	snprintf(stage->why, sizeof(stage->why), "%s", why);
	return 0;
}

static int
survey(struct survey_stage *stage)
{
	const struct survey_visitor visitor = {.context = stage, .procedure = take_procedure, .skipped = take_skipped};
	const struct procedure_input input = {
		.selection = &stage->selection, .code = &stage->code, .pipeline = &stage->pipeline};
	int err = survey_image(&input, &visitor);

	code_image_close(&stage->code);
	return err;
}

static void
assert_visit(const struct survey_stage *stage, size_t index, const char *name, uint64_t samples)
{
	assert_true(index < stage->visit_count);
	assert_string_equal(stage->names[index], name);
	assert_int_equal(stage->samples[index], samples);
}

static void
the_hottest_procedure_comes_first(void **state)
{
	struct survey_stage stage;

	set_stage(*state, &stage);
	add_samples(&stage, "warm", 10, 0);
	add_samples(&stage, "last", 20, 0);
	assert_int_equal(survey(&stage), 0);
	assert_int_equal(stage.visit_count, 2);
	assert_visit(&stage, 0, "last", 20);
	assert_visit(&stage, 1, "warm", 10);
	assert_int_equal(stage.skipped, 0);
}

static void
a_part_that_was_split_off_is_visited_with_what_it_is_of(void **state)
{
	struct survey_stage stage;

	set_stage(*state, &stage);
	add_samples(&stage, "warm", 10, 0);
	add_samples(&stage, "warm.cold", 30, 0);
	assert_int_equal(survey(&stage), 0);
	assert_int_equal(stage.visit_count, 1);
	assert_visit(&stage, 0, "warm", 40);
}

static void
a_part_whose_procedure_has_no_samples_is_visited_alone(void **state)
{
	struct survey_stage stage;

	set_stage(*state, &stage);
	add_samples(&stage, "warm.cold", 30, 0);
	assert_int_equal(survey(&stage), 0);
	assert_int_equal(stage.visit_count, 1);
	assert_visit(&stage, 0, "warm.cold", 30);
}

static void
a_procedure_within_another_is_visited_with_it_and_not_again(void **state)
{
	struct survey_stage stage;

	set_stage(*state, &stage);
	add_samples(&stage, "outer", 5, 0);
	add_samples(&stage, "inner", 50, 0);
	assert_int_equal(survey(&stage), 0);
	assert_int_equal(stage.visit_count, 1);
	assert_visit(&stage, 0, "outer", 55);
}

static void
samples_in_no_procedure_are_skipped_with_a_reason(void **state)
{
	struct survey_stage stage;

	set_stage(*state, &stage);
	add_samples(&stage, "last", 1, 0);
	add_samples(&stage, "nowhere", 7, 0);
	assert_int_equal(survey(&stage), 0);
	assert_int_equal(stage.visit_count, 1);
	assert_int_equal(stage.skipped, 7);
	assert_string_equal(stage.why, "no procedure is known there");
}

static void
what_has_samples_of_another_event_only_is_not_visited(void **state)
{
	struct survey_stage stage;

	set_stage(*state, &stage);
	add_samples(&stage, "warm", 10, 1);
	add_samples(&stage, "last", 20, 0);
	add_samples(&stage, "nowhere", 7, 1);
	assert_int_equal(survey(&stage), 0);
	assert_int_equal(stage.visit_count, 1);
	assert_visit(&stage, 0, "last", 20);
	assert_int_equal(stage.skipped, 0);
}

static void
an_error_of_the_visitor_ends_the_survey(void **state)
{
	struct survey_stage stage;

	set_stage(*state, &stage);
	stage.answer = -EINVAL; /* also one that an analysis may have */
	add_samples(&stage, "warm", 10, 0);
	add_samples(&stage, "last", 20, 0);
	assert_int_equal(survey(&stage), -EINVAL);
	assert_int_equal(stage.visit_count, 1);
}

static void
an_image_without_samples_has_nothing_to_visit(void **state)
{
	struct survey_stage stage;

	set_stage(*state, &stage);
	assert_int_equal(survey(&stage), 0);
	assert_int_equal(stage.visit_count, 0);
	assert_int_equal(stage.skipped, 0);
}

/* Procedure number i, of MANY, has i + 1 samples. */
static void
set_stage_of_many(const struct folder *folder, struct survey_stage *stage)
{
	static char source[MANY * 64];
	size_t used = 0;
	char name[16];

	for (size_t i = 0; i < MANY; i++)
		used += (size_t)snprintf(source + used, sizeof(source) - used,
		                         ".type f%zu, %%function\nf%zu:\nnop\nret\n.size f%zu, . - f%zu\n", i, i, i, i);
	set_stage_of(folder, source, stage);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		add_samples(stage, name, i + 1, 0);
	}
}

/* Whatever thread was first, the one with most samples comes first. */
static void
many_procedures_come_in_the_same_order(void **state)
{
	struct survey_stage stage;
	char name[16];

	set_stage_of_many(*state, &stage);
	assert_int_equal(survey(&stage), 0);
	assert_int_equal(stage.visit_count, MANY);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "f%zu", MANY - 1 - i);
		assert_visit(&stage, i, name, MANY - i);
	}
}

static void
an_error_of_the_visitor_ends_threads_too(void **state)
{
	struct survey_stage stage;

	set_stage_of_many(*state, &stage);
	stage.answer = -EIO;
	assert_int_equal(survey(&stage), -EIO);
	assert_int_equal(stage.visit_count, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_hottest_procedure_comes_first, folder_setup, folder_teardown),
		cmocka_unit_test_setup_teardown(a_part_that_was_split_off_is_visited_with_what_it_is_of, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(a_part_whose_procedure_has_no_samples_is_visited_alone, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(a_procedure_within_another_is_visited_with_it_and_not_again,
	                                        folder_setup, folder_teardown),
		cmocka_unit_test_setup_teardown(samples_in_no_procedure_are_skipped_with_a_reason, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(what_has_samples_of_another_event_only_is_not_visited, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(an_error_of_the_visitor_ends_the_survey, folder_setup, folder_teardown),
		cmocka_unit_test_setup_teardown(many_procedures_come_in_the_same_order, folder_setup, folder_teardown),
		cmocka_unit_test_setup_teardown(an_error_of_the_visitor_ends_threads_too, folder_setup,
	                                        folder_teardown),
		cmocka_unit_test_setup_teardown(an_image_without_samples_has_nothing_to_visit, folder_setup,
	                                        folder_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
