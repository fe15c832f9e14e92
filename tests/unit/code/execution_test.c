/*
 * What x86_64.c says of registers is what this CPU does. Each form is run on random registers and memory, twice: the
 * second time everything that it is said not to read has other values. What it is said to write must come out the same,
 * and everything else must stay. Instructions that the machine does not have are counted and left out.
 */
#include "tests/unit/code/describe.h"

#if defined(__x86_64__)

#include <sched.h>

#include "tests/unit/code/execution_forms.h"
#include "tests/unit/code/machine.h"

#define TRIALS 40
#define MIDDLE (MACHINE_MEMORY / 2)

static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Small numbers are as likely as large ones: divisions that fit, shifts within the width. */
static uint64_t
random_number(uint64_t *seed)
{
	return next_random(seed) >> (next_random(seed) & 63);
}

static void
random_bytes(uint64_t *seed, void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t value = next_random(seed);

		memcpy((uint8_t *)bytes + i, &value, size - i < 8 ? size - i : 8);
	}
}

/* Numbers of the x87 are made to be numbers. */
static void
random_state(uint64_t *seed, struct machine_state *state)
{
	memset(state, 0, sizeof(*state));
	for (size_t i = 0; i < 16; i++)
		state->general[i] = random_number(seed);
	state->flags = next_random(seed) & ARITHMETIC_FLAGS;
	random_bytes(seed, state->vector, sizeof(state->vector));
	random_bytes(seed, state->mask, sizeof(state->mask));
	for (size_t i = 0; i < 8; i++) {
		random_bytes(seed, state->x87[i], 8);
		state->x87[i][7] |= 0x80;
		state->x87[i][8] = (uint8_t)next_random(seed);
		state->x87[i][9] = 0x3f;
	}
	for (size_t i = 0; i < sizeof(state->memory); i += 8) {
		uint64_t value = random_number(seed);

		memcpy(state->memory + i, &value, sizeof(value));
	}
}

/* SSE leaves what AVX added to a register alone; programs that mix them clear it before, and nobody depends on it. */
static void
clear_upper_parts(struct machine_state *state)
{
	for (size_t i = 0; i < 32; i++)
		memset(state->vector[i] + 16, 0, MACHINE_VECTOR - 16);
}

static bool
has(const uint8_t *registers, size_t count, uint8_t reg)
{
	return memchr(registers, reg, count) != NULL;
}

static bool
is_read(const struct instruction *instruction, uint8_t reg)
{
	size_t data = (size_t)instruction->read_count - instruction->address_reads;

	if (instruction->clears)
		return has(instruction->reads + data, instruction->address_reads, reg);
	return has(instruction->reads, instruction->read_count, reg);
}

static bool
is_written(const struct instruction *instruction, uint8_t reg)
{
	return has(instruction->writes, instruction->write_count, reg);
}

/* What `from` has for register `reg`, into `to`. */
static void
copy_register(struct machine_state *to, const struct machine_state *from, uint8_t reg)
{
	if (reg < 16)
		to->general[reg] = from->general[reg];
	else if (reg >= REGISTER_VECTOR && reg < REGISTER_FLAGS)
		memcpy(to->vector[reg - REGISTER_VECTOR], from->vector[reg - REGISTER_VECTOR], MACHINE_VECTOR);
	else if (reg == REGISTER_FLAGS)
		to->flags = from->flags;
	else if (reg == REGISTER_X87)
		memcpy(to->x87, from->x87, sizeof(to->x87));
	else if (reg >= REGISTER_MASK)
		to->mask[reg - REGISTER_MASK] = from->mask[reg - REGISTER_MASK];
}

static bool
is_same_register(const struct machine_state *a, const struct machine_state *b, uint8_t reg)
{
	if (reg < 16)
		return a->general[reg] == b->general[reg];
	if (reg >= REGISTER_VECTOR && reg < REGISTER_FLAGS)
		return memcmp(a->vector[reg - REGISTER_VECTOR], b->vector[reg - REGISTER_VECTOR], MACHINE_VECTOR) == 0;
	if (reg == REGISTER_FLAGS)
		return a->flags == b->flags;
	if (reg == REGISTER_X87)
		return memcmp(a->x87, b->x87, sizeof(a->x87)) == 0;
	return reg < REGISTER_MASK || a->mask[reg - REGISTER_MASK] == b->mask[reg - REGISTER_MASK];
}

/* Addresses lie in the memory, indexes are small, counts of strings smaller. */
static void
aim(const struct traced_machine *machine, const struct instruction *instruction,
    const struct instruction_detail *detail, struct machine_state *state)
{
	uint64_t middle = (uint64_t)(uintptr_t)machine->memory + MIDDLE;

	for (size_t i = 0; i < detail->operand_count; i++) {
		const struct instruction_operand *operand = &detail->operands[i];

		if (operand->kind != OPERAND_MEMORY)
			continue;
		if (operand->base < 16)
			state->general[operand->base] = middle;
		if (operand->index < 16)
			state->general[operand->index] &= 63;
	}
	for (size_t i = instruction->read_count - instruction->address_reads; i < instruction->read_count; i++)
		if (instruction->reads[i] == 4)
			state->general[4] = middle + 1024;
	if (instruction->class == CLASS_STRING) {
		state->general[1] &= 7;
		state->general[6] = middle;
		state->general[7] = middle + 512;
	}
	if (strcmp(detail->mnemonic, "xlatb") == 0)
		state->general[3] = middle;
	if (strcmp(detail->mnemonic, "leave") == 0)
		state->general[5] = middle;
	if (strstr(detail->mnemonic, "maskmov"))
		state->general[7] = middle;
	if (strstr(detail->mnemonic, "rdpkru") || strstr(detail->mnemonic, "xgetbv"))
		state->general[1] = 0;
}

struct form_run {
	const char *assembly;
	const struct instruction *instruction;
	size_t problems;
};

static void
complain(struct form_run *run, const char *what, uint8_t reg)
{
	char name[16] = "memory";

	if (reg != REGISTER_NONE)
		describe_register(ARCHITECTURE_X86_64, reg, name, sizeof(name));
	if (run->problems++ == 0)
		print_error("%s: %s %s\n", run->assembly, name, what);
}

/* A flag that is left alone is the same before and after in both runs, and not said to be read. */
static uint64_t
different_flags(const struct machine_state *a, const struct machine_state *b, const struct machine_state *left,
                const struct machine_state *right)
{
	uint64_t kept = ~(a->flags ^ left->flags) & ~(b->flags ^ right->flags);

	return (left->flags ^ right->flags) & ~kept;
}

static void
compare(struct form_run *run, const struct machine_state *a, const struct machine_state *b,
        const struct machine_state *left, const struct machine_state *right)
{
	const struct instruction *instruction = run->instruction;

	for (uint8_t reg = 0; reg < REGISTER_COUNT; reg++) {
		if (!is_written(instruction, reg)) {
			if (!is_same_register(a, left, reg) || !is_same_register(b, right, reg))
				complain(run, "is changed", reg);
		} else if (reg == REGISTER_FLAGS) {
			if (different_flags(a, b, left, right))
				complain(run, "depend on what is not read", reg);
		} else if (!is_same_register(left, right, reg)) {
			complain(run, "depends on what is not read", reg);
		}
	}
	if (memcmp(left->memory, right->memory, MACHINE_MEMORY) != 0 && (instruction->loads || instruction->stores))
		complain(run, "depends on what is not read", REGISTER_NONE);
	if (!instruction->stores && memcmp(a->memory, left->memory, MACHINE_MEMORY) != 0)
		complain(run, "is changed", REGISTER_NONE);
	if (left->pc != right->pc)
		complain(run, "decides where it goes and is not read", REGISTER_NONE);
}

/* One pair of runs; false when the machine faulted. *fault: how. */
static bool
run_pair(struct traced_machine *machine, struct form_run *run, const struct instruction_detail *detail,
         const uint8_t *bytes, uint64_t *seed, int *fault)
{
	static struct machine_state a, b, left, right;

	random_state(seed, &a);
	random_state(seed, &b);
	machine_clip(machine, &a);
	machine_clip(machine, &b);
	if (bytes[0] != 0x62 && bytes[0] != 0xc4 && bytes[0] != 0xc5) {
		clear_upper_parts(&a);
		clear_upper_parts(&b);
	}
	for (uint8_t reg = 0; reg < REGISTER_COUNT; reg++)
		if (is_read(run->instruction, reg))
			copy_register(&b, &a, reg);
	if (run->instruction->loads || run->instruction->stores)
		memcpy(b.memory, a.memory, MACHINE_MEMORY);
	aim(machine, run->instruction, detail, &a);
	for (uint8_t reg = 0; reg < 16; reg++)
		if (is_read(run->instruction, reg))
			b.general[reg] = a.general[reg];
	left = a;
	right = b;
	*fault = machine_run(machine, bytes, run->instruction->size, &left);
	if (*fault == 0)
		*fault = machine_run(machine, bytes, run->instruction->size, &right);
	if (*fault == 0)
		compare(run, &a, &b, &left, &right);
	return *fault == 0;
}

enum execution_verdict {
	AGREES,
	DIFFERS,
	ABSENT, /* from this machine */
	FAULTS,
};

static enum execution_verdict
run_form(struct traced_machine *machine, struct decoder *decoder, const struct execution_form *form)
{
	struct instruction_detail detail;
	struct instruction instruction;
	uint8_t bytes[16];
	size_t size = bytes_of_hex(form->hex, bytes, sizeof(bytes)), ran = 0;
	struct form_run run = {form->assembly, &instruction, 0};
	uint64_t seed = 0x1234567;
	int fault = 0;

	assert_int_equal(decoder_decode_one(decoder, bytes, size, 0, &instruction), size);
	if (instruction.class == CLASS_UNKNOWN)
		print_error("%s: not known\n", form->assembly);
	assert_int_not_equal(instruction.class, CLASS_UNKNOWN);
	assert_int_equal(decoder_detail(decoder, bytes, size, 0, &detail), 0);
	for (size_t i = 0; i < TRIALS; i++) {
		ran += run_pair(machine, &run, &detail, bytes, &seed, &fault);
		if (fault == SIGILL)
			return ABSENT;
	}
	if (run.problems)
		return DIFFERS;
	if (ran >= 4)
		return AGREES;
	print_error("%s: runs %zu times of %d, signal %d\n", form->assembly, ran, TRIALS, fault);
	return FAULTS;
}

static void
instructions_read_and_write_what_is_said_of_them(void **state)
{
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);
	struct traced_machine *machine;
	size_t counts[4] = {0};
	cpu_set_t here;

	(void)state;
	/* rdpid is the same twice only on one CPU */
	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
	machine = machine_new();
	assert_non_null(decoder);
	if (!machine) {
		print_message("instructions_read_and_write_what_is_said_of_them: no tracing of children here\n");
		decoder_free(decoder);
		skip();
	}
	for (size_t i = 0; i < sizeof(execution_forms) / sizeof(execution_forms[0]); i++)
		counts[run_form(machine, decoder, &execution_forms[i])]++;
	print_message("%zu forms agree, %zu are not of this CPU\n", counts[AGREES], counts[ABSENT]);
	machine_free(machine);
	decoder_free(decoder);
	assert_int_equal(counts[DIFFERS], 0);
	assert_int_equal(counts[FAULTS], 0);
	assert_true(counts[AGREES] >= 150);
}

#else

static void
instructions_read_and_write_what_is_said_of_them(void **state)
{
	(void)state;
	print_message("instructions_read_and_write_what_is_said_of_them: another architecture than x86-64\n");
	skip();
}

#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_read_and_write_what_is_said_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
