#include "code/uops.h"

#include <string.h>

static bool
reads_flags(const struct instruction *instruction)
{
	for (unsigned i = 0; i < instruction->read_count; i++)
		if (instruction->reads[i] == REGISTER_FLAGS)
			return true;
	return false;
}

/* A compare, a test or, on some CPUs, arithmetic between registers, and the branch by its flags: one micro-operation.
 */
static bool
is_fused(const struct pipeline *pipeline, const struct instruction *instruction, const struct instruction *next)
{
	unsigned writes = instruction->write_count;

	if (!next || next->class != CLASS_BRANCH || next->read_count != 1 || next->reads[0] != REGISTER_FLAGS)
		return false;
	if (instruction->class != CLASS_INTEGER || instruction->stores || !writes ||
	    instruction->writes[writes - 1] != REGISTER_FLAGS)
		return false;
	if (writes == 1)
		return pipeline->fuses_compare_and_branch;
	return pipeline->fuses_arithmetic_and_branch && writes == 2 && !instruction->loads && !reads_flags(instruction);
}

/* A move or a zeroing that register renaming does: no unit, no time. */
static bool
is_eliminated(const struct pipeline *pipeline, const struct instruction *instruction)
{
	if (instruction->loads || instruction->stores || pipeline->kind == PIPELINE_KIND_IN_ORDER)
		return false;
	if (instruction->clears)
		return true;
	if (!pipeline->eliminates_moves || instruction->read_count != 1 || instruction->write_count != 1)
		return false;
	return instruction->class == CLASS_MOVE ||
	       (instruction->class == CLASS_FLOAT_MOVE &&
	        (instruction->reads[0] < REGISTER_VECTOR) == (instruction->writes[0] < REGISTER_VECTOR));
}

static void
add_uses(struct uops *uops, const struct pipeline_operation *operation)
{
	for (unsigned i = 0; i < operation->use_count; i++)
		uops->uses[uops->use_count++] = operation->uses[i];
}

static unsigned
load_latency(const struct pipeline *pipeline, const struct instruction *instruction)
{
	unsigned latency = pipeline_load_operation(pipeline, instruction)->latency;

	if (instruction->is_scaled)
		latency += pipeline->scaled_index_cycles;
	if (instruction->extends_sign)
		latency += pipeline->extended_sign_cycles;
	return latency;
}

void
uops_of(const struct pipeline *pipeline, const struct instruction *instruction, const struct instruction *next,
        struct uops *uops)
{
	const struct pipeline_operation *operation = pipeline_operation(pipeline, instruction);

	memset(uops, 0, offsetof(struct uops, uses));
	if (is_eliminated(pipeline, instruction)) {
		uops->micro_operations = 1;
		return;
	}
	if (instruction->class == CLASS_LOAD)
		operation = pipeline_load_operation(pipeline, instruction);
	if (instruction->class == CLASS_STORE)
		operation = pipeline_store_operation(pipeline, instruction);
	uops->latency = operation->latency;
	uops->upper_latency = operation->upper_latency;
	uops->micro_operations = operation->micro_operations;
	if (is_fused(pipeline, instruction, next))
		uops->micro_operations = 0;
	else
		add_uses(uops, operation);
	if (instruction->loads || instruction->class == CLASS_LOAD)
		uops->load_latency = load_latency(pipeline, instruction);
	if (instruction->class == CLASS_LOAD) {
		uops->latency = 0;
	} else if (instruction->loads) {
		add_uses(uops, pipeline_load_operation(pipeline, instruction));
		uops->micro_operations += pipeline->folded_load;
	}
	if (instruction->stores && instruction->class != CLASS_STORE) {
		add_uses(uops, pipeline_store_operation(pipeline, instruction));
		uops->micro_operations += pipeline->folded_store;
	}
}

bool
uops_is_written_back(const struct instruction *instruction, unsigned write)
{
	unsigned first_address = instruction->read_count - instruction->address_reads;

	if (!instruction->loads && !instruction->stores)
		return false;
	/* What is loaded is written first; of a return it is no register. */
	if (instruction->loads && write == 0 && instruction->class != CLASS_RETURN)
		return false;
	for (unsigned i = first_address; i < instruction->read_count; i++)
		if (instruction->reads[i] == instruction->writes[write])
			return true;
	return false;
}

/* mul writes rax, rdx and the flags; mulx, which leaves the flags alone, first the register of the upper half. */
bool
uops_is_upper_half(const struct instruction *instruction, unsigned write)
{
	bool is_pair = instruction->class == CLASS_MULTIPLY && instruction->write_count > 1 &&
	               instruction->writes[1] < REGISTER_VECTOR;

	return is_pair && write == (instruction->write_count > 2 ? 1 : 0);
}
