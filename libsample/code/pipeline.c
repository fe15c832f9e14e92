#include "code/pipeline.h"

#include <string.h>

static const char *const names[OPERATION_COUNT] = {
	[CLASS_NOP] = "nop",
	[CLASS_INTEGER] = "integer",
	[CLASS_SHIFT] = "shift",
	[CLASS_ADDRESS] = "address",
	[CLASS_MOVE] = "move",
	[CLASS_SELECT] = "select",
	[CLASS_MULTIPLY] = "multiply",
	[CLASS_DIVIDE] = "divide",
	[CLASS_BIT] = "bit",
	[CLASS_LOAD] = "load",
	[CLASS_STORE] = "store",
	[CLASS_PREFETCH] = "prefetch",
	[CLASS_ATOMIC] = "atomic",
	[CLASS_BARRIER] = "barrier",
	[CLASS_BRANCH] = "branch",
	[CLASS_JUMP] = "jump",
	[CLASS_CALL] = "call",
	[CLASS_RETURN] = "return",
	[CLASS_FLOAT_ADD] = "float_add",
	[CLASS_FLOAT_MULTIPLY] = "float_multiply",
	[CLASS_FLOAT_FUSED] = "float_fused",
	[CLASS_FLOAT_DIVIDE] = "float_divide",
	[CLASS_FLOAT_ROOT] = "float_root",
	[CLASS_FLOAT_COMPARE] = "float_compare",
	[CLASS_FLOAT_CONVERT] = "float_convert",
	[CLASS_FLOAT_MOVE] = "float_move",
	[CLASS_VECTOR_INTEGER] = "vector_integer",
	[CLASS_VECTOR_MULTIPLY] = "vector_multiply",
	[CLASS_VECTOR_SHUFFLE] = "vector_shuffle",
	[CLASS_CRYPTO] = "crypto",
	[CLASS_STRING] = "string",
	[CLASS_SYSTEM] = "system",
	[CLASS_UNKNOWN] = "unknown",
	[OPERATION_LOAD_VECTOR] = "load_vector",
	[OPERATION_STORE_VECTOR] = "store_vector",
	[OPERATION_STORE_FOLDED] = "store_folded",
	[OPERATION_TRANSFER] = "transfer",
	[OPERATION_TRANSFER_BACK] = "transfer_back",
	[OPERATION_ADDRESS_THREE] = "address_three",
	[OPERATION_MULTIPLY_TWO] = "multiply_two",
	[OPERATION_DIVIDE_WIDE] = "divide_wide",
	[OPERATION_SHIFT_BY_REGISTER] = "shift_by_register",
};

const char *
pipeline_operation_name(unsigned operation)
{
	return operation < OPERATION_COUNT ? names[operation] : "?";
}

static bool
is_vector(unsigned reg)
{
	return reg >= REGISTER_VECTOR && reg < REGISTER_FLAGS;
}

static bool
has_register(const uint8_t *registers, unsigned count, bool vector)
{
	for (unsigned i = 0; i < count; i++)
		if (vector ? is_vector(registers[i]) : registers[i] < REGISTER_VECTOR)
			return true;
	return false;
}

/* From general registers to vector ones, or back when `back`. */
static bool
moves_between_files(const struct instruction *instruction, bool back)
{
	unsigned data = instruction->read_count - instruction->address_reads;

	return !instruction->loads && !instruction->stores && has_register(instruction->reads, data, back) &&
	       has_register(instruction->writes, instruction->write_count, !back);
}

static bool
is_shift_by_register(const struct instruction *instruction)
{
	return instruction->class == CLASS_SHIFT && instruction->read_count - instruction->address_reads > 1 &&
	       instruction->write_count && instruction->writes[instruction->write_count - 1] == REGISTER_FLAGS;
}

const struct pipeline_operation *
pipeline_operation(const struct pipeline *pipeline, const struct instruction *instruction)
{
	unsigned class = instruction->class < CLASS_COUNT ? instruction->class : CLASS_UNKNOWN;

	if (class == CLASS_FLOAT_MOVE && moves_between_files(instruction, false))
		return &pipeline->operations[OPERATION_TRANSFER];
	if (class == CLASS_FLOAT_MOVE && moves_between_files(instruction, true))
		return &pipeline->operations[OPERATION_TRANSFER_BACK];
	if (class == CLASS_ADDRESS && instruction->is_wide)
		return &pipeline->operations[OPERATION_ADDRESS_THREE];
	if (class == CLASS_MULTIPLY && instruction->write_count > 1 && instruction->writes[1] < REGISTER_VECTOR)
		return &pipeline->operations[OPERATION_MULTIPLY_TWO];
	if (class == CLASS_DIVIDE && instruction->is_wide)
		return &pipeline->operations[OPERATION_DIVIDE_WIDE];
	if (is_shift_by_register(instruction))
		return &pipeline->operations[OPERATION_SHIFT_BY_REGISTER];
	return &pipeline->operations[class];
}

static bool
touches_vectors(const struct instruction *instruction)
{
	return has_register(instruction->writes, instruction->write_count, true) ||
	       has_register(instruction->reads, instruction->read_count - instruction->address_reads, true);
}

const struct pipeline_operation *
pipeline_load_operation(const struct pipeline *pipeline, const struct instruction *instruction)
{
	return &pipeline->operations[touches_vectors(instruction) ? (unsigned)OPERATION_LOAD_VECTOR
	                                                          : (unsigned)CLASS_LOAD];
}

const struct pipeline_operation *
pipeline_store_operation(const struct pipeline *pipeline, const struct instruction *instruction)
{
	if (instruction->class != CLASS_STORE)
		return &pipeline->operations[OPERATION_STORE_FOLDED];
	return &pipeline->operations[touches_vectors(instruction) ? (unsigned)OPERATION_STORE_VECTOR
	                                                          : (unsigned)CLASS_STORE];
}
