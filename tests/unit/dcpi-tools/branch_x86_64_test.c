#include "tests/unit/test.h"

#if defined(__x86_64__)
#include <string.h>

#include "dcpi-tools/x/replica/branch_x86_64.h"

#define PLACE UINT64_C(0x401000)

/* Flags that conditions are about; the processor's own answer is the expected one. */
static const uint64_t flags_of[] = {0x1, 0x4, 0x40, 0x80, 0x800};

static bool
processor_says(uint8_t condition, uint64_t flags)
{
	uint8_t result = 0;

#define SETCC(number, name)                                                                                            \
	case number:                                                                                                   \
		__asm__ volatile("push %1\n\tpopf\n\tset" name " %0" : "=q"(result) : "r"(flags | 2) : "cc");          \
		break
	switch (condition) {
		SETCC(0, "o");
		SETCC(1, "no");
		SETCC(2, "b");
		SETCC(3, "nb");
		SETCC(4, "z");
		SETCC(5, "nz");
		SETCC(6, "be");
		SETCC(7, "nbe");
		SETCC(8, "s");
		SETCC(9, "ns");
		SETCC(10, "p");
		SETCC(11, "np");
		SETCC(12, "l");
		SETCC(13, "nl");
		SETCC(14, "le");
		SETCC(15, "nle");
	}
	return result;
}

static uint64_t stack[4];

static bool
read_word(uint64_t address, uint64_t *value)
{
	if (address < (uintptr_t)stack || address + 8 > (uintptr_t)(stack + 4))
		return false;
	memcpy(value, (const void *)(uintptr_t)address, 8);
	return true;
}

static bool
write_word(uint64_t address, uint64_t value)
{
	if (address < (uintptr_t)stack || address + 8 > (uintptr_t)(stack + 4))
		return false;
	memcpy((void *)(uintptr_t)address, &value, 8);
	return true;
}

/* Where control goes from these bytes at PLACE; 0 when it is not known. */
static uint64_t
take(const uint8_t *code, size_t size, greg_t registers[NGREG])
{
	const struct branch_memory memory = {read_word, write_word, /* fs */ (uintptr_t)stack, /* gs */ 0};
	struct x86_encoding encoding;

	assert_int_equal(x86_encoding_parse(code, size, &encoding), 0);
	assert_int_equal(encoding.size, size);
	registers[REG_RIP] = PLACE;
	return branch_take(code, &encoding, registers, &memory) ? (uint64_t)registers[REG_RIP] : 0;
}

#define TAKE(registers, ...) take((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), registers)

static enum branch_kind
kind(const uint8_t *code, size_t size)
{
	struct x86_encoding encoding;

	assert_int_equal(x86_encoding_parse(code, size, &encoding), 0);
	return branch_kind_of(&encoding);
}

#define KIND(...) kind((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void
conditions_hold_when_the_processor_says_so(void **state)
{
	(void)state;
	for (unsigned set = 0; set < 32; set++) {
		uint64_t flags = 0;

		for (unsigned i = 0; i < 5; i++)
			flags |= set >> i & 1 ? flags_of[i] : 0;
		for (uint8_t condition = 0; condition < 16; condition++) {
			const uint64_t expected = PLACE + (processor_says(condition, flags) ? 2 + 0x10 : 2);
			greg_t registers[NGREG] = {[REG_EFL] = (greg_t)flags};

			assert_int_equal(TAKE(registers, 0x70 | condition, 0x10), expected);
			assert_int_equal(TAKE(registers, 0x0f, 0x80 | condition, 0x0c, 0, 0, 0),
			                 expected == PLACE + 2 ? PLACE + 6 : expected);
		}
	}
}

static void
jumps_go_forth_and_back(void **state)
{
	greg_t registers[NGREG] = {0};

	(void)state;
	assert_int_equal(TAKE(registers, 0xeb, 0xfe), PLACE);
	assert_int_equal(TAKE(registers, 0xe9, 0, 1, 0, 0), PLACE + 0x105);
}

static void
calls_push_where_they_return(void **state)
{
	greg_t registers[NGREG] = {[REG_RSP] = (greg_t)(uintptr_t)(stack + 2), [REG_RAX] = 0x5000};

	(void)state;
	assert_int_equal(TAKE(registers, 0xe8, 0xfb, 0xff, 0xff, 0xff), PLACE);
	assert_int_equal(stack[1], PLACE + 5);
	assert_int_equal(TAKE(registers, 0xff, 0xd0), 0x5000); /* call *%rax */
	assert_int_equal(stack[0], PLACE + 2);
	assert_int_equal(registers[REG_RSP], (uintptr_t)stack);
}

static void
returns_pop_it_and_what_they_are_told(void **state)
{
	greg_t registers[NGREG] = {[REG_RSP] = (greg_t)(uintptr_t)stack};

	(void)state;
	stack[0] = 0x7000;
	stack[1] = 0x8000;
	assert_int_equal(TAKE(registers, 0xf3, 0xc3), 0x7000); /* repz ret */
	assert_int_equal(TAKE(registers, 0xc2, 0x10, 0x00), 0x8000);
	assert_int_equal(registers[REG_RSP], (uintptr_t)(stack + 4));
}

static void
indirect_jumps_read_their_operand(void **state)
{
	greg_t registers[NGREG] = {
		[REG_RBX] = (greg_t)(uintptr_t)stack, [REG_R12] = 1, [REG_RSP] = (greg_t)(uintptr_t)stack};

	(void)state;
	stack[1] = 0x9000;
	stack[3] = 0xa000;
	assert_int_equal(TAKE(registers, 0xff, 0x63, 0x08), 0x9000);                   /* jmp *8(%rbx) */
	assert_int_equal(TAKE(registers, 0x42, 0xff, 0x64, 0xe3, 0x10), 0xa000);       /* jmp *16(%rbx,%r12,8) */
	assert_int_equal(TAKE(registers, 0xff, 0x64, 0x24, 0x18), 0xa000);             /* jmp *24(%rsp) */
	assert_int_equal(TAKE(registers, 0x64, 0xff, 0x24, 0x25, 8, 0, 0, 0), 0x9000); /* jmp *%fs:8 */
	assert_int_equal(TAKE(registers, 0x41, 0xff, 0xe4), 1);                        /* jmp *%r12 */
}

static void
memory_that_cannot_be_had_changes_nothing(void **state)
{
	greg_t registers[NGREG] = {[REG_RSP] = 16, [REG_RAX] = 0x5000};

	(void)state;
	assert_int_equal(TAKE(registers, 0xc3), 0);
	assert_int_equal(TAKE(registers, 0xff, 0xd0), 0);
	assert_int_equal(registers[REG_RSP], 16);
	assert_int_equal(registers[REG_RIP], PLACE);
}

static void
loops_count_down(void **state)
{
	greg_t registers[NGREG] = {[REG_RCX] = 2};

	(void)state;
	assert_int_equal(TAKE(registers, 0xe2, 0xf0), PLACE + 2 - 0x10);
	assert_int_equal(TAKE(registers, 0xe2, 0xf0), PLACE + 2);
	assert_int_equal(TAKE(registers, 0xe3, 0x20), PLACE + 2 + 0x20); /* jrcxz */
	registers[REG_RCX] = INT64_C(0x100000000);
	assert_int_equal(TAKE(registers, 0xe3, 0x20), PLACE + 2);
	assert_int_equal(TAKE(registers, 0x67, 0xe3, 0x20), PLACE + 3 + 0x20); /* jecxz */
	registers[REG_RCX] = 5;
	registers[REG_EFL] = 0x40;
	assert_int_equal(TAKE(registers, 0xe1, 0x20), PLACE + 2 + 0x20); /* loope */
	assert_int_equal(TAKE(registers, 0xe0, 0x20), PLACE + 2);        /* loopne */
	assert_int_equal(registers[REG_RCX], 3);
}

static void
what_leaves_is_not_executed(void **state)
{
	(void)state;
	assert_int_equal(KIND(0x0f, 0x05), BRANCH_LEAVES);             /* syscall */
	assert_int_equal(KIND(0x0f, 0x34), BRANCH_LEAVES);             /* sysenter */
	assert_int_equal(KIND(0xcd, 0x80), BRANCH_LEAVES);             /* int 0x80 */
	assert_int_equal(KIND(0xcc), BRANCH_LEAVES);                   /* int3 */
	assert_int_equal(KIND(0x48, 0xcf), BRANCH_LEAVES);             /* iretq */
	assert_int_equal(KIND(0xcb), BRANCH_LEAVES);                   /* far return */
	assert_int_equal(KIND(0xff, 0x28), BRANCH_LEAVES);             /* far jump */
	assert_int_equal(KIND(0xc7, 0xf8, 0, 0, 0, 0), BRANCH_LEAVES); /* xbegin */
	assert_int_equal(KIND(0x66, 0x70, 0x10), BRANCH_LEAVES);       /* a jump of 16 bits, perhaps */
}

static void
other_instructions_go_on(void **state)
{
	(void)state;
	assert_int_equal(KIND(0x90), BRANCH_NONE);
	assert_int_equal(KIND(0xff, 0xc0), BRANCH_NONE);             /* inc */
	assert_int_equal(KIND(0xff, 0x30), BRANCH_NONE);             /* push */
	assert_int_equal(KIND(0xc7, 0xc0, 1, 0, 0, 0), BRANCH_NONE); /* mov */
	assert_int_equal(KIND(0x0f, 0x38, 0x80, 0x08), BRANCH_NONE); /* of another map */
	assert_int_equal(KIND(0xc5, 0xf8, 0x77), BRANCH_NONE);       /* vzeroupper */
	assert_int_equal(KIND(0x9d), BRANCH_NONE);                   /* popf */
	assert_int_equal(KIND(0xeb, 0x00), BRANCH_DIRECT);
	assert_int_equal(KIND(0x66, 0x48, 0xe8, 0, 0, 0, 0), BRANCH_DIRECT); /* of thread-local storage */
	assert_int_equal(KIND(0x3e, 0xff, 0xe0), BRANCH_DECIDED);            /* notrack jmp */
	assert_int_equal(KIND(0xf2, 0xc3), BRANCH_DECIDED);                  /* bnd ret */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_hold_when_the_processor_says_so),
		cmocka_unit_test(jumps_go_forth_and_back),
		cmocka_unit_test(calls_push_where_they_return),
		cmocka_unit_test(returns_pop_it_and_what_they_are_told),
		cmocka_unit_test(indirect_jumps_read_their_operand),
		cmocka_unit_test(memory_that_cannot_be_had_changes_nothing),
		cmocka_unit_test(loops_count_down),
		cmocka_unit_test(what_leaves_is_not_executed),
		cmocka_unit_test(other_instructions_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int
main(void)
{
	return 0;
}
#endif
