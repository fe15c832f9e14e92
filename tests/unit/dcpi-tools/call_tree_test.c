/* Call stacks by procedure: recursion, truncated stacks, callers, callees. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "dcpi-tools/common/call_tree.h"
#include "dcpi-tools/common/sample_points.h"
#include "tests/unit/dcpi-tools/fixture.h"

#define CLOCK  0
#define FAULTS 1

/* Without their files, images are a procedure each: a calls b, b calls itself and c. */
enum { A, B, C, STACKS, IMAGES };

struct tree_fixture {
	struct selection_fixture sampled;
	char *titles[IMAGES];
	struct call_tree tree;
};

static struct stack_node nodes[] = {
	{0},
	{.image = A, .offset = 0x10, .caller = 0}, /* 1: a */
	{.image = B, .offset = 0x20, .caller = 1}, /* 2: a b */
	{.image = B, .offset = 0x24, .caller = 2}, /* 3: a b b */
	{.image = C, .offset = 0x30, .caller = 3}, /* 4: a b b c */
	{.image = C, .offset = 0x34, .caller = 2}, /* 5: a b c */
	{.image = STACK_NO_IMAGE, .offset = STACK_END_DEPTH, .caller = 0},
	{.image = B, .offset = 0x20, .caller = 6}, /* 7: [truncated] b */
	{.image = A, .offset = 0x14, .caller = 0}, /* 8: a, elsewhere */
	{.image = C, .offset = 0x30, .caller = 8}, /* 9: a c */
};

static int
setup(void **state)
{
	static char titles[IMAGES][2] = {"a", "b", "c", "s"};
	struct tree_fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	fixture_init(&fixture->sampled);
	for (size_t i = 0; i < IMAGES; i++)
		fixture->titles[i] = titles[i];
	fixture_image(&fixture->sampled, IMAGE_USER, "/nowhere/a", "");
	fixture_image(&fixture->sampled, IMAGE_USER, "/nowhere/b", "");
	fixture_image(&fixture->sampled, IMAGE_USER, "/nowhere/c", "");
	fixture_image(&fixture->sampled, IMAGE_STACKS, STACKS_PATH, "");
	fixture->sampled.selection.stacks =
		(struct stack_nodes){.nodes = nodes, .count = sizeof(nodes) / sizeof(*nodes)};
	fixture_count(&fixture->sampled, STACKS, 3, CLOCK, 4);
	fixture_count(&fixture->sampled, STACKS, 4, CLOCK, 10);
	fixture_count(&fixture->sampled, STACKS, 4, FAULTS, 1000);
	fixture_count(&fixture->sampled, STACKS, 5, CLOCK, 3);
	fixture_count(&fixture->sampled, STACKS, 7, CLOCK, 2);
	fixture_count(&fixture->sampled, STACKS, 9, CLOCK, 1);
	return 0;
}

static int
teardown(void **state)
{
	struct tree_fixture *fixture = *state;

	call_tree_fini(&fixture->tree);
	free(fixture);
	return 0;
}

static void
make(struct tree_fixture *fixture, const bool *wanted)
{
	const struct call_tree_request request = {
		.selection = &fixture->sampled.selection,
		.event = CLOCK,
		.wanted = wanted,
		.image_titles = fixture->titles,
		.symbolizer = symbolizer_new(NULL),
	};

	assert_int_equal(call_tree_make(&request, &fixture->tree), 0);
	symbolizer_free(request.symbolizer);
}

/* The index of the frame of an image; of one that was truncated for NULL. */
static uint32_t
frame_of(const struct call_tree *tree, const char *image_title)
{
	for (uint32_t i = 0; i < tree->frame_count; i++) {
		const char *title = tree->frames[i].image_title;

		if (image_title ? title && strcmp(title, image_title) == 0 : !title)
			return i;
	}
	fail_msg("no frame of %s", image_title ? image_title : "a truncated stack");
	return 0;
}

/* Checks that node `at` is of that image, and has these samples. */
static void
assert_node(const struct call_tree *tree, uint32_t at, const char *image_title, uint64_t total, uint64_t own)
{
	assert_int_not_equal(at, 0);
	assert_int_equal(tree->nodes[at].frame, frame_of(tree, image_title));
	assert_int_equal(tree->nodes[at].total, total);
	assert_int_equal(tree->nodes[at].own, own);
}

static void
a_sample_counts_once_for_a_procedure_that_calls_itself(void **state)
{
	struct tree_fixture *fixture = *state;
	const struct call_tree *tree = &fixture->tree;

	make(fixture, NULL);
	assert_int_equal(tree->samples, 20);
	assert_int_equal(tree->frames[frame_of(tree, "a")].inclusive, 18);
	assert_int_equal(tree->frames[frame_of(tree, "a")].own, 0);
	assert_int_equal(tree->frames[frame_of(tree, "b")].inclusive, 19);
	assert_int_equal(tree->frames[frame_of(tree, "b")].own, 6);
	assert_int_equal(tree->frames[frame_of(tree, "c")].inclusive, 14);
	assert_int_equal(tree->frames[frame_of(tree, "c")].own, 14);
}

static void
siblings_come_by_samples(void **state)
{
	struct tree_fixture *fixture = *state;
	const struct call_tree *tree = &fixture->tree;
	uint32_t a, b, inner;

	make(fixture, NULL);
	a = tree->nodes[0].first_child;
	assert_node(tree, a, "a", 18, 0); /* both places in it are one node */
	b = tree->nodes[a].first_child;
	assert_node(tree, b, "b", 17, 0);
	assert_node(tree, tree->nodes[b].next_sibling, "c", 1, 1);
	inner = tree->nodes[b].first_child;
	assert_node(tree, inner, "b", 14, 4);
	assert_node(tree, tree->nodes[inner].first_child, "c", 10, 10);
	assert_node(tree, tree->nodes[inner].next_sibling, "c", 3, 3);
}

static void
truncated_stacks_are_counted_by_cause(void **state)
{
	struct tree_fixture *fixture = *state;
	const struct call_tree *tree = &fixture->tree;
	uint32_t at;

	make(fixture, NULL);
	at = tree->nodes[tree->nodes[0].first_child].next_sibling;
	assert_node(tree, at, NULL, 2, 0);
	assert_string_equal(tree->frames[tree->nodes[at].frame].title, "[truncated: depth]");
	assert_int_equal(tree->frames[tree->nodes[at].frame].end, STACK_END_DEPTH);
	assert_node(tree, tree->nodes[at].first_child, "b", 2, 2);
	assert_int_equal(tree->nodes[at].next_sibling, 0);
}

static void
images_choose_by_the_innermost_frame(void **state)
{
	const bool wanted[IMAGES] = {[B] = true};
	struct tree_fixture *fixture = *state;

	make(fixture, wanted);
	assert_int_equal(fixture->tree.samples, 6);
	assert_int_equal(fixture->tree.frames[frame_of(&fixture->tree, "a")].inclusive, 4);
}

/* Of b: the innermost call counts, so the inner b of "a b b" is called by b, and that by a. */
static void
callers_begin_with_the_innermost_call(void **state)
{
	struct tree_fixture *fixture = *state;
	bool wanted[8] = {false};
	struct call_tree callers;
	uint32_t b, caller;

	make(fixture, NULL);
	wanted[frame_of(&fixture->tree, "b")] = true;
	assert_int_equal(call_tree_invert(&fixture->tree, wanted, &callers), 0);
	assert_int_equal(callers.samples, 19);
	b = callers.nodes[0].first_child;
	assert_node(&callers, b, "b", 19, 0);
	assert_int_equal(callers.nodes[b].next_sibling, 0);
	caller = callers.nodes[b].first_child;
	assert_node(&callers, caller, "b", 14, 0);
	assert_node(&callers, callers.nodes[caller].first_child, "a", 14, 14);
	caller = callers.nodes[caller].next_sibling;
	assert_node(&callers, caller, "a", 3, 3);
	caller = callers.nodes[caller].next_sibling;
	assert_node(&callers, caller, NULL, 2, 2);
	call_tree_fini(&callers);
	assert_string_equal(fixture->tree.frames[frame_of(&fixture->tree, NULL)].title,
	                    "[truncated: depth]"); /* stays */
}

/* The callees of b. In the stack "a b b" a sample counts once, for the outer b; the inner b is one of its callees. */
static void
callees_begin_with_the_outermost_call(void **state)
{
	struct tree_fixture *fixture = *state;
	bool wanted[8] = {false};
	struct call_tree callees;
	uint32_t b, callee;

	make(fixture, NULL);
	wanted[frame_of(&fixture->tree, "b")] = true;
	assert_int_equal(call_tree_reroot(&fixture->tree, wanted, &callees), 0);
	assert_int_equal(callees.samples, 19);
	b = callees.nodes[0].first_child;
	assert_node(&callees, b, "b", 19, 2); /* below a, and below what is truncated */
	assert_int_equal(callees.nodes[b].next_sibling, 0);
	callee = callees.nodes[b].first_child;
	assert_node(&callees, callee, "b", 14, 4);
	assert_node(&callees, callees.nodes[callee].first_child, "c", 10, 10);
	callee = callees.nodes[callee].next_sibling;
	assert_node(&callees, callee, "c", 3, 3);
	assert_int_equal(callees.nodes[callee].next_sibling, 0);
	call_tree_fini(&callees);
}

/* The callees of b and c. A sample of a stack in which b calls c counts for b, the outer of the two, and not for c. */
static void
callees_of_two_procedures_are_counted_once(void **state)
{
	struct tree_fixture *fixture = *state;
	bool wanted[8] = {false};
	struct call_tree callees;
	uint32_t b, c;

	make(fixture, NULL);
	wanted[frame_of(&fixture->tree, "b")] = true;
	wanted[frame_of(&fixture->tree, "c")] = true;
	assert_int_equal(call_tree_reroot(&fixture->tree, wanted, &callees), 0);
	assert_int_equal(callees.samples, 20);
	b = callees.nodes[0].first_child;
	assert_node(&callees, b, "b", 19, 2);
	c = callees.nodes[b].next_sibling;
	assert_node(&callees, c, "c", 1, 1);
	assert_int_equal(callees.nodes[c].next_sibling, 0);
	call_tree_fini(&callees);
}

/* Another view of the stacks: each offset that is in one, once, of the stacks of a wanted event. */
static void
frames_of_stacks_are_points(void **state)
{
	static const struct {
		uint64_t offset;
		uint32_t image;
	} expected[] = {{0x10, A}, {0x14, A}, {0x20, B}, {0x24, B}, {0x30, C}, {0x34, C}};
	const struct shown_events faults = {.events = {FAULTS}, .count = 1};
	struct tree_fixture *fixture = *state;
	struct sample_points_request request = {
		.selection = &fixture->sampled.selection,
		.symbolizer = symbolizer_new(NULL),
	};
	struct sample_points points;

	assert_int_equal(sample_points_make(&request, &points), 0);
	assert_int_equal(points.count, 6);
	for (size_t i = 0; i < points.count; i++) {
		assert_int_equal(points.points[i].image, expected[i].image);
		assert_int_equal(points.points[i].offset, expected[i].offset);
		assert_int_equal(sample_points_samples(&points, &points.points[i], CLOCK), 0);
	}
	assert_int_equal(points.procedure_count, 3);
	assert_ptr_equal(sample_points_frame(&points, 9), &points.points[4]);
	assert_null(sample_points_frame(&points, 6));
	sample_points_fini(&points);
	request.shown_events = &faults;
	assert_int_equal(sample_points_make(&request, &points), 0);
	assert_int_equal(points.count, 4); /* of a b b c */
	sample_points_fini(&points);
	symbolizer_free(request.symbolizer);
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* Two stacks of which nothing is known but why: salvage makes them of counts whose nodes are lost. */
static struct stack_node lost_nodes[] = {
	{.image = 0},
	{.image = STACK_NO_IMAGE, .offset = STACK_END_UNKNOWN},
	{.image = STACK_NO_IMAGE, .offset = (UINT64_C(1) << 32) + STACK_END_UNKNOWN},
};

static struct selection_count lost_counts[] = {{.offset = 1, .count = 3}, {.offset = 2, .count = UINT64_MAX - 1}};

static struct selection
two_lost_stacks(void)
{
	return (struct selection){.stacks = {.nodes = lost_nodes, .count = 3}, .counts = lost_counts, .count_count = 2};
}

static void
a_stack_without_a_frame_is_in_no_wanted_image(void **state)
{
	const struct selection selection = two_lost_stacks();
	const bool wanted[1] = {true};
	const struct call_tree_request request = {.selection = &selection, .wanted = wanted};
	struct call_tree tree;

	(void)state;
	assert_int_equal(call_tree_make(&request, &tree), 0);
	assert_int_equal(tree.samples, 0);
	assert_int_equal(tree.node_count, 1);
	call_tree_fini(&tree);
}

static void
an_end_that_has_no_name_is_another_reason(void **state)
{
	const struct selection selection = two_lost_stacks();
	const struct call_tree_request request = {.selection = &selection};
	struct call_tree tree;

	(void)state;
	assert_int_equal(call_tree_make(&request, &tree), 0);
	assert_int_equal(tree.frame_count, 2);
	assert_string_equal(tree.frames[0].title, "[truncated: unknown]");
	assert_string_equal(tree.frames[1].title, "[truncated: other]");
	assert_int_equal(tree.frames[0].own, 3);
	assert_true(tree.samples == UINT64_MAX); /* more than that */
	call_tree_fini(&tree);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(a_sample_counts_once_for_a_procedure_that_calls_itself),
		TREE_TEST(siblings_come_by_samples),
		TREE_TEST(truncated_stacks_are_counted_by_cause),
		TREE_TEST(images_choose_by_the_innermost_frame),
		TREE_TEST(callers_begin_with_the_innermost_call),
		TREE_TEST(callees_begin_with_the_outermost_call),
		TREE_TEST(callees_of_two_procedures_are_counted_once),
		TREE_TEST(frames_of_stacks_are_points),
		cmocka_unit_test(a_stack_without_a_frame_is_in_no_wanted_image),
		cmocka_unit_test(an_end_that_has_no_name_is_another_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
