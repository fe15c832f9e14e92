/* Tests of emulator/block/block.h: blocks and their variants. */
#include <errno.h>

#include "tests/unit/emulator/block_fixture.h"

static int
out_of_order(void **state)
{
	*state = blocks_for("intel-skylake", EM_X86_64);
	return 0;
}

static void
assert_issues(const struct variant *variant, const char *expected)
{
	char text[256];
	size_t used = 0;

	for (unsigned i = 0; i <= variant->block->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? " " : "",
		                         variant->issue_cycles[i]);
	assert_string_equal(text, expected);
	assert_int_equal(variant->issue_cycles[variant->block->count], variant->cycles);
}

static void
no_decoder_is_told(void **state)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));

	(void)state;
	assert_null(blocks_new(pipeline, EM_SPARC, BLOCK_CALLBACKS_8));
	assert_int_equal(errno, ENOTSUP);
	free(pipeline);
}

static void
no_block_is_none(void **state)
{
	static const uint8_t bytes[2 * BLOCK_INSTRUCTIONS_MAX] = {0};
	uint8_t sizes[BLOCK_INSTRUCTIONS_MAX + 1];

	memset(sizes, 1, sizeof(sizes));
	assert_null(blocks_add(*state, FIXTURE_ADDRESS, bytes, sizes, 0, 1, 1));
	assert_null(blocks_add(*state, FIXTURE_ADDRESS, bytes, sizes, BLOCK_INSTRUCTIONS_MAX + 1, 1, 1));
}

static void
the_longest_block_has_all_its_instructions(void **state)
{
	struct block_bytes *code = calloc(1, sizeof(*code));
	const struct block *block;

	/* add %rax,%rax: one a cycle */
	for (unsigned i = 0; i < BLOCK_INSTRUCTIONS_MAX; i++)
		block_bytes_add(code, "48 01 c0");
	block = blocks_add(*state, FIXTURE_ADDRESS, code->bytes, code->sizes, code->count, 1, 1);
	assert_non_null(block);
	assert_int_equal(block->count, BLOCK_INSTRUCTIONS_MAX);
	assert_int_equal(block->instructions[511].offset, 511 * 3);
	assert_int_equal(blocks_first_variant(*state, block)->cycles, BLOCK_INSTRUCTIONS_MAX);
	free(code);
}

static void
the_same_block_is_added_once(void **state)
{
	const struct block *block = BLOCK_OF(*state, 7, "48 8b 07", "c3");

	assert_ptr_equal(BLOCK_OF(*state, 7, "48 8b 07", "c3"), block);
	assert_int_equal(block->number, 7);
	assert_ptr_not_equal(BLOCK_OF(*state, 8, "48 8b 07", "c3"), block);
}

static void
other_bytes_at_the_same_address_are_another_block(void **state)
{
	const struct block *before = BLOCK_OF(*state, 7, "48 8b 07", "c3");
	const struct block *after = BLOCK_OF(*state, 7, "48 8b 06", "c3");

	assert_ptr_not_equal(after, before);
	assert_int_equal(before->instructions[0].reads[0], 7); /* rdi, as before */
	assert_int_equal(after->instructions[0].reads[0], 6);
}

static void
in_order_a_block_takes_what_its_schedule_says(void **state)
{
	/* mov (%rdi),%rax; mov %rsi,%rdx; add %rax,%rcx; ret: the load takes 3 cycles, two issue in one */
	const struct block *block = BLOCK_OF(*state, 1, "48 8b 07", "48 89 f2", "48 01 c1", "c3");

	assert_issues(blocks_first_variant(*state, block), "0 0 3 3 4");
	assert_int_equal(blocks_first_variant(*state, block)->fraction, 0);
}

static void
accesses_end_behind_the_last_that_may_access_memory(void **state)
{
	/* mov (%rdi),%rax; add %rax,%rcx */
	const struct block *used = BLOCK_OF(*state, 1, "48 8b 07", "48 01 c1");

	assert_int_equal(used->access_end, 1);
}

static void
a_result_that_is_not_ready_carries_over(void **state)
{
	/* mov (%rdi),%rax; jmp: issue together, rax is ready 2 cycles later */
	const struct block *first = BLOCK_OF(*state, 1, "48 8b 07", "eb 00");
	/* mov %rsi,%rdx; add %rax,%rcx; je */
	const struct block *second = BLOCK_OF(*state, 2, "48 89 f2", "48 01 c1", "74 00");
	const struct variant *before = blocks_first_variant(*state, first);
	const struct variant *after = blocks_find_variant(*state, before, second);

	assert_issues(blocks_first_variant(*state, second), "0 0 1 2");
	assert_issues(after, "0 2 3 4");
	assert_ptr_equal(after->block, second);
	assert_ptr_equal(blocks_find_variant(*state, before, second), after);
}

static void
a_return_does_not_hold_up_the_stack_pointer(void **state)
{
	/* ret; and behind the call pop %rbx */
	const struct block *first = BLOCK_OF(*state, 1, "c3"), *second = BLOCK_OF(*state, 2, "5b");
	const struct variant *before = blocks_first_variant(*state, first);

	assert_issues(blocks_find_variant(*state, before, second), "0 1");
}

static void
states_that_make_no_difference_share_a_variant(void **state)
{
	/* mov (%rdi),%rax; jmp and mov (%rdi),%rcx; jmp */
	const struct block *one = BLOCK_OF(*state, 1, "48 8b 07", "eb 00");
	const struct block *other = BLOCK_OF(*state, 2, "48 8b 0f", "eb 00");
	/* four times add %rdx,%rsi: nobody waits, and after them all is ready */
	const struct block *then = BLOCK_OF(*state, 3, "48 01 d6", "48 01 d6", "48 01 d6", "48 01 d6");
	const struct variant *first = blocks_first_variant(*state, then);

	assert_ptr_equal(blocks_find_variant(*state, blocks_first_variant(*state, one), then), first);
	assert_ptr_equal(blocks_find_variant(*state, blocks_first_variant(*state, other), then), first);
}

/* A division that ends so many cycles after its block: as many states as blocks. */
static void
with_too_many_states_the_nearest_variant_is_taken(void **state)
{
	/* add %rax,%rcx */
	const struct block *then = BLOCK_OF(*state, 1, "48 01 c1");
	const struct variant *seen[2 * BLOCK_VARIANTS_MAX];
	unsigned different = 0;

	for (unsigned i = 0; i < 2 * BLOCK_VARIANTS_MAX; i++) {
		struct block_bytes *code = calloc(1, sizeof(*code));
		const struct block *before;
		bool is_new = true;

		/* div %ecx, and i times lea (%rsi,%rsi),%rsi, the first beside it: 20 cycles less i to go */
		block_bytes_add(code, "f7 f1");
		for (unsigned k = 0; k < i; k++)
			block_bytes_add(code, "48 8d 34 36");
		before = blocks_add(*state, FIXTURE_ADDRESS, code->bytes, code->sizes, code->count, 100 + i, 1);
		seen[i] = blocks_find_variant(*state, blocks_first_variant(*state, before), then);
		for (unsigned k = 0; k < i; k++)
			is_new = is_new && seen[k] != seen[i];
		different += is_new;
		free(code);
	}
	assert_int_equal(different, BLOCK_VARIANTS_MAX);
	assert_issues(seen[1], "19 20");
	assert_issues(seen[15], "5 6");
	assert_ptr_equal(seen[17], seen[15]); /* 3 to go: 5 is nearer than 0 */
	assert_ptr_equal(seen[18], blocks_first_variant(*state, then));
}

static void
out_of_order_fractions_of_cycles_are_kept(void **state)
{
	/* five additions: 5 operations on 4 slots, and as much on 4 units */
	const struct block *block = BLOCK_OF(*state, 1, "48 01 c1", "48 01 c2", "48 01 c3", "48 01 c6", "48 01 c7");
	const struct variant *variant = blocks_first_variant(*state, block);

	assert_issues(variant, "0 0 0 1 1 1");
	assert_int_equal(variant->cycles, 1);
	assert_int_equal(variant->fraction, 0x40000000);
}

static void
out_of_order_a_loop_waits_for_its_chain(void **state)
{
	/* mov (%rax),%rax; jmp to itself: 5 cycles an iteration, of Skylake's load */
	const struct block *block = BLOCK_OF(*state, 1, "48 8b 00", "eb fb");
	const struct variant *first = blocks_first_variant(*state, block);
	const struct variant *again = blocks_find_variant(*state, first, block);

	assert_int_equal(block->target, block->address);
	assert_int_equal(again->cycles, 5);
	assert_ptr_equal(blocks_find_variant(*state, again, block), again);
	assert_true(first->cycles < 5);
	assert_ptr_equal(blocks_find_variant(*state, blocks_first_variant(*state, BLOCK_OF(*state, 2, "90")), block),
	                 first);
}

static void
a_repeated_string_goes_on_quickly(void **state)
{
	struct block_bytes code = {.size = 0};
	const struct block *block, *rest;
	const struct variant *first;

	/* mov %rdx,%rcx; rep movsb; then the same instruction alone, as the emulator enters it */
	block_bytes_add(&code, "48 89 d1");
	block_bytes_add(&code, "f3 a4");
	block = blocks_add(*state, FIXTURE_ADDRESS, code.bytes, code.sizes, 2, 1, 1);
	rest = blocks_add(*state, FIXTURE_ADDRESS + 3, code.bytes + 3, code.sizes + 1, 1, 2, 3);
	assert_true(block->repeats && rest->repeats);
	first = blocks_find_variant(*state, blocks_first_variant(*state, block), rest);
	assert_int_equal(first->cycles, 0);
	assert_int_equal(first->fraction, UINT32_C(1) << 27); /* 1 byte of 32 a cycle */
	assert_ptr_equal(blocks_find_variant(*state, first, rest), first);
	assert_ptr_not_equal(blocks_first_variant(*state, rest), first);
}

#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, blocks_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_decoder_is_told),
		TEST(no_block_is_none, blocks_setup),
		TEST(the_longest_block_has_all_its_instructions, blocks_setup),
		TEST(the_same_block_is_added_once, blocks_setup),
		TEST(other_bytes_at_the_same_address_are_another_block, blocks_setup),
		TEST(in_order_a_block_takes_what_its_schedule_says, blocks_setup),
		TEST(accesses_end_behind_the_last_that_may_access_memory, blocks_setup),
		TEST(a_result_that_is_not_ready_carries_over, blocks_setup),
		TEST(a_return_does_not_hold_up_the_stack_pointer, blocks_setup),
		TEST(states_that_make_no_difference_share_a_variant, blocks_setup),
		TEST(with_too_many_states_the_nearest_variant_is_taken, blocks_setup),
		TEST(out_of_order_fractions_of_cycles_are_kept, out_of_order),
		TEST(out_of_order_a_loop_waits_for_its_chain, out_of_order),
		TEST(a_repeated_string_goes_on_quickly, out_of_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
