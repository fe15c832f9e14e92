#include "unwind/expression.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"

struct expression_run {
	struct byte_reader reader;
	const struct expression_inputs *inputs;
	const uint8_t *start;
	uint64_t stack[EXPRESSION_DEPTH_MAX];
	size_t depth;
	int err; /* the first one; then popped values are 0 */
};

static void
push(struct expression_run *run, uint64_t value)
{
	if (run->depth < EXPRESSION_DEPTH_MAX)
		run->stack[run->depth++] = value;
	else
		run->err = -EBADMSG;
}

static uint64_t
pop(struct expression_run *run)
{
	if (run->depth > 0)
		return run->stack[--run->depth];
	run->err = -EBADMSG;
	return 0;
}

/* The value `index` below the top is pushed. */
static void
pick(struct expression_run *run, size_t index)
{
	if (index < run->depth)
		push(run, run->stack[run->depth - 1 - index]);
	else
		run->err = -EBADMSG;
}

/* A number of the expression of `size` bytes, in this machine's byte order. */
static uint64_t
operand(struct expression_run *run, size_t size, bool is_signed)
{
	const unsigned shift = 64 - 8 * (unsigned)size;
	uint64_t value = 0;

	read_native(&run->reader, &value, size);
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		value >>= shift;
	return is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value;
}

static void
push_register(struct expression_run *run, uint64_t number, uint64_t offset)
{
	if (number >= UNWIND_REGISTERS)
		run->err = -EBADMSG;
	else if (!(run->inputs->known >> number & 1))
		run->err = -ENOENT;
	else
		push(run, run->inputs->registers[number] + offset);
}

static void
dereference(struct expression_run *run, size_t size)
{
	const uint64_t address = pop(run);
	uint64_t value;

	if (run->err)
		return;
	if (size == 0 || size > sizeof(value))
		run->err = -EBADMSG;
	else if (!run->inputs->read(run->inputs->context, address, size, &value))
		run->err = -ENOENT;
	else
		push(run, value);
}

static void
jump(struct expression_run *run, int64_t distance)
{
	if (distance < run->start - run->reader.at || distance > run->reader.end - run->reader.at)
		run->err = -EBADMSG;
	else
		run->reader.at += distance;
}

/* Operations of two values; false: it is none. */
static bool
binary(uint8_t operation, uint64_t a, uint64_t b, uint64_t *value, int *err)
{
	const int64_t left = (int64_t)a, right = (int64_t)b;

	switch (operation) {
	case DW_OP_and:
		*value = a & b;
		return true;
	case DW_OP_or:
		*value = a | b;
		return true;
	case DW_OP_xor:
		*value = a ^ b;
		return true;
	case DW_OP_plus:
		*value = a + b;
		return true;
	case DW_OP_minus:
		*value = a - b;
		return true;
	case DW_OP_mul:
		*value = a * b;
		return true;
	case DW_OP_div:
		if (b == 0)
			*err = -EBADMSG;
		*value = b == 0 ? 0 : b == UINT64_MAX ? -a : (uint64_t)(left / right);
		return true;
	case DW_OP_mod:
		if (b == 0)
			*err = -EBADMSG;
		*value = b == 0 ? 0 : a % b;
		return true;
	case DW_OP_shl:
		*value = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*value = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_shra:
		*value = b < 63 ? (uint64_t)(left >> b) : left < 0 ? UINT64_MAX : 0;
		return true;
	case DW_OP_eq:
		*value = a == b;
		return true;
	case DW_OP_ne:
		*value = a != b;
		return true;
	case DW_OP_lt:
		*value = left < right;
		return true;
	case DW_OP_le:
		*value = left <= right;
		return true;
	case DW_OP_gt:
		*value = left > right;
		return true;
	case DW_OP_ge:
		*value = left >= right;
		return true;
	default:
		return false;
	}
}

static void
operate_on_two(struct expression_run *run, uint8_t operation)
{
	const uint64_t b = pop(run), a = pop(run);
	uint64_t value;

	if (binary(operation, a, b, &value, &run->err))
		push(run, value);
	else
		run->err = -EBADMSG;
}

/* Constants and registers; false: it is no such operation. */
static bool
push_operand(struct expression_run *run, uint8_t operation)
{
	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
		push(run, operation - DW_OP_lit0);
		return true;
	}
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
		push_register(run, operation - DW_OP_breg0, (uint64_t)read_sleb(&run->reader));
		return true;
	}
	switch (operation) {
	case DW_OP_const1u:
	case DW_OP_const1s:
		push(run, operand(run, 1, operation == DW_OP_const1s));
		return true;
	case DW_OP_const2u:
	case DW_OP_const2s:
		push(run, operand(run, 2, operation == DW_OP_const2s));
		return true;
	case DW_OP_const4u:
	case DW_OP_const4s:
		push(run, operand(run, 4, operation == DW_OP_const4s));
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(run, operand(run, 8, false));
		return true;
	case DW_OP_constu:
		push(run, read_varint(&run->reader));
		return true;
	case DW_OP_consts:
		push(run, (uint64_t)read_sleb(&run->reader));
		return true;
	case DW_OP_bregx: {
		const uint64_t number = read_varint(&run->reader);

		push_register(run, number, (uint64_t)read_sleb(&run->reader));
		return true;
	}
	default:
		return false;
	}
}

/* Not supported, because no rule can need it: addresses as linked (DW_OP_addr), locations, calls, address spaces. */
static void
step(struct expression_run *run, uint8_t operation)
{
	uint64_t a, b, c;

	if (push_operand(run, operation))
		return;
	switch (operation) {
	case DW_OP_nop:
		return;
	case DW_OP_deref:
		dereference(run, sizeof(uint64_t));
		return;
	case DW_OP_deref_size:
		dereference(run, read_u8(&run->reader));
		return;
	case DW_OP_dup:
		pick(run, 0);
		return;
	case DW_OP_drop:
		pop(run);
		return;
	case DW_OP_over:
		pick(run, 1);
		return;
	case DW_OP_pick:
		pick(run, read_u8(&run->reader));
		return;
	case DW_OP_swap:
		b = pop(run);
		a = pop(run);
		push(run, b);
		push(run, a);
		return;
	case DW_OP_rot:
		c = pop(run);
		b = pop(run);
		a = pop(run);
		push(run, c);
		push(run, a);
		push(run, b);
		return;
	case DW_OP_abs:
		a = pop(run);
		push(run, a >> 63 ? -a : a);
		return;
	case DW_OP_neg:
		push(run, -pop(run));
		return;
	case DW_OP_not:
		push(run, ~pop(run));
		return;
	case DW_OP_plus_uconst:
		push(run, pop(run) + read_varint(&run->reader));
		return;
	case DW_OP_skip:
		jump(run, (int64_t)operand(run, 2, true));
		return;
	case DW_OP_bra: {
		const int64_t distance = (int64_t)operand(run, 2, true);

		if (pop(run))
			jump(run, distance);
		return;
	}
	default:
		operate_on_two(run, operation);
	}
}

int
expression_evaluate(const uint8_t *bytes, size_t size, const struct expression_inputs *inputs, const uint64_t *initial,
                    uint64_t *result)
{
	struct expression_run run = {.inputs = inputs, .start = bytes};

	reader_init(&run.reader, bytes, size);
	if (initial)
		push(&run, *initial);
	for (size_t steps = 0; reader_left(&run.reader) > 0; steps++) {
		if (steps == EXPRESSION_STEPS_MAX || (inputs->steps_left && *inputs->steps_left == 0))
			return -EBADMSG;
		if (inputs->steps_left)
			--*inputs->steps_left;
		step(&run, read_u8(&run.reader));
		if (run.reader.failed)
			return -EBADMSG;
		if (run.err)
			return run.err;
	}
	*result = pop(&run);
	return run.err;
}
