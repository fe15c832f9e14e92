/* Tests of process/stack_table.h. */
#include "process/stack_table.h"

#include <errno.h>

#include "tests/unit/test.h"

static uint32_t
intern(struct stack_table *table, uint32_t caller, uint32_t image, uint64_t offset)
{
	const struct stack_node node = {.offset = offset, .image = image, .caller = caller};
	uint32_t number = 0;

	assert_int_equal(stack_table_intern(table, &node, &number), 0);
	return number;
}

static void
stacks_share_their_outer_frames(void **state)
{
	struct stack_table *table = stack_table_new(100);
	uint32_t start, main_node;

	(void)state;
	start = intern(table, 0, 0, 0x10);
	main_node = intern(table, start, 0, 0x20);
	assert_int_equal(start, 1);
	assert_int_equal(main_node, 2);
	assert_int_equal(intern(table, main_node, 1, 0x30), 3);
	assert_int_equal(intern(table, main_node, 1, 0x38), 4);
	assert_int_equal(intern(table, 0, 0, 0x10), start);
	assert_int_equal(intern(table, start, 0, 0x20), main_node);
	assert_int_equal(intern(table, main_node, 1, 0x30), 3);
	assert_int_equal(intern(table, 3, 1, 0x30), 5); /* a function that calls itself */
	assert_int_equal(stack_table_count(table), 5);
	assert_int_equal(stack_table_nodes(table, 4)->offset, 0x38);
	assert_int_equal(stack_table_nodes(table, 4)->caller, main_node);
	assert_int_equal(stack_table_nodes(table, 1)[4].caller, 3);
	stack_table_free(table);
}

static void
a_caller_must_be_known_and_the_limit_holds(void **state)
{
	struct stack_table *table = stack_table_new(2);
	struct stack_node node = {.offset = 1, .caller = 1};
	uint32_t number;

	(void)state;
	assert_int_equal(stack_table_intern(table, &node, &number), -EINVAL);
	assert_int_equal(intern(table, 0, STACK_NO_IMAGE, STACK_END_DEPTH), 1);
	assert_int_equal(intern(table, 1, 0, 1), 2);
	node.offset = 2;
	assert_int_equal(stack_table_intern(table, &node, &number), -ENOSPC);
	assert_int_equal(intern(table, 1, 0, 1), 2); /* what is there is found */
	stack_table_free(table);
}

static void
a_large_table_finds_all_it_has(void **state)
{
	struct stack_table *table = stack_table_new(100000);

	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 20000; i++)
			assert_int_equal(intern(table, i / 2, i % 7, i / 3), i);
	assert_in_range(stack_table_bytes(table), 20000 * 20, 20000 * 40);
	stack_table_free(table);
}

static void
each_end_has_a_name_and_a_sentence(void **state)
{
	(void)state;
	assert_string_equal(stack_end_name(STACK_END_NO_TABLES), "no-tables");
	assert_string_equal(stack_end_name(STACK_END_COUNT), "other");
	assert_string_equal(stack_end_text(STACK_END_COPY), "the stack is larger than the copy of it");
	assert_string_equal(stack_end_text(STACK_END_COUNT), "for another reason");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_share_their_outer_frames),
		cmocka_unit_test(a_caller_must_be_known_and_the_limit_holds),
		cmocka_unit_test(a_large_table_finds_all_it_has),
		cmocka_unit_test(each_end_has_a_name_and_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
