/* Tests of collectord/held_stacks.h. */
#include "tests/unit/test.h"

#include <string.h>

#include "collectord/held_stacks.h"
#include "process/address_space.h"

struct sampled {
	uint64_t chain[3], registers[2];
	uint8_t stack[60000];
	struct record record;
};

static void
sample(struct sampled *sampled)
{
	*sampled = (struct sampled){.chain = {1, 2, 3}, .registers = {4, 5}};
	memset(sampled->stack, 6, sizeof(sampled->stack));
	sampled->record = (struct record){.pid = 42,
	                                  .sample = {
						  .call_chain = (const uint8_t *)sampled->chain,
						  .call_chain_count = 3,
						  .registers = (const uint8_t *)sampled->registers,
						  .register_count = 2,
						  .stack = sampled->stack,
						  .stack_size = sizeof(sampled->stack),
					  }};
}

/* The ring goes on, and so does the process. */
static void
what_a_sample_points_to_is_kept(void **state)
{
	const struct attribution_moment moment = {.context = 9};
	struct held_stacks held = {0};
	struct held_stack *stack;
	struct sampled sampled;

	(void)state;
	sample(&sampled);
	stack = held_stacks_add(&held, &sampled.record, &moment, 1000);
	assert_non_null(stack);
	memset(sampled.chain, 0, sizeof(sampled.chain));
	memset(sampled.registers, 0, sizeof(sampled.registers));
	memset(sampled.stack, 0, sizeof(sampled.stack));
	assert_ptr_equal(held.stacks[0], stack);
	assert_int_equal(stack->record.pid, 42);
	assert_memory_equal(stack->record.sample.call_chain, ((uint64_t[]){1, 2, 3}), 24);
	assert_memory_equal(stack->record.sample.registers, ((uint64_t[]){4, 5}), 16);
	assert_int_equal(stack->record.sample.stack[0], 6);
	assert_int_equal(stack->record.sample.stack[sizeof(sampled.stack) - 1], 6);
	assert_int_equal(stack->moment.context, 9);
	assert_int_equal(stack->until_ns, 1000 + HELD_STACKS_NS);
	held_stacks_release(&held);
	assert_int_equal(stack->until_ns, 0);
	held_stacks_fini(&held);
}

static void
they_have_a_limit_and_leave_in_any_order(void **state)
{
	const struct attribution_moment moment = {0};
	struct held_stacks held = {0};
	struct sampled sampled;
	uint64_t count = 0;

	(void)state;
	sample(&sampled);
	for (struct held_stack *added; (added = held_stacks_add(&held, &sampled.record, &moment, 0));)
		added->weight = count++;
	assert_in_range(count, HELD_STACKS_BYTES_MAX / (sizeof(sampled.stack) + 500), HELD_STACKS_BYTES_MAX / 60000);
	assert_int_equal(held.count, count);
	for (size_t i = 0; i < count; i += 2) {
		held_stack_free(&held, held.stacks[i]);
		held.stacks[i] = NULL;
	}
	held_stacks_pack(&held);
	assert_int_equal(held.count, count / 2);
	for (size_t i = 0; i < held.count; i++)
		assert_int_equal(held.stacks[i]->weight, 2 * i + 1);
	assert_non_null(held_stacks_add(&held, &sampled.record, &moment, 0));
	held_stacks_fini(&held);
	assert_int_equal(held.bytes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_sample_points_to_is_kept),
		cmocka_unit_test(they_have_a_limit_and_leave_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
