/* Tests of emulator/model/predictor.h. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "emulator/model/predictor.h"

#define BRANCH UINT64_C(0x401000)
#define OTHER  UINT64_C(0x401abc)

static struct machine machine;
static struct predictor predictor;

static int
setup(void **state)
{
	(void)state;
	machine = (struct machine){
		.predictor = PREDICTOR_GSHARE,
		.predictor_entries = 4096,
		.history_bits = 12,
		.return_stack = 4,
		.target_entries = 256,
	};
	return predictor_init(&predictor, &machine);
}

static int
teardown(void **state)
{
	(void)state;
	predictor_fini(&predictor);
	return 0;
}

static void
begin_as(enum machine_predictor kind)
{
	predictor_fini(&predictor);
	machine.predictor = kind;
	assert_int_equal(predictor_init(&predictor, &machine), 0);
}

/* Whether it was predicted wrongly; the predictor learns. */
static bool
mispredicts(uint32_t site, bool taken)
{
	if (predictor_branch_right(&predictor, site, taken, predictor.has_history))
		return false;
	predictor_branch_wrong(&predictor, site, taken, predictor.has_history);
	return true;
}

/* The same of an indirect jump or call. */
static bool
mistakes_target(uint64_t address, uint64_t target)
{
	if (predictor_indirect_right(&predictor, address, target))
		return false;
	predictor_indirect_wrong(&predictor, address, target);
	return true;
}

/* Of `times` turns of `pattern`, of '1' and '0' for a branch's way. */
static unsigned
mispredictions(uint32_t site, const char *pattern, unsigned times)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < times; i++) {
		for (const char *way = pattern; *way; way++)
			wrong += mispredicts(site, *way == '1');
	}
	return wrong;
}

/* Counters begin at weakly not taken: the first time it is wrong, and then never. */
static void
a_bimodal_counter_learns_one_way_at_once(void **state)
{
	(void)state;
	begin_as(PREDICTOR_BIMODAL);
	assert_int_equal(mispredictions(predictor_site(&predictor, BRANCH, OTHER), "1", 100), 1);
}

/* 1 -> 2 (wrong), then 3, 3, and of each further turn the exit alone is wrong: one way out does not unlearn. */
static void
a_bimodal_counter_is_wrong_once_a_loop(void **state)
{
	(void)state;
	begin_as(PREDICTOR_BIMODAL);
	assert_int_equal(mispredictions(predictor_site(&predictor, BRANCH, OTHER), "1110", 10), 11);
}

/* 1 -> 2 wrong, 2 -> 1 wrong, and so for ever. */
static void
a_bimodal_counter_is_always_wrong_about_what_alternates(void **state)
{
	(void)state;
	begin_as(PREDICTOR_BIMODAL);
	assert_int_equal(mispredictions(predictor_site(&predictor, BRANCH, OTHER), "10", 50), 100);
}

static void
branches_of_their_own_do_not_meet(void **state)
{
	uint32_t one, other;

	(void)state;
	begin_as(PREDICTOR_BIMODAL);
	one = predictor_site(&predictor, BRANCH, OTHER);
	other = predictor_site(&predictor, OTHER, BRANCH);
	assert_int_not_equal(one & predictor.mask, other & predictor.mask);
	mispredictions(one, "1", 10);
	assert_int_equal(mispredictions(other, "0", 10), 0);
	assert_int_equal(mispredictions(one, "1", 10), 0);
}

static void
gshare_learns_a_pattern(void **state)
{
	uint32_t site = predictor_site(&predictor, BRANCH, OTHER);

	(void)state;
	mispredictions(site, "1101000", 20);
	assert_int_equal(mispredictions(site, "1101000", 100), 0);
}

/* The second branch goes where the first did. */
static void
gshare_knows_what_other_branches_did(void **state)
{
	uint32_t first = predictor_site(&predictor, BRANCH, OTHER);
	uint32_t second = predictor_site(&predictor, OTHER, BRANCH);
	uint32_t random = 1;
	unsigned wrong = 0;

	(void)state;
	machine.history_bits = 1;
	begin_as(PREDICTOR_GSHARE);
	for (unsigned i = 0; i < 1000; i++) {
		bool way;

		random = random * 1103515245 + 12345;
		way = random >> 30 & 1;
		mispredicts(first, way);
		wrong += mispredicts(second, way);
	}
	assert_in_range(wrong, 0, 4);
}

static void
static_prediction_takes_what_goes_back(void **state)
{
	uint32_t back, forth;

	(void)state;
	begin_as(PREDICTOR_STATIC);
	back = predictor_site(&predictor, BRANCH, BRANCH - 32);
	forth = predictor_site(&predictor, BRANCH, BRANCH + 32);
	assert_int_equal(mispredictions(back, "1110", 10), 10);
	assert_int_equal(mispredictions(forth, "1110", 10), 30);
	assert_int_equal(mispredictions(forth, "0", 10), 0);
}

static void
a_branch_that_is_not_predicted_changes_nothing_until_it_is_told(void **state)
{
	uint32_t site = predictor_site(&predictor, BRANCH, OTHER);
	uint32_t history;

	(void)state;
	mispredictions(site, "1101000", 20);
	history = predictor.history;
	for (int i = 0; i < 5; i++)
		assert_false(predictor_branch_right(&predictor, site, false, true));
	assert_int_equal(predictor.history, history);
	assert_int_equal(mispredictions(site, "1101000", 100), 0);
}

static bool
returns_wrongly(uint64_t target)
{
	if (predictor_return_right(&predictor, target))
		return false;
	predictor_return_wrong(&predictor);
	return true;
}

/* Weak, it says what happened; then it is sure, and being wrong once does not make it say the other. */
static void
a_counter_that_is_right_is_sure(void **state)
{
	const uint32_t site = (begin_as(PREDICTOR_BIMODAL), predictor_site(&predictor, BRANCH, OTHER));

	(void)state;
	assert_int_not_equal(*predictor_counter(&predictor, site, false), predictor_sure(false));
	assert_int_equal(mispredictions(site, "1", 3), 1);
	assert_int_equal(*predictor_counter(&predictor, site, false), predictor_sure(true));
	assert_int_equal(mispredictions(site, "001", 1), 3);
}

static void
returns_go_where_calls_came_from(void **state)
{
	(void)state;
	for (uint64_t depth = 1; depth <= 4; depth++)
		predictor_call(&predictor, BRANCH + depth);
	for (uint64_t depth = 4; depth >= 1; depth--)
		assert_false(returns_wrongly(BRANCH + depth));
	assert_true(returns_wrongly(BRANCH));
}

/* Of six calls, the stack of four has lost the two outermost. */
static void
a_return_stack_forgets_what_is_too_deep(void **state)
{
	(void)state;
	for (uint64_t depth = 1; depth <= 6; depth++)
		predictor_call(&predictor, BRANCH + depth);
	for (uint64_t depth = 6; depth >= 3; depth--)
		assert_false(returns_wrongly(BRANCH + depth));
	assert_true(returns_wrongly(BRANCH + 2));
	assert_true(returns_wrongly(BRANCH + 1));
}

static void
without_a_stack_each_return_is_wrong(void **state)
{
	(void)state;
	machine.return_stack = 0;
	begin_as(PREDICTOR_GSHARE);
	predictor_call(&predictor, BRANCH);
	assert_true(returns_wrongly(BRANCH));
	assert_true(returns_wrongly(BRANCH));
}

static void
an_indirect_jump_goes_where_it_went_before(void **state)
{
	(void)state;
	begin_as(PREDICTOR_BIMODAL);
	assert_true(mistakes_target(BRANCH, OTHER));
	assert_false(mistakes_target(BRANCH, OTHER));
	assert_true(mistakes_target(BRANCH, OTHER + 1));
	assert_true(mistakes_target(BRANCH, OTHER));
}

/* As the one jump of an interpreter, over a program that repeats. */
static void
with_history_an_indirect_jump_learns_a_sequence(void **state)
{
	static const uint64_t sequence[] = {7, 1, 7, 2, 7, 7, 3, 1};
	unsigned wrong = 0;

	(void)state;
	for (unsigned turn = 0; turn < 30; turn++) {
		for (unsigned i = 0; i < 8; i++) {
			bool missed = mistakes_target(BRANCH, OTHER + sequence[i]);

			wrong += turn >= 3 && missed;
		}
	}
	assert_int_equal(wrong, 0);
}

static void
without_a_table_each_indirect_jump_is_wrong(void **state)
{
	(void)state;
	machine.target_entries = 0;
	begin_as(PREDICTOR_GSHARE);
	assert_true(mistakes_target(BRANCH, OTHER));
	assert_true(mistakes_target(BRANCH, OTHER));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_bimodal_counter_learns_one_way_at_once),
		TEST(a_bimodal_counter_is_wrong_once_a_loop),
		TEST(a_bimodal_counter_is_always_wrong_about_what_alternates),
		TEST(branches_of_their_own_do_not_meet),
		TEST(gshare_learns_a_pattern),
		TEST(gshare_knows_what_other_branches_did),
		TEST(static_prediction_takes_what_goes_back),
		TEST(a_branch_that_is_not_predicted_changes_nothing_until_it_is_told),
		TEST(a_counter_that_is_right_is_sure),
		TEST(returns_go_where_calls_came_from),
		TEST(a_return_stack_forgets_what_is_too_deep),
		TEST(without_a_stack_each_return_is_wrong),
		TEST(an_indirect_jump_goes_where_it_went_before),
		TEST(with_history_an_indirect_jump_learns_a_sequence),
		TEST(without_a_table_each_indirect_jump_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
