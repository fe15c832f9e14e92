/* A graph by hand, at addresses of this program's own text: offsets are then those of a real file. */
#include "tests/unit/image/elf_fixture.h"

#include "analysis/procedure.h"

/*
 * Instructions of four bytes. 0: two, the second branches to 2. 1: one, a call that comes back to 2. 2: two, the second
 * branches back to 0. 3: one, returns. edges: 0 in->0, 1 0->1, 2 0->2, 3 1->2, 4 2->0, 5 2->3, 6 3->out, 7 in->2
 */
static const struct flow_block blocks[] = {
	{.first = 0, .count = 2, .out = 0, .out_count = 2, .in = 0, .in_count = 2},
	{.first = 2, .count = 1, .out = 2, .out_count = 1, .in = 2, .in_count = 1},
	{.first = 3, .count = 2, .out = 3, .out_count = 2, .in = 3, .in_count = 3},
	{.first = 5, .count = 1, .out = 5, .out_count = 1, .in = 6, .in_count = 1},
};
static const struct flow_edge edges[] = {
	{FLOW_OUTSIDE, 0, EDGE_ENTRY},
	{0, 1, EDGE_FALL},
	{0, 2, EDGE_TAKEN},
	{1, 2, EDGE_FALL},
	{2, 0, EDGE_TAKEN},
	{2, 3, EDGE_FALL},
	{3, FLOW_OUTSIDE, EDGE_EXIT},
	{FLOW_OUTSIDE, 2, EDGE_ENTRY},
};
static const uint32_t outs[] = {1, 2, 3, 4, 5, 6};
static const uint32_t ins[] = {0, 4, 1, 2, 3, 7, 5};

#define INSTRUCTIONS 6

struct procedure_stage {
	struct flow_block blocks[4];
	struct flow_edge edges[8];
	uint32_t outs[6], ins[7];
	struct instruction instructions[INSTRUCTIONS];
	struct flow_graph graph;
	struct image image;
	struct code_image code;
	struct procedure_input input;
	uint64_t address, offset; /* of the first instruction */
};

/* Something of this program's text that is as long as the graph. */
extern const char __executable_start;

static uint64_t
own_address(void)
{
	return (uint64_t)(uintptr_t)own_address - (uint64_t)(uintptr_t)&__executable_start;
}

static int
stage_setup(void **state)
{
	struct procedure_stage *stage = calloc(1, sizeof(*stage));
	static char path[PATH_MAX];

	if (!stage || !realpath("/proc/self/exe", path))
		return -1;
	stage->image = image_of(path);
	stage->address = own_address();
	if (image_file_open(&stage->image, &stage->code.file) ||
	    image_file_offset(stage->code.file, stage->address, &stage->offset))
		return -1;
	memcpy(stage->blocks, blocks, sizeof(blocks));
	memcpy(stage->edges, edges, sizeof(edges));
	memcpy(stage->outs, outs, sizeof(outs));
	memcpy(stage->ins, ins, sizeof(ins));
	for (uint64_t i = 0; i < INSTRUCTIONS; i++)
		stage->instructions[i] =
			(struct instruction){.address = stage->address + 4 * i, .size = 4, .flow = FLOW_NEXT};
	stage->instructions[1].flow = stage->instructions[4].flow = FLOW_BRANCH;
	stage->instructions[2].flow = FLOW_CALL;
	stage->instructions[5].flow = FLOW_RETURN;
	stage->graph = (struct flow_graph){
		.instructions = stage->instructions,
		.instruction_count = INSTRUCTIONS,
		.blocks = stage->blocks,
		.block_count = 4,
		.part_blocks = {0, 4},
		.part_count = 1,
		.edges = stage->edges,
		.edge_count = 8,
		.outs = stage->outs,
		.ins = stage->ins,
		.is_complete = true,
	};
	stage->input.code = &stage->code;
	*state = stage;
	return 0;
}

static int
stage_teardown(void **state)
{
	struct procedure_stage *stage = *state;

	image_file_close(stage->code.file);
	free(stage);
	return 0;
}

/* From one instruction to another; 100 is far outside. */
static uint32_t
find(const struct procedure_stage *stage, uint64_t from, uint64_t to)
{
	return procedure_edge_find(&stage->graph, stage->address + 4 * from, stage->address + 4 * to);
}

static struct procedure_edge
seen(const struct procedure_stage *stage, uint64_t from, uint64_t to, uint64_t count)
{
	return (struct procedure_edge){stage->offset + 4 * from, stage->offset + 4 * to, count};
}

static void
a_branch_goes_where_the_graph_says(void **state)
{
	const struct procedure_stage *stage = *state;

	assert_int_equal(find(stage, 1, 2), 1);
	assert_int_equal(find(stage, 1, 3), 2);
	assert_int_equal(find(stage, 4, 0), 4);
	assert_int_equal(find(stage, 1, 5), PROCEDURE_NO_EDGE);
}

static void
a_step_within_a_block_is_no_edge(void **state)
{
	const struct procedure_stage *stage = *state;

	assert_int_equal(find(stage, 0, 1), PROCEDURE_NO_EDGE);
	assert_int_equal(find(stage, 0, 2), PROCEDURE_NO_EDGE);
	assert_int_equal(find(stage, 4, 1), PROCEDURE_NO_EDGE);
}

static void
a_call_is_no_edge_but_one_of_itself_is_an_entry(void **state)
{
	const struct procedure_stage *stage = *state;

	assert_int_equal(find(stage, 2, 100), PROCEDURE_NO_EDGE);
	assert_int_equal(find(stage, 2, 0), 0);
}

static void
who_comes_from_outside_enters_but_not_where_a_call_returns_to(void **state)
{
	const struct procedure_stage *stage = *state;

	assert_int_equal(find(stage, 100, 0), 0);
	assert_int_equal(find(stage, 100, 3), PROCEDURE_NO_EDGE);
	assert_int_equal(find(stage, 100, 5), PROCEDURE_NO_EDGE);
	assert_int_equal(find(stage, 100, 200), PROCEDURE_NO_EDGE);
}

static void
a_return_leaves_wherever_it_goes_to(void **state)
{
	const struct procedure_stage *stage = *state;

	assert_int_equal(find(stage, 5, 100), 6);
}

/* Lists as an image has them: ascending. `arrivals` has room for `count`. */
static struct procedure_paths
paths_of(const struct procedure_edge *list, struct procedure_edge *arrivals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = i;

		assert_true(i == 0 || list[i - 1].from <= list[i].from);
		for (; at > 0 && arrivals[at - 1].to > list[i].to; at--)
			arrivals[at] = arrivals[at - 1];
		arrivals[at] = list[i];
	}
	return (struct procedure_paths){.edges = list, .arrivals = arrivals, .edge_count = count};
}

static void
edges_of_the_image_are_counted_by_edges_of_the_graph(void **state)
{
	const struct procedure_stage *stage = *state;
	const struct procedure_edge edge_list[] = {
		{1, 2, 5}, seen(stage, 0, 1, 9), seen(stage, 1, 3, 30), seen(stage, 4, 0, 20)};
	struct procedure_edge arrivals[4] = {0};
	const struct procedure_paths paths = paths_of(edge_list, arrivals, 4);
	const uint64_t expected[] = {0, 0, 30, 0, 20, 0, 0, 0};
	struct procedure_path_counts counts;

	assert_int_equal(procedure_path_counts_init(&counts, &stage->input, &stage->graph, &paths), 0);
	assert_memory_equal(counts.edges, expected, sizeof(expected));
	assert_null(counts.visits);
	procedure_path_counts_fini(&counts);
}

/* The return was executed 7 times, and 2 of its ways are known: 5 were to other images. */
static void
what_left_to_other_images_is_what_its_edges_do_not_account_for(void **state)
{
	const struct procedure_stage *stage = *state;
	const struct procedure_edge edge_list[] = {seen(stage, 4, 5, 7), seen(stage, 5, 100, 2)};
	const struct selection_count visits[] = {{.offset = stage->offset + 16, .count = 7},
	                                         {.offset = stage->offset + 20, .count = 7}};
	struct procedure_edge arrivals[2] = {0};
	struct procedure_paths paths = paths_of(edge_list, arrivals, 2);
	struct procedure_path_counts counts;

	paths.visits = visits;
	paths.visit_count = 2;
	assert_int_equal(procedure_path_counts_init(&counts, &stage->input, &stage->graph, &paths), 0);
	assert_int_equal(counts.edges[6], 7);
	assert_int_equal(counts.edges[5], 7);
	assert_int_equal(counts.visits[2], 7);
	assert_int_equal(counts.visits[0], 0);
	procedure_path_counts_fini(&counts);
}

/* From the middle of 0 to the branch at the end of 2: past the branch of 0, which was not taken. */
static void
a_run_falls_through_all_blocks_between_its_ends(void **state)
{
	struct procedure_stage *stage = *state;
	const struct procedure_edge edge_list[] = {seen(stage, 4, 0, 1)};
	const struct procedure_edge runs[] = {seen(stage, 1, 4, 40), seen(stage, 3, 5, 3)};
	const uint64_t expected[] = {0, 40, 0, 40, 1, 3, 0, 0};
	struct procedure_edge arrivals[1] = {0};
	struct procedure_paths paths = paths_of(edge_list, arrivals, 1);
	struct procedure_path_counts counts;

	paths.runs = runs;
	paths.run_count = 2;
	stage->instructions[2].flow = FLOW_NEXT; /* a run does not go on behind a call */
	assert_int_equal(procedure_path_counts_init(&counts, &stage->input, &stage->graph, &paths), 0);
	assert_memory_equal(counts.edges, expected, sizeof(expected));
	procedure_path_counts_fini(&counts);
}

static void
a_run_that_the_graph_does_not_have_ends_where_it_stops_to_fit(void **state)
{
	struct procedure_stage *stage = *state;
	const struct procedure_edge edge_list[] = {seen(stage, 4, 0, 1)};
	const struct procedure_edge runs[] = {seen(stage, 0, 100, 8), seen(stage, 5, 0, 8), seen(stage, 100, 3, 8)};
	const uint64_t expected[] = {0, 0, 0, 0, 1, 0, 0, 0};
	struct procedure_edge arrivals[1] = {0};
	struct procedure_paths paths = paths_of(edge_list, arrivals, 1);
	struct procedure_path_counts counts;

	paths.runs = runs;
	paths.run_count = 3;
	assert_int_equal(procedure_path_counts_init(&counts, &stage->input, &stage->graph, &paths), 0);
	assert_memory_equal(counts.edges, expected, sizeof(expected));
	procedure_path_counts_fini(&counts);
}

/* Two callers before the procedure and two behind it; what they do among themselves is not its own. */
static void
who_calls_from_before_and_from_behind_is_counted_where_it_arrives(void **state)
{
	const struct procedure_stage *stage = *state;
	const uint64_t before = stage->offset - 8, behind = stage->offset + 4 * INSTRUCTIONS;
	const struct procedure_edge edge_list[] = {{before, stage->offset, 100},    {before, behind, 1000},
	                                           {before + 4, stage->offset, 20}, seen(stage, 4, 0, 7),
	                                           seen(stage, 5, INSTRUCTIONS, 8), {behind, stage->offset, 3},
	                                           {behind, before, 1000}};
	const uint64_t expected[] = {123, 0, 0, 0, 7, 0, 8, 0};
	struct procedure_edge arrivals[7] = {0};
	const struct procedure_paths paths = paths_of(edge_list, arrivals, 7);
	struct procedure_path_counts counts;

	assert_int_equal(procedure_path_counts_init(&counts, &stage->input, &stage->graph, &paths), 0);
	assert_memory_equal(counts.edges, expected, sizeof(expected));
	procedure_path_counts_fini(&counts);
}

/* Instructions 0 to 2 and, four bytes on, 3 to 5: what lies between is in no instruction. */
static void
visits_are_taken_from_both_parts_and_not_from_between(void **state)
{
	struct procedure_stage *stage = *state;
	const uint64_t offset = stage->offset;
	const struct selection_count visits[] = {
		{.offset = offset - 1, .count = 1000},  {.offset = offset, .count = 1},
		{.offset = offset + 8, .count = 3},     {.offset = offset + 11, .count = 30},
		{.offset = offset + 12, .count = 2000}, {.offset = offset + 16, .count = 4},
		{.offset = offset + 24, .count = 6},    {.offset = offset + 28, .count = 3000}};
	const struct procedure_paths paths = {.visits = visits, .visit_count = 8};
	const uint64_t expected[] = {1, 0, 33, 4, 0, 6};
	uint64_t *counted;

	for (uint32_t i = 3; i < INSTRUCTIONS; i++)
		stage->instructions[i].address += 4;
	counted = procedure_visits(&stage->input, &stage->graph, &paths);
	assert_non_null(counted);
	assert_memory_equal(counted, expected, sizeof(expected));
	free(counted);
}

static void
without_edges_nothing_is_known(void **state)
{
	const struct procedure_stage *stage = *state;
	const struct procedure_paths paths = {0};
	struct procedure_path_counts counts;

	assert_int_equal(procedure_path_counts_init(&counts, &stage->input, &stage->graph, &paths), 0);
	assert_null(counts.edges);
	assert_int_equal(procedure_path_counts_init(&counts, &stage->input, &stage->graph, NULL), 0);
	assert_null(counts.edges);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_branch_goes_where_the_graph_says, stage_setup, stage_teardown),
		cmocka_unit_test_setup_teardown(a_step_within_a_block_is_no_edge, stage_setup, stage_teardown),
		cmocka_unit_test_setup_teardown(a_call_is_no_edge_but_one_of_itself_is_an_entry, stage_setup,
	                                        stage_teardown),
		cmocka_unit_test_setup_teardown(who_comes_from_outside_enters_but_not_where_a_call_returns_to,
	                                        stage_setup, stage_teardown),
		cmocka_unit_test_setup_teardown(a_return_leaves_wherever_it_goes_to, stage_setup, stage_teardown),
		cmocka_unit_test_setup_teardown(edges_of_the_image_are_counted_by_edges_of_the_graph, stage_setup,
	                                        stage_teardown),
		cmocka_unit_test_setup_teardown(what_left_to_other_images_is_what_its_edges_do_not_account_for,
	                                        stage_setup, stage_teardown),
		cmocka_unit_test_setup_teardown(a_run_falls_through_all_blocks_between_its_ends, stage_setup,
	                                        stage_teardown),
		cmocka_unit_test_setup_teardown(a_run_that_the_graph_does_not_have_ends_where_it_stops_to_fit,
	                                        stage_setup, stage_teardown),
		cmocka_unit_test_setup_teardown(who_calls_from_before_and_from_behind_is_counted_where_it_arrives,
	                                        stage_setup, stage_teardown),
		cmocka_unit_test_setup_teardown(visits_are_taken_from_both_parts_and_not_from_between, stage_setup,
	                                        stage_teardown),
		cmocka_unit_test_setup_teardown(without_edges_nothing_is_known, stage_setup, stage_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
