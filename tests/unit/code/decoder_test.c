#include <elf.h>
#include <errno.h>
#include <pthread.h>

#include "base/error.h"
#include "code/decoder_internal.h"
#include "tests/unit/code/describe.h"

static struct decoder *
x86(void)
{
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);

	assert_non_null(decoder);
	return decoder;
}

static void
elf_machines_are_architectures(void **state)
{
	enum architecture architecture;

	(void)state;
	assert_int_equal(architecture_of_machine(EM_X86_64, &architecture), 0);
	assert_int_equal(architecture, ARCHITECTURE_X86_64);
	assert_int_equal(architecture_of_machine(EM_AARCH64, &architecture), 0);
	assert_int_equal(architecture, ARCHITECTURE_AARCH64);
	assert_int_equal(architecture_of_machine(EM_RISCV, &architecture), 0);
	assert_int_equal(architecture, ARCHITECTURE_RISCV64);
	assert_int_equal(architecture_of_machine(EM_SPARC, &architecture), -ENOTSUP);
}

static void
an_architecture_that_is_none_is_refused(void **state)
{
	(void)state;
	assert_null(decoder_new(ARCHITECTURE_COUNT));
	assert_int_equal(errno, EINVAL);
	decoder_free(NULL);
}

static void
a_range_becomes_instructions_one_after_the_other(void **state)
{
	/* push %rbx; mov %rdi,%rbx; jne +2; ret */
	static const uint8_t code[] = {0x53, 0x48, 0x89, 0xfb, 0x75, 0x02, 0xc3};
	struct decoder *decoder = x86();
	struct instruction_list list = {0};

	(void)state;
	assert_int_equal(decoder_decode(decoder, code, sizeof(code), 0x400000, &list), 0);
	assert_int_equal(list.count, 4);
	assert_int_equal(list.instructions[1].address, 0x400001);
	assert_int_equal(list.instructions[1].size, 3);
	assert_int_equal(list.instructions[2].target, 0x400008);
	assert_int_equal(list.instructions[3].flow, FLOW_RETURN);
	decoder_free(decoder);
	instruction_list_free(&list);
	assert_null(list.instructions);
}

static void
a_list_is_appended_to(void **state)
{
	static const uint8_t code[] = {0x90, 0xc3};
	struct decoder *decoder = x86();
	struct instruction_list list = {0};

	(void)state;
	assert_int_equal(decoder_decode(decoder, code, 2, 0x1000, &list), 0);
	assert_int_equal(decoder_decode(decoder, code, 2, 0x2000, &list), 0);
	assert_int_equal(list.count, 4);
	assert_int_equal(list.instructions[2].address, 0x2000);
	decoder_free(decoder);
	instruction_list_free(&list);
}

/* 06 was push %es once; 64-bit mode has no such instruction. */
static void
a_byte_that_is_no_instruction_is_unknown_and_decoding_goes_on(void **state)
{
	static const uint8_t code[] = {0x06, 0x90};
	struct decoder *decoder = x86();
	struct instruction_list list = {0};

	(void)state;
	assert_int_equal(decoder_decode(decoder, code, sizeof(code), 0, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.instructions[0].class, CLASS_UNKNOWN);
	assert_int_equal(list.instructions[0].size, 1);
	assert_int_equal(list.instructions[0].read_count + list.instructions[0].write_count, 0);
	assert_int_equal(list.instructions[1].class, CLASS_NOP);
	decoder_free(decoder);
	instruction_list_free(&list);
}

static void
an_instruction_that_is_cut_off_is_unknown(void **state)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x84};
	static const uint8_t arm[] = {0x1f, 0x20};
	struct decoder *decoder = x86();
	struct instruction instruction;

	(void)state;
	assert_int_equal(decoder_decode_one(decoder, code, 3, 0, &instruction), 1);
	assert_int_equal(instruction.class, CLASS_UNKNOWN);
	assert_int_equal(decoder_decode_one(decoder, code, 0, 0, &instruction), 0);
	decoder_free(decoder);
	decoder = decoder_new(ARCHITECTURE_AARCH64);
	assert_non_null(decoder);
	assert_int_equal(decoder_decode_one(decoder, arm, 2, 0, &instruction), 2);
	assert_int_equal(instruction.class, CLASS_UNKNOWN);
	decoder_free(decoder);
}

/* An encoding of AVX10.2, which neither Zydis 4.0 nor 4.1 knows: vaddbf16 %zmm1,%zmm2,%zmm0 */
static void
an_instruction_that_is_too_new_keeps_its_length_and_its_registers(void **state)
{
	static const uint8_t code[] = {0x62, 0xf5, 0x6d, 0x48, 0x58, 0xc1, 0xc3};
	struct decoder *decoder = x86();
	struct instruction instruction;
	char text[512];

	(void)state;
	assert_int_equal(decoder_decode_one(decoder, code, sizeof(code), 0, &instruction), 6);
	describe(ARCHITECTURE_X86_64, &instruction, text);
	assert_string_equal(text, "unknown: v0 v2 v1 -> v0, wide");
	decoder_text(decoder, code, sizeof(code), 0, LISTING_ATT, text, sizeof(text));
	assert_string_equal(text, ".byte  0x62,0xf5,0x6d,0x48,0x58,0xc1");
	decoder_free(decoder);
}

/* The second of two instructions that differ in their displacement is not decoded again: its target is its own. */
static void
what_was_met_before_has_its_own_address_and_target(void **state)
{
	static const uint8_t code[] = {0xe8, 0x00, 0x01, 0x00, 0x00, 0xe8, 0xf6,
	                               0xff, 0xff, 0xff, 0x74, 0x10, 0x74, 0xf0};
	struct decoder *decoder = x86();
	struct instruction_list list = {0};

	(void)state;
	assert_int_equal(decoder_decode(decoder, code, sizeof(code), 0x1000, &list), 0);
	assert_int_equal(list.instructions[0].target, 0x1105);
	assert_int_equal(list.instructions[1].target, 0x1000);
	assert_int_equal(list.instructions[2].target, 0x101c);
	assert_int_equal(list.instructions[3].target, 0xffe);
	decoder_free(decoder);
	instruction_list_free(&list);
}

/* jmp *0x2000(,%rax,8) */
/* Bytes that are an instruction more often than not: prefixes, opcodes of few kinds, operands of any. */
static size_t
some_bytes(uint64_t *random, uint8_t bytes[16])
{
	static const uint8_t starts[] = {0x66, 0x48, 0x4c, 0xf3, 0x0f, 0xc5, 0x62, 0x8b, 0x83, 0xc1, 0xe8, 0x74};

	for (unsigned i = 0; i < 16; i++) {
		*random ^= *random << 13;
		*random ^= *random >> 7;
		*random ^= *random << 17;
		bytes[i] = i < 3 && *random & 0x300 ? starts[*random % sizeof(starts)] : (uint8_t)(*random >> 20);
	}
	return 1 + *random % 16;
}

/* What is remembered of thousands of others and what was decoded in between make no difference. */
static void
looked_at_together_or_alone_an_instruction_is_the_same(void **state)
{
	struct decoder *decoder = x86();
	uint64_t random = 88172645463325252;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct encoded_instruction encoded[8];
		struct instruction together, alone;
		uint8_t bytes[8][16];
		size_t size[8], taken;

		for (int i = 0; i < 8; i++) {
			size[i] = some_bytes(&random, bytes[i]);
			decoder_prefetch(decoder, bytes[i], size[i], &encoded[i]);
		}
		for (int i = 0; i < 8; i++) {
			taken = decoder_decode_encoded(decoder, &encoded[i], 0x1000, &together);
			assert_in_range(taken, 1, size[i]);
			assert_int_equal(taken, together.size);
		}
		if (round % 10 == 0) {
			struct decoder *other = x86();

			decoder_decode_one(other, bytes[7], size[7], 0x1000, &alone);
			decoder_free(other);
			assert_memory_equal(&alone, &together, offsetof(struct instruction, clears) + 1);
		}
	}
	decoder_free(decoder);
}

static void
operands_are_told_one_by_one(void **state)
{
	static const uint8_t jump[] = {0xff, 0x24, 0xc5, 0x00, 0x20, 0x00, 0x00};
	static const uint8_t lea[] = {0x48, 0x8d, 0x15, 0xf9, 0x0f, 0x00, 0x00}; /* lea 0xff9(%rip),%rdx */
	struct decoder *decoder = x86();
	struct instruction_detail detail;

	(void)state;
	assert_int_equal(decoder_detail(decoder, jump, sizeof(jump), 0, &detail), 0);
	assert_string_equal(detail.mnemonic, "jmp");
	assert_int_equal(detail.operand_count, 1);
	assert_int_equal(detail.operands[0].kind, OPERAND_MEMORY);
	assert_int_equal(detail.operands[0].base, REGISTER_NONE);
	assert_int_equal(detail.operands[0].index, 0);
	assert_int_equal(detail.operands[0].scale, 8);
	assert_int_equal(detail.operands[0].value, 0x2000);
	assert_int_equal(decoder_detail(decoder, lea, sizeof(lea), 0x1000, &detail), 0);
	assert_string_equal(detail.mnemonic, "lea");
	assert_int_equal(detail.operands[0].reg, 2);
	assert_true(detail.operands[1].is_pc);
	assert_int_equal(detail.operands[1].value, 0x2000);
	assert_int_equal(decoder_detail(decoder, (const uint8_t *)"\x06", 1, 0, &detail), -DCPI_EDAMAGED);
	decoder_free(decoder);
}

/* adrp x0, +0x2000; add x0, x0, x1, sxtw #2; ldrsw x2, [x3, w4, uxtw #2] */
static void
operands_of_arm_have_shifts_and_extensions(void **state)
{
	static const uint8_t adrp[] = {0x00, 0x00, 0x00, 0xd0}, add[] = {0x00, 0xc8, 0x21, 0x8b},
			     load[] = {0x62, 0x58, 0xa4, 0xb8};
	struct decoder *decoder = decoder_new(ARCHITECTURE_AARCH64);
	struct instruction_detail detail;

	(void)state;
	assert_non_null(decoder);
	assert_int_equal(decoder_detail(decoder, adrp, 4, 0x10123, &detail), 0);
	assert_int_equal(detail.operands[1].value, 0x12000);
	assert_int_equal(decoder_detail(decoder, add, 4, 0, &detail), 0);
	assert_int_equal(detail.operands[2].reg, 1);
	assert_int_equal(detail.operands[2].shift, 2);
	assert_true(detail.operands[2].is_extended);
	assert_true(detail.operands[2].is_signed);
	assert_int_equal(decoder_detail(decoder, load, 4, 0, &detail), 0);
	assert_string_equal(detail.mnemonic, "ldrsw");
	assert_int_equal(detail.operands[1].base, 3);
	assert_int_equal(detail.operands[1].index, 4);
	assert_int_equal(detail.operands[1].scale, 4);
	assert_true(detail.operands[1].is_extended);
	assert_false(detail.operands[1].is_signed);
	decoder_free(decoder);
}

static pthread_barrier_t together;

/* A library that fills a table at its first instruction, as capstone 4 does for x86, fails this one. */
static void *
decode_first(void *context)
{
	static const uint8_t in_al_dx[] = {0xec};
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	struct instruction *first = context;

	pthread_barrier_wait(&together);
	decoder_decode_one(decoder, in_al_dx, sizeof(in_al_dx), 0, first);
	decoder_free(decoder);
	return NULL;
}

static void
decoders_of_several_threads_begin_at_once(void **state)
{
	struct instruction first[8];
	pthread_t threads[8];

	(void)state;
	memset(first, 0, sizeof(first));
	pthread_barrier_init(&together, NULL, 8);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, decode_first, &first[i]), 0);
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&together);
	for (unsigned i = 1; i < 8; i++)
		assert_memory_equal(&first[i], &first[0], sizeof(first[0]));
}

static const struct form table[] = {
	{"cmp* add", CLASS_FLOAT_COMPARE, ACCESS_UPDATE, 0},
	{"cmp", CLASS_INTEGER, ACCESS_READ, 0},
	{"cmpxchg*", CLASS_ATOMIC, ACCESS_READ, 0},
};

static const struct form *
find(const char *name)
{
	return form_find(table, sizeof(table) / sizeof(table[0]), name);
}

static void
an_exact_name_goes_before_a_pattern(void **state)
{
	(void)state;
	assert_ptr_equal(find("cmp"), &table[1]);
	assert_ptr_equal(find("cmpps"), &table[0]);
	assert_ptr_equal(find("add"), &table[0]);
}

static void
a_longer_pattern_goes_before_a_shorter_one(void **state)
{
	(void)state;
	assert_ptr_equal(find("cmpxchg16b"), &table[2]);
}

static void
a_part_of_a_name_is_no_name(void **state)
{
	(void)state;
	assert_null(find("ad"));
	assert_null(find("adds"));
	assert_null(find(""));
}

static void
avx_has_the_forms_of_sse(void **state)
{
	struct decoder *decoder = x86(), *other = decoder_new(ARCHITECTURE_AARCH64);
	const struct form *unknown = decoder_form(decoder, "nothing");

	(void)state;
	assert_non_null(other);
	assert_ptr_equal(decoder_form(decoder, "vaddps"), decoder_form(decoder, "addps"));
	assert_int_equal(decoder_form(decoder, "vpmovmskb")->class, CLASS_FLOAT_MOVE);
	assert_int_equal(decoder_form(decoder, "vpcmpistri")->class, CLASS_VECTOR_MULTIPLY);
	assert_int_equal(unknown->class, CLASS_SYSTEM);
	assert_ptr_equal(decoder_form(decoder, "vnothing"), unknown);
	assert_ptr_equal(decoder_form(other, "vaddps"), unknown);
	decoder_free(decoder);
	decoder_free(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoders_of_several_threads_begin_at_once), /* before any other decodes */
		cmocka_unit_test(elf_machines_are_architectures),
		cmocka_unit_test(an_architecture_that_is_none_is_refused),
		cmocka_unit_test(a_range_becomes_instructions_one_after_the_other),
		cmocka_unit_test(a_list_is_appended_to),
		cmocka_unit_test(a_byte_that_is_no_instruction_is_unknown_and_decoding_goes_on),
		cmocka_unit_test(an_instruction_that_is_cut_off_is_unknown),
		cmocka_unit_test(an_instruction_that_is_too_new_keeps_its_length_and_its_registers),
		cmocka_unit_test(what_was_met_before_has_its_own_address_and_target),
		cmocka_unit_test(looked_at_together_or_alone_an_instruction_is_the_same),
		cmocka_unit_test(operands_are_told_one_by_one),
		cmocka_unit_test(operands_of_arm_have_shifts_and_extensions),
		cmocka_unit_test(an_exact_name_goes_before_a_pattern),
		cmocka_unit_test(a_longer_pattern_goes_before_a_shorter_one),
		cmocka_unit_test(a_part_of_a_name_is_no_name),
		cmocka_unit_test(avx_has_the_forms_of_sse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
