#include "tests/unit/test.h"

#include "event/pmu.h"
#include "tests/unit/event/fake_tree.h"

static void
a_pmu_that_tells_its_levels_may_be_asked(void **state)
{
	struct fake_tree *tree = *state;

	fake_tree_write(tree, DEVICES "/software/type", "1\n");
	fake_tree_write(tree, DEVICES "/cpu_core/caps/max_precise", "3\n");
	assert_true(pmu_knows_precise(tree->root));
}

/* Zero is told where the levels are another PMU's work: AMD hands precise events on to IBS. */
static void
what_level_it_tells_does_not_matter(void **state)
{
	struct fake_tree *tree = *state;

	fake_tree_write(tree, DEVICES "/cpu/caps/max_precise", "0\n");
	assert_true(pmu_knows_precise(tree->root));
}

/* As linux 6.1 has it on arm64: the PMU takes every precise_ip, and counts as with none. */
static void
a_pmu_that_tells_none_is_not_asked(void **state)
{
	struct fake_tree *tree = *state;

	fake_tree_write(tree, DEVICES "/software/type", "1\n");
	fake_tree_write(tree, DEVICES "/armv8_pmuv3/type", "8\n");
	fake_tree_write(tree, DEVICES "/armv8_pmuv3/caps/slots", "0x00000000\n");
	assert_false(pmu_knows_precise(tree->root));
}

static void
without_sysfs_it_may_be_asked(void **state)
{
	struct fake_tree *tree = *state;

	assert_true(pmu_knows_precise(tree->root));
	fake_tree_write(tree, DEVICES "/cpu/type", "4\n");
	assert_false(pmu_knows_precise(tree->root));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pmu_that_tells_its_levels_may_be_asked, fake_tree_setup,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(what_level_it_tells_does_not_matter, fake_tree_setup,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(a_pmu_that_tells_none_is_not_asked, fake_tree_setup,
	                                        fake_tree_teardown),
		cmocka_unit_test_setup_teardown(without_sysfs_it_may_be_asked, fake_tree_setup, fake_tree_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
