/* Tests of emulator/timing/code.c: what is kept of going from one block to another. */
#include "tests/unit/emulator/timing_fixture.h"

#define MOVABS "48 b8 11 22 33 44 55 66 77 08" /* of ten bytes */
#define NOP    "90"
#define BRANCH "74 10" /* je, to 16 bytes behind it */
#define CALL   "e8 00 00 00 00"

/* The edge that is known where it leads to. */
static struct edge *
known(const struct edge *before, struct code *code)
{
	if (edge_is_from(&code->edge, before))
		return &code->edge;
	return edge_is_from(edge_recent(code), before) ? edge_recent(code) : NULL;
}

static struct edge *
find(struct timing_fixture *fixture, struct edge *before, struct code *code)
{
	return edges_follow(&fixture->timing, before, code);
}

/* From where nothing is known. */
static struct edge *
enter(struct timing_fixture *fixture, struct code *code)
{
	return find(fixture, &fixture->timing.nothing->edge, code);
}

static void
an_edge_is_found_again(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *one = CODE_OF(fixture, NOP), *other = CODE_OF(fixture, NOP);
	struct edge *before = enter(fixture, one), *edge = find(fixture, before, other);

	assert_ptr_equal(edge->code, other);
	assert_ptr_equal(edge, &other->edge); /* the first to it */
	assert_ptr_equal(find(fixture, before, other), edge);
	assert_ptr_not_equal(enter(fixture, other), edge);
}

static void
the_first_that_led_to_a_block_and_the_last_are_known(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, NOP);
	struct edge *before[] = {enter(fixture, CODE_OF(fixture, BRANCH)), enter(fixture, CODE_OF(fixture, CALL)),
	                         enter(fixture, CODE_OF(fixture, NOP))};
	struct edge *first, *second, *third;

	assert_null(known(before[0], code));
	first = find(fixture, before[0], code);
	second = find(fixture, before[1], code);
	assert_ptr_equal(known(before[0], code), first);
	assert_ptr_equal(known(before[1], code), second);
	assert_null(known(before[2], code));
	third = find(fixture, before[2], code);
	assert_ptr_equal(known(before[0], code), first);
	assert_ptr_equal(known(before[2], code), third);
	assert_null(known(before[1], code));
	assert_ptr_equal(before[1]->next, second);
	assert_ptr_equal(before[0]->next, &edge_none); /* the first is known always */
}

static struct code *
at(struct timing_fixture *fixture, uint64_t line, unsigned instructions)
{
	struct code *code = instructions > 1 ? CODE_OF(fixture, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS, MOVABS)
	                                     : CODE_OF(fixture, NOP);

	code->page = line >> 6;
	code->first_line = line;
	code->last_line = instructions > 1 ? line + 1 : line;
	return code;
}

/* Three need no look-up: the line used last, its page, and what the block itself has used. */
static void
only_what_was_not_used_last_is_fetched(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *one = at(fixture, 64, 1), *same = at(fixture, 64, 1), *next = at(fixture, 65, 1);
	struct code *two = at(fixture, 64, 7), *away = at(fixture, 128, 1), *any = at(fixture, 65, 7);
	struct edge *before = enter(fixture, one);

	assert_int_equal(before->kind.fetch, EDGE_FETCHES_LINE_OF_PAGE);
	assert_int_equal(find(fixture, before, same)->kind.fetch, EDGE_FETCHES_NOTHING);
	assert_int_equal(find(fixture, before, next)->kind.fetch, EDGE_FETCHES_LINE);
	assert_int_equal(find(fixture, before, next)->line_key, 65 * 64);
	assert_int_equal(find(fixture, before, away)->kind.fetch, EDGE_FETCHES_LINE_OF_PAGE);
	assert_int_equal(find(fixture, before, two)->kind.fetch, EDGE_FETCHES_LINE);
	assert_int_equal(find(fixture, before, two)->line_key, 65 * 64);
	before = enter(fixture, two);
	assert_int_equal(before->kind.fetch, EDGE_FETCHES_TWO);
	assert_int_equal(find(fixture, before, two)->kind.fetch, EDGE_FETCHES_NOTHING);
	assert_int_equal(find(fixture, before, one)->kind.fetch, EDGE_FETCHES_LINE);
	any->last_line = CODE_NO_LINE;
	assert_int_equal(find(fixture, before, any)->kind.fetch, EDGE_FETCHES_ANY);
	assert_int_equal(find(fixture, enter(fixture, any), next)->kind.fetch, EDGE_FETCHES_LINE_OF_PAGE);
}

static void
an_edge_says_what_the_predictor_is_asked(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *branch = CODE_OF(fixture, BRANCH), *code = CODE_OF(fixture, NOP), *fall = CODE_OF(fixture, NOP);
	struct edge *before = enter(fixture, branch), *edge;

	fall->address = branch->block->fall;
	edge = find(fixture, before, fall);
	assert_false(edge->taken);
	assert_int_equal(edge->site, branch->site);
	edge = find(fixture, before, code);
	assert_true(edge->taken);
	edge = find(fixture, enter(fixture, CODE_OF(fixture, CALL)), code);
	assert_int_equal(edge->kind.ending, CODE_CALLS);
	assert_int_equal(edge->address, code->address);
}

/* mov (%rax),%rax; jmp to itself: what it takes again is more than what it takes behind another. */
static void
a_block_behind_itself_is_a_variant_of_its_own(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, "48 8b 00", "eb fb");
	struct edge *first = enter(fixture, code), *again = find(fixture, first, code);

	assert_true(again->variant.cycles > first->variant.cycles);
	assert_ptr_equal(find(fixture, again, code)->variant_id, again->variant_id);
	assert_ptr_equal(find(fixture, enter(fixture, CODE_OF(fixture, NOP)), code)->variant_id, first->variant_id);
}

/* mov (%rax),%rax; jne to itself: all iterations but the first ones begin by the edge that is known first. */
static void
the_place_of_a_loop_is_for_the_edge_from_itself(void **state)
{
	struct timing_fixture *fixture = *state;
	struct code *code = CODE_OF(fixture, "48 8b 00", "75 fb");
	struct edge *first = enter(fixture, code), *edge = first;

	assert_ptr_not_equal(first, &code->edge);
	for (unsigned i = 0; i < 5; i++)
		edge = find(fixture, edge, code);
	assert_ptr_equal(edge, &code->edge);
	assert_ptr_equal(find(fixture, edge, code), edge);
	assert_ptr_equal(enter(fixture, code), first);
	assert_int_equal(edge->kind.fetch, EDGE_FETCHES_NOTHING);
	assert_int_equal(edge->kind.ending, CODE_BRANCHES);
}

#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, timing_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_edge_is_found_again, timing_in_order),
		TEST(the_first_that_led_to_a_block_and_the_last_are_known, timing_in_order),
		TEST(only_what_was_not_used_last_is_fetched, timing_in_order),
		TEST(an_edge_says_what_the_predictor_is_asked, timing_in_order),
		TEST(a_block_behind_itself_is_a_variant_of_its_own, timing_out_of_order),
		TEST(the_place_of_a_loop_is_for_the_edge_from_itself, timing_in_order),
		TEST(the_place_of_a_loop_is_for_the_edge_from_itself, timing_out_of_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
