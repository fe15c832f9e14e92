#include "unwind/unwind.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "unwind/expression.h"

/* The registers of a machine that unwinding itself needs. */
struct machine_registers {
	uint8_t pc, sp, fp;
	uint64_t pc_mask; /* what of a return address is not its signature */
	/* By perf's number of a register (asm/perf_regs.h), its DWARF number; UNWIND_REGISTERS: none. */
	uint8_t perf[64];
	uint8_t perf_count;
};

static const struct machine_registers x86_64 = {
	.pc = UNWIND_X86_64_RIP,
	.sp = UNWIND_X86_64_RSP,
	.fp = UNWIND_X86_64_RBP,
	.pc_mask = UINT64_MAX,
	/* ax bx cx dx si di bp sp ip, flags and six segments, r8 to r15 */
	.perf = {0, 3, 2, 1, 4, 5, 6, 7, 16, 33, 33, 33, 33, 33, 33, 33, 8, 9, 10, 11, 12, 13, 14, 15},
	.perf_count = 24,
};

/*
 * Pointer authentication signs return addresses in the bits above those of an address of user memory: 48, because the
 * kernel gives a program no addresses beyond them unless it asks for some, which is not done for code. They are cleared
 * whether the rules say that the address is signed or not: in one that is not, they are zero.
 */
static const struct machine_registers aarch64 = {
	.pc = UNWIND_AARCH64_PC,
	.sp = UNWIND_AARCH64_SP,
	.fp = UNWIND_AARCH64_FP,
	.pc_mask = (UINT64_C(1) << 48) - 1,
	.perf = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32},
	.perf_count = 33,
};

static const struct machine_registers *
machine_registers(enum unwind_machine machine)
{
	return machine == UNWIND_AARCH64 ? &aarch64 : &x86_64;
}

void
unwind_registers_from_perf(enum unwind_machine machine, uint64_t mask, const uint64_t *values, size_t count,
                           struct unwind_registers *registers)
{
	const struct machine_registers *names = machine_registers(machine);
	size_t at = 0;

	*registers = (struct unwind_registers){0};
	for (unsigned i = 0; i < names->perf_count && at < count; i++) {
		if (!(mask >> i & 1))
			continue;
		if (names->perf[i] < UNWIND_REGISTERS) {
			registers->values[names->perf[i]] = values[at];
			registers->known |= UINT64_C(1) << names->perf[i];
		}
		at++;
	}
}

const char *
unwind_end_name(enum unwind_end end)
{
	static const char *const names[UNWIND_ENDS] = {
		[UNWIND_OUTERMOST] = "outermost",     [UNWIND_NO_TABLE] = "no table",
		[UNWIND_BEYOND_COPY] = "beyond copy", [UNWIND_BAD_FRAME] = "bad frame",
		[UNWIND_DEPTH_LIMIT] = "depth limit",
	};

	return names[end];
}

/* ---- one step ---- */

struct unwinder {
	const struct unwind_process *process;
	const struct machine_registers *names;
	const struct unwind_stack *stack;
	struct unwind_registers now; /* of the frame */
	/*
	 * Bit i: the value of register i is not known because it lies behind the copy. What then needs the register has
	 * its end there.
	 */
	uint64_t beyond;
	size_t steps_left;   /* of expressions */
	bool read_beyond;    /* the last read that failed was behind the copy */
	bool on_other_stack; /* a signal interrupted code on a stack of which there is no copy */
};

#define BIT(number) (UINT64_C(1) << (number))

static bool
is_known(const struct unwind_registers *registers, unsigned number)
{
	return registers->known >> number & 1;
}

static void
set_register(struct unwind_registers *registers, unsigned number, uint64_t value)
{
	registers->values[number] = value;
	registers->known |= UINT64_C(1) << number;
}

static bool
read_stack(void *context, uint64_t address, size_t size, uint64_t *value)
{
	struct unwinder *unwinder = context;
	const struct unwind_stack *stack = unwinder->stack;
	const uint64_t distance = address - stack->address;

	if (address < stack->address || distance > stack->size || size > stack->size - distance) {
		unwinder->read_beyond = address >= stack->address || unwinder->on_other_stack;
		return false;
	}
	*value = 0;
	if (size == sizeof(*value)) /* nearly always: without a call of memcpy() */
		memcpy(value, stack->bytes + distance, sizeof(*value));
	else
		memcpy(value, stack->bytes + distance, size);
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		*value >>= 64 - 8 * size;
	return true;
}

/* The frame ends here, because register `number` is not known. */
static enum unwind_end
unknown_end(const struct unwinder *unwinder, unsigned number)
{
	return unwinder->beyond >> number & 1 ? UNWIND_BEYOND_COPY : UNWIND_BAD_FRAME;
}

/* 0, or an error of expression_evaluate(); read_beyond says why the value is not known. */
static int
evaluate(struct unwinder *unwinder, const struct unwind_table *table, int32_t number, const uint64_t *cfa,
         uint64_t *value)
{
	const uint32_t start = number > 0 ? table->expression_ends[number - 1] : 0;
	const struct expression_inputs inputs = {
		.registers = unwinder->now.values,
		.known = unwinder->now.known,
		.read = read_stack,
		.context = unwinder,
		.steps_left = &unwinder->steps_left,
	};

	unwinder->read_beyond = false;
	return expression_evaluate(table->expression_bytes + start, table->expression_ends[number] - start, &inputs,
	                           cfa, value);
}

/* The caller's value of a register. False: it is not known; read_beyond says whether it lies behind the copy. */
static bool
find_value(struct unwinder *unwinder, const struct unwind_table *table, const struct unwind_register_rule *rule,
           uint64_t cfa, uint64_t *value)
{
	unwinder->read_beyond = false;
	*value = cfa + (uint64_t)(int64_t)rule->value;
	switch (rule->kind) {
	case UNWIND_AT_CFA:
		return read_stack(unwinder, *value, sizeof(*value), value);
	case UNWIND_CFA_PLUS:
		return true;
	case UNWIND_IN_REGISTER:
		*value = unwinder->now.values[rule->value];
		unwinder->read_beyond = unwinder->beyond >> rule->value & 1;
		return is_known(&unwinder->now, (unsigned)rule->value);
	case UNWIND_AT_EXPRESSION:
		return evaluate(unwinder, table, rule->value, &cfa, value) == 0 &&
		       read_stack(unwinder, *value, sizeof(*value), value);
	case UNWIND_EXPRESSION_VALUE:
		return evaluate(unwinder, table, rule->value, &cfa, value) == 0;
	default:
		return false;
	}
}

static bool
find_cfa(struct unwinder *unwinder, const struct unwind_table *table, const struct unwind_rules *rules, uint64_t *cfa,
         enum unwind_end *end)
{
	if (rules->cfa_register == UNWIND_CFA_EXPRESSION) {
		if (evaluate(unwinder, table, rules->cfa_value, NULL, cfa)) {
			*end = unwinder->read_beyond ? UNWIND_BEYOND_COPY : UNWIND_BAD_FRAME;
			return false;
		}
		return true;
	}
	if (!is_known(&unwinder->now, rules->cfa_register)) {
		*end = unknown_end(unwinder, rules->cfa_register);
		return false;
	}
	*cfa = unwinder->now.values[rules->cfa_register] + (uint64_t)(int64_t)rules->cfa_value;
	return true;
}

/* False when there is no caller to be found, with *end. */
static bool
step_by_rules(struct unwinder *unwinder, const struct unwind_table *table, const struct unwind_rules *rules,
              enum unwind_end *end)
{
	const struct unwind_register_rule *rule = table->register_rules + rules->first;
	const unsigned pc = unwinder->names->pc, sp = unwinder->names->sp;
	uint64_t values[UNWIND_REGISTERS], cfa; /* all are found before one changes: rules use the frame's */
	uint64_t ruled = 0, found = 0, beyond = 0;
	bool has_pc_rule = false;

	/* first, as the CFA of an outermost frame may be undefined, too */
	for (unsigned i = 0; i < rules->count; i++) {
		if (rule[i].number != pc)
			continue;
		has_pc_rule = true;
		if (rule[i].kind == UNWIND_UNDEFINED) {
			*end = UNWIND_OUTERMOST;
			return false;
		}
	}
	if (!has_pc_rule) {
		*end = UNWIND_BAD_FRAME;
		return false;
	}
	if (!find_cfa(unwinder, table, rules, &cfa, end))
		return false;
	for (unsigned i = 0; i < rules->count; i++) {
		ruled |= BIT(rule[i].number);
		if (find_value(unwinder, table, &rule[i], cfa, &values[i]))
			found |= BIT(rule[i].number);
		else if (unwinder->read_beyond)
			beyond |= BIT(rule[i].number);
	}
	if (!(found & BIT(pc))) {
		*end = beyond & BIT(pc) ? UNWIND_BEYOND_COPY : UNWIND_BAD_FRAME;
		return false;
	}
	unwinder->now.known = (unwinder->now.known & ~ruled) | found;
	unwinder->beyond = (unwinder->beyond & ~ruled) | beyond;
	if (!(ruled & BIT(sp)))
		set_register(&unwinder->now, sp, cfa);
	for (unsigned i = 0; i < rules->count; i++)
		if (found & BIT(rule[i].number))
			unwinder->now.values[rule[i].number] = values[i];
	return true;
}

/*
 * Both machines push the caller's frame pointer and the return address above it, and let the frame pointer point there;
 * the outermost one is 0 (System V ABI for x86-64, 3.4.1; AAPCS64, 6.4.6). Nothing is known of other registers, and on
 * aarch64, where this record may lie anywhere in the frame, nothing of the stack pointer.
 */
static bool
step_by_frame_pointer(struct unwinder *unwinder, enum unwind_end *end)
{
	const struct machine_registers *names = unwinder->names;
	uint64_t record, fp, pc;

	if (!is_known(&unwinder->now, names->fp)) {
		*end = unknown_end(unwinder, names->fp);
		return false;
	}
	record = unwinder->now.values[names->fp];
	if (record == 0) {
		*end = UNWIND_OUTERMOST;
		return false;
	}
	if (is_known(&unwinder->now, names->sp) && record < unwinder->now.values[names->sp]) {
		*end = UNWIND_BAD_FRAME;
		return false;
	}
	unwinder->read_beyond = false;
	if (!read_stack(unwinder, record, sizeof(fp), &fp) ||
	    !read_stack(unwinder, record + sizeof(fp), sizeof(pc), &pc)) {
		*end = unwinder->read_beyond ? UNWIND_BEYOND_COPY : UNWIND_BAD_FRAME;
		return false;
	}
	unwinder->now.known = 0;
	unwinder->beyond = 0;
	set_register(&unwinder->now, names->fp, fp);
	set_register(&unwinder->now, names->pc, pc);
	if (unwinder->process->machine == UNWIND_X86_64)
		set_register(&unwinder->now, names->sp, record + sizeof(fp) + sizeof(pc));
	return true;
}

/*
 * Are these the registers of a caller? Its stack pointer is above the callee's (`sp`, NULL: not known), or as high
 * where the innermost function of aarch64 has nothing on the stack. `fp` is the callee's frame pointer.
 */
static bool
caller_is_possible(const struct unwinder *unwinder, const uint64_t *sp, uint64_t fp, bool is_exact)
{
	const uint64_t above = unwinder->now.values[unwinder->names->sp];

	if (!is_known(&unwinder->now, unwinder->names->sp)) /* frame pointers of aarch64 */
		return unwinder->now.values[unwinder->names->fp] != fp;
	if (above % sizeof(uint64_t) != 0)
		return false;
	if (!sp)
		return true;
	return above > *sp || (above == *sp && is_exact && unwinder->process->machine == UNWIND_AARCH64);
}

/* From the frame in `now` to its caller; false when there is none to be found, with *end. */
static bool
step(struct unwinder *unwinder, enum unwind_code code, const struct unwind_table *table, uint64_t offset,
     bool *is_exact, enum unwind_end *end)
{
	const struct machine_registers *names = unwinder->names;
	const uint64_t sp = unwinder->now.values[names->sp], fp = unwinder->now.values[names->fp];
	const bool has_sp = is_known(&unwinder->now, names->sp);
	const struct unwind_rules *rules = NULL;
	bool is_signal_frame = false;

	if (code == UNWIND_CODE_FRAME_POINTER) {
		if (!step_by_frame_pointer(unwinder, end))
			return false;
	} else {
		if (code == UNWIND_CODE_TABLE && table->machine == unwinder->process->machine)
			rules = unwind_table_find(table, offset);
		if (!rules) {
			*end = UNWIND_NO_TABLE;
			return false;
		}
		if (!step_by_rules(unwinder, table, rules, end))
			return false;
		is_signal_frame = rules->is_signal_frame;
	}
	/* what a signal interrupted may have run on another stack */
	if (!is_signal_frame && !caller_is_possible(unwinder, has_sp ? &sp : NULL, fp, *is_exact)) {
		*end = UNWIND_BAD_FRAME;
		return false;
	}
	unwinder->now.values[names->pc] &= names->pc_mask;
	*is_exact = is_signal_frame;
	if (is_signal_frame)
		unwinder->on_other_stack = unwinder->now.values[names->sp] < unwinder->stack->address;
	return true;
}

enum unwind_end
unwind_stack(const struct unwind_process *process, const struct unwind_registers *registers,
             const struct unwind_stack *stack, struct unwind_frame *frames, size_t capacity, size_t *count)
{
	struct unwinder unwinder = {
		.process = process,
		.names = machine_registers(process->machine),
		.stack = stack,
		.now = *registers,
		.steps_left = UNWIND_STEPS_MAX,
	};
	enum unwind_end end;
	bool is_exact = true;

	*count = 0;
	if (!is_known(registers, unwinder.names->pc))
		return UNWIND_BAD_FRAME;
	do {
		const uint64_t pc = unwinder.now.values[unwinder.names->pc];
		const struct unwind_table *table = NULL;
		enum unwind_code code;
		uint64_t offset = 0;

		/* a call may be the last instruction of its function: the return address then lies in the next one */
		code = process->find(process->context, is_exact ? pc : pc - 1, &table, &offset);
		if (code == UNWIND_CODE_NONE)
			return UNWIND_BAD_FRAME;
		if (*count == capacity)
			return UNWIND_DEPTH_LIMIT;
		frames[(*count)++] = (struct unwind_frame){pc, is_exact};
		if (!step(&unwinder, code, table, offset, &is_exact, &end))
			return end;
	} while (true);
}
