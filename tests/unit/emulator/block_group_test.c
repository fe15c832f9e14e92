/* Tests of emulator/block/block_group.c: accesses that go to one base, and addresses. */
#include "tests/unit/emulator/block_fixture.h"

/* "0:alone 1:leads -8..8 2:of 1 at 16" */
static void
assert_groups(const struct block *block, const char *expected)
{
	char text[512];
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < block->count; i++) {
		const struct block_instruction *instruction = &block->instructions[i];

		if (!instruction->loads && !instruction->stores)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u:", used ? " " : "", i);
		if (instruction->leader == BLOCK_ALONE)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "alone %d..%d",
			                         instruction->group_from, instruction->group_to);
		else if (instruction->leader == i)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "leads %d..%d",
			                         instruction->group_from, instruction->group_to);
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used, "of %u at %d", instruction->leader,
			                         instruction->displacement);
	}
	assert_string_equal(text, expected);
}

static void
pushes_are_one_group(void **state)
{
	/* push %rbp; mov %rsp,%rbp; push %rbx; sub $24,%rsp; mov %rdi,-24(%rbp); call */
	const struct block *block =
		BLOCK_OF(*state, 1, "55", "48 89 e5", "53", "48 83 ec 18", "48 89 7d e8", "e8 00 00 00 00");

	/* at -8, -16, -32 and -48 of the stack pointer at the beginning */
	assert_groups(block, "0:leads -40..8 2:of 0 at -8 4:of 0 at -24 5:of 0 at -40");
	assert_int_equal(block->instructions[0].next_member, 2);
	assert_int_equal(block->instructions[2].next_member, 4);
	assert_int_equal(block->instructions[5].next_member, BLOCK_NOT_USED);
}

static void
pops_and_the_return_are_one_group(void **state)
{
	/* add $8,%rsp; pop %rbx; pop %rbp; ret */
	assert_groups(BLOCK_OF(*state, 1, "48 83 c4 08", "5b", "5d", "c3"), "1:leads 0..24 2:of 1 at 8 3:of 1 at 16");
}

static void
assert_stores(const struct block *block, uint16_t leader, int from, int to)
{
	const struct block_span stores = block_group_stores(block, leader);

	assert_int_equal(stores.from, from);
	assert_int_equal(stores.to, to);
}

static void
what_a_group_writes_is_known(void **state)
{
	const struct block *block;

	/* mov (%rbx),%rax; mov %rcx,8(%rbx); mov %cl,24(%rbx); mov 32(%rbx),%rdx */
	block = BLOCK_OF(*state, 1, "48 8b 03", "48 89 4b 08", "88 4b 18", "48 8b 53 20");
	assert_stores(block, 0, 8, 25);
	/* pop %rbx; pop %rbp */
	block = BLOCK_OF(*state, 2, "5b", "5d");
	assert_true(block_group_stores(block, 0).from >= block_group_stores(block, 0).to);
}

static void
what_loads_and_stores_one_place_updates_it(void **state)
{
	/* add %rax,(%rdi); incb 1(%rsi); lock add %rax,(%rdi); xchg %rax,(%rdi); push (%rdi); movsb; mov (%rdi),%rax */
	const struct block *block =
		BLOCK_OF(*state, 1, "48 01 07", "fe 46 01", "f0 48 01 07", "48 87 07", "ff 37", "a4", "48 8b 07");

	for (unsigned i = 0; i < block->count; i++)
		assert_int_equal(block->instructions[i].updates, i < 2);
}

static void
who_reads_beyond_leads_nobody(void **state)
{
	/* vfmadd231sd 8(%rdi),%xmm0,%xmm1; mov (%rdi),%rax; vfmadd231sd 8(%rdi),%xmm0,%xmm1 */
	const struct block *block = BLOCK_OF(*state, 1, "c4 e2 f9 b9 4f 08", "48 8b 07", "c4 e2 f9 b9 4f 08");

	assert_groups(block, "0:alone 0..8 1:leads 0..16 2:of 1 at 8");
	assert_true(block->instructions[0].reads_beyond);
	assert_false(block->instructions[1].reads_beyond);
	assert_true(block->instructions[2].reads_beyond);
}

/* Of FMA only one element; of shifts by what is in memory only 256 bits; of conversions to wider elements all. */
static void
what_reads_beyond_is_known(void **state)
{
	/* vfmadd231ss; vfmadd231ps; vpsllw of 256 bits, of 128; cvtdq2pd; vcvtdq2pd; cvtps2pd: all of (%rdi) */
	const struct block *block = BLOCK_OF(*state, 1, "c4 e2 79 b9 0f", "c4 e2 79 b8 0f", "c5 fd f1 0f",
	                                     "c5 f9 f1 0f", "f3 0f e6 0f", "c5 fe e6 0f", "0f 5a 0f");

	for (unsigned i = 0; i < block->count; i++)
		assert_int_equal(block->instructions[i].reads_beyond, i == 0 || i == 2 || i == 4 || i == 5);
}

static void
pushes_of_memory_and_of_less_than_a_word_are_alone(void **state)
{
	/* mov (%rdi),%rax; push (%rdi); pushw (%rdi); popw (%rdi) */
	assert_groups(BLOCK_OF(*state, 1, "48 8b 07", "ff 37", "66 ff 37", "66 8f 07"),
	              "0:alone 0..8 1:alone 0..8 2:alone 0..2 3:alone 0..2");
}

/* Of 24 bytes the first callback tells of 16. */
static void
what_a_callback_does_not_tell_of_is_not_written(void **state)
{
	/* movups (%rbx),%xmm0; mov %rcx,16(%rbx) */
	const struct block *block = BLOCK_OF(*state, 1, "0f 10 03", "48 89 4b 10");

	assert_groups(block, "0:leads 0..16 1:of 0 at 16");
	assert_true(block_group_stores(block, 0).from >= block_group_stores(block, 0).to);
	/* movups (%rbx),%xmm0; movups %xmm1,16(%rbx) */
	assert_stores(BLOCK_OF(*state, 2, "0f 10 03", "0f 11 4b 10"), 0, 16, 24);
}

static void
leave_takes_the_frame_for_the_stack(void **state)
{
	/* mov -8(%rbp),%rbx; leave; ret */
	assert_groups(BLOCK_OF(*state, 1, "48 8b 5d f8", "c9", "c3"), "0:leads 0..24 1:of 0 at 8 2:of 0 at 16");
}

static void
what_is_popped_into_a_register_is_another_base(void **state)
{
	/* mov (%rbx),%rax; pop %rbx; mov (%rbx),%rcx */
	assert_groups(BLOCK_OF(*state, 1, "48 8b 03", "5b", "48 8b 0b"), "0:alone 0..8 1:alone 0..8 2:alone 0..8");
}

static void
a_group_is_no_longer_than_a_line(void **state)
{
	/* mov (%rdi),%eax; mov 60(%rdi),%ecx; mov 61(%rdi),%edx; mov 64(%rdi),%esi */
	assert_groups(BLOCK_OF(*state, 1, "8b 07", "8b 4f 3c", "8b 57 3d", "8b 77 40"),
	              "0:leads 0..64 1:of 0 at 60 2:leads 0..7 3:of 2 at 3");
}

static void
an_index_is_part_of_the_base(void **state)
{
	/* mov (%rdi,%rcx,8),%rax; mov 8(%rdi,%rcx,8),%rdx; add $1,%rcx; mov %rax,(%rdi,%rcx,8); mov (%rdi,%rcx,4),%eax
	 */
	assert_groups(BLOCK_OF(*state, 1, "48 8b 04 cf", "48 8b 54 cf 08", "48 83 c1 01", "48 89 04 cf", "8b 04 8f"),
	              "0:leads 0..16 1:of 0 at 8 3:of 0 at 8 4:alone 0..4");
}

static void
a_shorter_addition_makes_another_base(void **state)
{
	/* mov (%rdi),%al; add $1,%edi; mov (%rdi),%cl */
	assert_groups(BLOCK_OF(*state, 1, "8a 07", "83 c7 01", "8a 0f"), "0:alone 0..1 2:alone 0..1");
}

static void
a_segment_is_part_of_the_base(void **state)
{
	/* mov %fs:0x28,%rax; mov 0x28,%rcx; mov %fs:0x30,%rdx */
	assert_groups(BLOCK_OF(*state, 1, "64 48 8b 04 25 28 00 00 00", "48 8b 0c 25 28 00 00 00",
	                       "64 48 8b 14 25 30 00 00 00"),
	              "0:leads 0..16 1:alone 0..8 2:of 0 at 8");
}

static void
addresses_relative_to_the_code_are_known(void **state)
{
	/* mov 0x100(%rip),%rax; mov 0x101(%rip),%rcx: 7 + 1 bytes apart */
	assert_groups(BLOCK_OF(*state, 1, "48 8b 05 00 01 00 00", "48 8b 0d 01 01 00 00"), "0:leads 0..16 1:of 0 at 8");
}

static void
wide_accesses_call_back_in_steps(void **state)
{
	/* movups (%rsi),%xmm0; movups 16(%rsi),%xmm1; vmovups 32(%rsi),%ymm2 */
	const struct block *block = BLOCK_OF(*state, 1, "0f 10 06", "0f 10 4e 10", "c5 fc 10 56 20");

	/* callbacks at 0 and 8: 0 to 56, 8 to 64 */
	assert_groups(block, "0:leads 0..56 1:of 0 at 16 2:of 0 at 32");
	assert_groups(BLOCK_OF(*state, 2, "0f 10 06"), "0:alone 0..8");
}

static void
locked_and_masked_accesses_are_alone(void **state)
{
	/* mov (%rdi),%eax; lock incl 4(%rdi); mov 8(%rdi),%ecx */
	assert_groups(BLOCK_OF(*state, 1, "8b 07", "f0 ff 47 04", "8b 4f 08"),
	              "0:alone 0..4 1:alone 0..4 2:alone 0..4");
	/* vmaskmovps (%rdi),%ymm0,%ymm1; vmovups (%rdi),%ymm2 */
	assert_groups(BLOCK_OF(*state, 2, "c4 e2 7d 2c 0f", "c5 fc 10 17"), "0:alone 0..8 1:alone 0..8");
}

static void
an_instruction_with_two_places_is_alone(void **state)
{
	/* push (%rsp); call *8(%rsp) */
	assert_groups(BLOCK_OF(*state, 1, "ff 34 24", "ff 54 24 08"), "0:alone 0..8 1:alone 0..8");
}

static void
a_bit_of_a_string_is_somewhere_else(void **state)
{
	/* mov (%rdi),%eax; bt %rcx,(%rdi); bt $3,(%rdi) */
	assert_groups(BLOCK_OF(*state, 1, "8b 07", "48 0f a3 0f", "0f ba 27 03"),
	              "0:leads 0..4 1:alone 0..8 2:of 0 at 0");
}

static void
arm_pairs_move_their_base(void **state)
{
	struct blocks *blocks = blocks_for("arm-cortex-a53", EM_AARCH64);

	(void)state;
	/* stp x29,x30,[sp,#-48]!; mov x29,sp; str x19,[sp,#16]; ldr w0,[x29,#40]; ldp x29,x30,[sp],#48 */
	assert_groups(BLOCK_OF(blocks, 1, "fd 7b bd a9", "fd 03 00 91", "f3 0b 00 f9", "a0 2b 40 b9", "fd 7b c3 a8"),
	              "0:leads 0..36 2:of 0 at 16 3:of 0 at 40 4:of 0 at 0");
	/* ldr x0,[x1,x2,lsl #3]; add x1,x1,#8; ldr x3,[x1,x2,lsl #3]; ldr x4,[x1,w2,uxtw #3] */
	assert_groups(BLOCK_OF(blocks, 2, "20 78 62 f8", "21 20 00 91", "23 78 62 f8", "24 58 62 f8"),
	              "0:leads 0..16 2:of 0 at 8 3:alone 0..8");
	/* ldr q0,[x0],#16; ldur q1,[x0,#-16]; str q0,[x0] */
	assert_groups(BLOCK_OF(blocks, 3, "00 04 c1 3c", "01 00 df 3c", "00 00 80 3d"),
	              "0:leads 0..24 1:of 0 at 0 2:of 0 at 16");
	/* stp w1,w2,[x0]; str w3,[x0,#8]: 4 bytes a callback */
	assert_groups(BLOCK_OF(blocks, 4, "01 08 00 29", "03 08 00 b9"), "0:leads 0..8 1:of 0 at 8");
	blocks_free(blocks);
}

static void
a_frame_of_riscv_is_one_group(void **state)
{
	const char *trouble = architecture_trouble(ARCHITECTURE_RISCV64);
	struct blocks *blocks;

	(void)state;
	if (trouble)
		skip_because(trouble);
	blocks = blocks_for("in-order-2", EM_RISCV);
	/* addi sp,sp,-16; sd ra,8(sp); sd s0,0(sp); mv s0,a0; lw a0,0(s0); ld ra,8(sp); ret */
	assert_groups(BLOCK_OF(blocks, 1, "41 11", "06 e4", "22 e0", "2a 84", "08 40", "a2 60", "82 80"),
	              "1:leads -8..8 2:of 1 at -8 4:alone 0..4 5:of 1 at 0");
	/* auipc a5,0x1; ld a4,8(a5); auipc a5,0x1; ld a3,8(a5): 6 bytes of code lie between them */
	assert_groups(BLOCK_OF(blocks, 2, "97 17 00 00", "98 67", "97 17 00 00", "94 67"), "1:leads 0..14 3:of 1 at 6");
	blocks_free(blocks);
}

static void
groups_are_no_longer_than_short_lines(void **state)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	char directory[4096], note[512];
	struct blocks *blocks;

	(void)state;
	assert_non_null(pipeline);
	pipeline_directory(directory, sizeof(directory));
	assert_int_equal(pipeline_choose(directory, "in-order-2", "", pipeline, note, sizeof(note)), 0);
	pipeline->cache_line = 16;
	blocks = blocks_new(pipeline, EM_X86_64, BLOCK_CALLBACKS_8);
	free(pipeline);
	assert_non_null(blocks);
	/* pop %rax; pop %rcx; pop %rdx */
	assert_groups(BLOCK_OF(blocks, 1, "58", "59", "5a"), "0:leads 0..16 1:of 0 at 8 2:alone 0..8");
	blocks_free(blocks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, blocks_setup, blocks_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pushes_are_one_group),
		TEST(pops_and_the_return_are_one_group),
		TEST(what_a_group_writes_is_known),
		TEST(what_loads_and_stores_one_place_updates_it),
		TEST(who_reads_beyond_leads_nobody),
		TEST(what_reads_beyond_is_known),
		TEST(pushes_of_memory_and_of_less_than_a_word_are_alone),
		TEST(what_a_callback_does_not_tell_of_is_not_written),
		TEST(leave_takes_the_frame_for_the_stack),
		TEST(what_is_popped_into_a_register_is_another_base),
		TEST(a_group_is_no_longer_than_a_line),
		TEST(an_index_is_part_of_the_base),
		TEST(a_shorter_addition_makes_another_base),
		TEST(a_segment_is_part_of_the_base),
		TEST(addresses_relative_to_the_code_are_known),
		TEST(wide_accesses_call_back_in_steps),
		TEST(locked_and_masked_accesses_are_alone),
		TEST(an_instruction_with_two_places_is_alone),
		TEST(a_bit_of_a_string_is_somewhere_else),
		TEST(arm_pairs_move_their_base),
		TEST(a_frame_of_riscv_is_one_group),
		TEST(groups_are_no_longer_than_short_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
