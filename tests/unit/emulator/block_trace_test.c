/* Tests of emulator/block/block_trace.c: what a block's instructions make of registers. */
#include "tests/unit/emulator/block_fixture.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

static void
a_load_is_used_by_who_reads_its_register_first(void **state)
{
	/* mov (%rdi),%rax; add %rcx,%rdx; add %rax,%rdx; ret */
	const struct block *block = BLOCK_OF(*state, 1, "48 8b 07", "48 01 ca", "48 01 c2", "c3");

	assert_int_equal(block->instructions[0].load_registers[0], RAX);
	assert_int_equal(block->instructions[0].use, 2);
	assert_int_equal(block->end, BLOCK_RETURNS);
}

static void
a_load_is_used_first_unless_memory_is_accessed_before(void **state)
{
	/* mov (%rdi),%rax; add %rcx,%rdx; add %rax,(%rdx) */
	const struct block *at_once = BLOCK_OF(*state, 1, "48 8b 07", "48 01 ca", "48 01 02");
	/* mov (%rdi),%rax; push %rdx; add %rax,%rcx */
	const struct block *between = BLOCK_OF(*state, 2, "48 8b 07", "52", "48 01 c1");
	/* mov (%rdi),%rax; ret */
	const struct block *later = BLOCK_OF(*state, 3, "48 8b 07", "c3");

	assert_true(at_once->instructions[0].is_used_first);
	assert_int_equal(between->instructions[0].use, 2);
	assert_false(between->instructions[0].is_used_first);
	assert_false(later->instructions[0].is_used_first);
}

static void
in_order_who_overwrites_a_load_waits_for_it(void **state)
{
	/* mov (%rdi),%rax; xor %eax,%eax */
	assert_int_equal(BLOCK_OF(*state, 1, "48 8b 07", "31 c0")->instructions[0].use, 1);
}

static void
a_comparison_with_memory_is_used_by_its_branch(void **state)
{
	/* cmpl $0,(%rdi); je +2 */
	const struct block *block = BLOCK_OF(*state, 1, "83 3f 00", "74 02");

	assert_int_equal(block->instructions[0].load_registers[0], REGISTER_FLAGS);
	assert_int_equal(block->instructions[0].use, 1);
	assert_int_equal(block->end, BLOCK_BRANCHES);
	assert_int_equal(block->target, FIXTURE_ADDRESS + 7);
	assert_int_equal(block->fall, FIXTURE_ADDRESS + 5);
}

static void
the_stack_pointer_does_not_wait_for_what_is_popped(void **state)
{
	/* pop %rax; push %rbx; ret */
	const struct block *block = BLOCK_OF(*state, 1, "58", "53", "c3");

	assert_int_equal(block->instructions[0].load_registers[0], RAX);
	assert_int_equal(block->instructions[0].load_registers[1], REGISTER_NONE);
	assert_int_equal(block->instructions[0].use, BLOCK_NOT_USED);
	assert_int_equal(block->instructions[2].load_registers[0], REGISTER_NONE);
}

static void
a_stack_pointer_that_moves_on_is_made_of_itself(void **state)
{
	struct blocks *blocks = blocks_for("amd-zen3", EM_X86_64);
	/* pop %rax; push %rbx */
	const struct block *block = BLOCK_OF(blocks, 1, "58", "53");

	(void)state;
	assert_int_equal(block->dependences[0].load, 0);
	assert_int_equal(block->dependences[1].load, BLOCK_NOT_USED);
	assert_int_equal(block->dependences[1].address_loads, 0);
	assert_int_equal(block->dependences[1].address_live, 1 << RSP);
	blocks_free(blocks);
}

static void
an_address_knows_the_loads_behind_it(void **state)
{
	struct blocks *blocks = blocks_for("amd-zen3", EM_X86_64);
	/* mov (%rdi),%rax; lea 8(%rax,%rcx),%rdx; mov (%rdx),%rbx; mov (%rsi),%rsi */
	const struct block *block = BLOCK_OF(blocks, 1, "48 8b 07", "48 8d 54 08 08", "48 8b 1a", "48 8b 36");

	(void)state;
	assert_int_equal(block->dependences[0].address_loads, 0);
	assert_int_equal(block->dependences[0].address_live, 1 << RDI);
	assert_int_equal(block->dependences[2].address_loads, 1);
	assert_int_equal(block->dependences[2].address_live, 1 << RCX | 1 << RDI);
	assert_int_equal(block->dependences[3].address_live, 1 << RSI);
	blocks_free(blocks);
}

static void
a_load_reaches_the_registers_that_are_made_of_it(void **state)
{
	struct blocks *blocks = blocks_for("amd-zen3", EM_X86_64);
	/* mov (%rdi),%rax; lea 8(%rax,%rcx),%rdx; mov (%rdx),%rbx; xor %eax,%eax; mov (%rsi),%rsi */
	const struct block *block = BLOCK_OF(blocks, 1, "48 8b 07", "48 8d 54 08 08", "48 8b 1a", "31 c0", "48 8b 36");

	(void)state;
	assert_int_equal(block->dependences[0].reaches, 1 << RDX | 1 << RBX);
	assert_int_equal(block->dependences[1].reaches, 0);
	assert_int_equal(block->dependences[2].reaches, 1 << RBX);
	assert_int_equal(block->dependences[4].reaches, 1 << RSI);
	blocks_free(blocks);
}

static void
a_register_reaches_those_that_are_made_of_what_it_was(void **state)
{
	struct blocks *blocks = blocks_for("amd-zen3", EM_X86_64);
	/* mov (%rdi),%rax; lea 8(%rax,%rcx),%rdx; add $8,%rdi; mov (%rsi),%rsi; push %rax */
	const struct block *block = BLOCK_OF(blocks, 1, "48 8b 07", "48 8d 54 08 08", "48 83 c7 08", "48 8b 36", "50");

	(void)state;
	assert_int_equal(block->reaches[RDI], 1 << RAX | 1 << RDX | 1 << RDI);
	assert_int_equal(block->reaches[RCX], 1 << RDX);
	assert_int_equal(block->reaches[RSI], 1 << RSI);
	assert_int_equal(block->reaches[RSP], 1 << RSP); /* an address that moves on */
	assert_int_equal(block->reaches[RAX] | block->reaches[RDX], 0);
	assert_int_equal(~block->keeps, 1 << RAX | 1 << RDX | 1 << RDI | 1 << RSI | 1 << RSP);
	blocks_free(blocks);
}

static void
what_a_block_reads_first_is_live_in(void **state)
{
	/* mov %rdi,%rax; add %rax,%rcx; movaps %xmm1,%xmm2; je */
	const struct block *block = BLOCK_OF(*state, 1, "48 89 f8", "48 01 c1", "0f 28 d1", "74 00");

	assert_int_equal(block->live_in, 1 << RDI | 1 << RCX | UINT64_C(1) << (REGISTER_VECTOR + 1));
	assert_int_equal(block->writes, 1 << RAX | 1 << RCX | UINT64_C(1) << (REGISTER_VECTOR + 2));
	assert_int_equal(block->other_live_in, 0); /* the addition makes the flags */
	assert_int_equal(block->other_writes, 1 << (REGISTER_FLAGS - 64));
	assert_int_equal(block_first_reader(block, RDI), 0);
	assert_int_equal(block_first_reader(block, RCX), 1);
	assert_int_equal(block_first_reader(block, RSI), BLOCK_NOT_USED);
	assert_int_equal(block_first_reader(block, REGISTER_FLAGS), 1); /* in order, it writes them */
}

static void
system_calls_and_locks_hold_up_what_follows(void **state)
{
	/* lock add %eax,(%rdi); mfence; mov %eax,(%rdi); syscall */
	const struct block *block = BLOCK_OF(*state, 1, "f0 01 07", "0f ae f0", "89 07", "0f 05");

	assert_true(block->instructions[0].is_atomic);
	assert_true(block->instructions[0].is_blocking);
	assert_true(block->instructions[1].is_blocking);
	assert_false(block->instructions[2].is_blocking);
	assert_true(block->instructions[3].is_blocking);
	assert_int_equal(block->end, BLOCK_FALLS);
}

static void
a_pair_of_registers_is_loaded_at_once(void **state)
{
	struct blocks *blocks = blocks_for("arm-cortex-a53", EM_AARCH64);
	/* ldp x0,x1,[sp],#16; add x2,x2,x1 */
	const struct block *block = BLOCK_OF(blocks, 1, "e0 07 c1 a8", "42 00 01 8b");

	(void)state;
	assert_int_equal(block->instructions[0].load_registers[0], 0);
	assert_int_equal(block->instructions[0].load_registers[1], 1);
	assert_int_equal(block->instructions[0].use, 1);
	assert_int_equal(block->instructions[0].access_size, 16);
	blocks_free(blocks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, blocks_setup, blocks_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_load_is_used_by_who_reads_its_register_first),
		TEST(a_load_is_used_first_unless_memory_is_accessed_before),
		TEST(in_order_who_overwrites_a_load_waits_for_it),
		TEST(a_comparison_with_memory_is_used_by_its_branch),
		TEST(the_stack_pointer_does_not_wait_for_what_is_popped),
		TEST(a_stack_pointer_that_moves_on_is_made_of_itself),
		TEST(an_address_knows_the_loads_behind_it),
		TEST(a_load_reaches_the_registers_that_are_made_of_it),
		TEST(a_register_reaches_those_that_are_made_of_what_it_was),
		TEST(what_a_block_reads_first_is_live_in),
		TEST(system_calls_and_locks_hold_up_what_follows),
		TEST(a_pair_of_registers_is_loaded_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
