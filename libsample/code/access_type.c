#include "code/access_type.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "code/control_flow.h"
#include "code/procedures.h"
#include "image/contents.h"

#define SEARCH_DEPTH    8  /* definitions in a chain, each of a register that the next one reads */
#define SEARCH_VISITS   48 /* definitions that one search looks at */
#define CALL_DISTANCE   8  /* instructions behind a call in which its result is looked for */
#define SPILLS_MAX      4  /* stores to one stack slot that are followed */
#define POINTER_SIZE    8
#define PROCEDURE_BYTES ((size_t)4 << 20) /* a longer one is not searched */

/* The procedure of the last access, with its reaching definitions. */
struct searched_procedure {
	struct code_part parts[FLOW_PARTS_MAX];
	struct flow_source source;
	struct instruction_list list;
	struct control_flow flow;
	struct reaching_defs defs;
	bool has_parts, has_defs;
};

struct access_types {
	const struct image_file *file;
	const struct symbol_table *functions, *variables;
	struct image_contents *contents;
	struct procedures *procedures;
	struct data_types *data;
	enum architecture architecture;
	struct searched_procedure procedure;
};

/* One search for what a register points to. */
struct type_search {
	struct access_types *types;
	uint32_t visited[SEARCH_VISITS]; /* indexes of instructions */
	size_t visit_count;
};

int
access_types_new(const struct image_file *file, struct image_lines *lines, const struct symbol_table *functions,
                 const struct symbol_table *variables, struct access_types **types)
{
	struct access_types *made = calloc(1, sizeof(*made));
	int err;

	*types = NULL;
	if (!made)
		return -ENOMEM;
	*made = (struct access_types){.file = file, .functions = functions, .variables = variables};
	err = image_contents_new(file, &made->contents);
	if (!err)
		err = architecture_of_machine(image_contents_machine(made->contents), &made->architecture);
	if (!err) {
		made->procedures = procedures_new(file, functions, made->contents);
		err = made->procedures ? 0 : -errno;
	}
	if (!err)
		err = data_types_new(file, lines, &made->data);
	if (err)
		access_types_free(made);
	else
		*types = made;
	return err;
}

static void
forget_procedure(struct searched_procedure *procedure)
{
	if (procedure->has_defs)
		reaching_defs_fini(&procedure->defs);
	control_flow_fini(&procedure->flow);
	instruction_list_free(&procedure->list);
	*procedure = (struct searched_procedure){.has_parts = false};
}

void
access_types_free(struct access_types *types)
{
	if (!types)
		return;
	forget_procedure(&types->procedure);
	data_types_free(types->data);
	procedures_free(types->procedures);
	image_contents_free(types->contents);
	free(types);
}

struct data_types *
access_types_data(struct access_types *types)
{
	return types->data;
}

/* ---- the procedure ---- */

static bool
has_address(const struct searched_procedure *procedure, uint64_t address)
{
	for (size_t i = 0; procedure->has_parts && i < procedure->source.part_count; i++) {
		if (address >= procedure->parts[i].address &&
		    address - procedure->parts[i].address < procedure->parts[i].size)
			return true;
	}
	return false;
}

static int
read_procedure(struct access_types *types, const struct symbol *symbol)
{
	struct searched_procedure *procedure = &types->procedure;
	const int count = procedures_decode_parts(types->procedures, symbol, procedure->parts, &procedure->list);
	size_t done, bytes = 0;
	int err;

	if (count < 0)
		return count;
	done = procedure->list.count ? 1 : 0;
	procedure->source = procedures_source(types->procedures, procedure->parts, (size_t)count);
	procedure->has_parts = true;
	for (int i = 0; i < count; i++)
		bytes += procedure->parts[i].size;
	if (bytes > PROCEDURE_BYTES)
		return -E2BIG;
	err = flow_parts_decode(procedures_decoder(types->procedures), procedure->parts + done, (size_t)count - done,
	                        &procedure->list);
	if (!err)
		err = control_flow_init(&procedure->flow, &procedure->list, procedures_decoder(types->procedures),
		                        &procedure->source);
	if (!err)
		err = jump_tables_read(&procedure->flow);
	if (!err) {
		err = reaching_defs_init(&procedure->defs, &procedure->flow);
		procedure->has_defs = !err;
	}
	return err;
}

/*
 * Make types->procedure the one that has `address`. One that cannot be read is kept without definitions, so that it is
 * read once only. 0, -ENOENT, -ENOMEM.
 */
static int
find_procedure(struct access_types *types, uint64_t address)
{
	const struct symbol *symbol;
	uint64_t offset;
	int err;

	if (has_address(&types->procedure, address))
		return types->procedure.has_defs ? 0 : -ENOENT;
	forget_procedure(&types->procedure);
	if (image_file_offset(types->file, address, &offset))
		return -ENOENT;
	symbol = symbol_table_find(types->functions, offset);
	if (!symbol)
		return -ENOENT;
	err = read_procedure(types, symbol);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	return has_address(&types->procedure, address) ? 0 : -ENOENT;
}

/* ---- types of what registers point to, and of what is in memory ---- */

/* Mnemonics of all architectures, by what the instructions do. */
static const char *const moves[] = {"mov", "movabs", "mv", NULL};
static const char *const sums[] = {"add", "adds", "addi", NULL};
static const char *const differences[] = {"sub", "subs", NULL};
static const char *const shifts[] = {"shl", "sal", "lsl", "slli", NULL};

static bool
is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++) {
		if (strcmp(name, *names) == 0)
			return true;
	}
	return false;
}

static unsigned
dwarf_register(enum architecture architecture, uint8_t reg)
{
	/* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi (System V ABI, AMD64 supplement, figure 3.36) */
	static const uint8_t x86_64[] = {0, 2, 1, 3, 7, 6, 4, 5};

	return architecture == ARCHITECTURE_X86_64 && reg < sizeof(x86_64) ? x86_64[reg] : reg;
}

static uint8_t
result_register(enum architecture architecture)
{
	return architecture == ARCHITECTURE_RISCV64 ? 10 : 0; /* rax, x0, a0 */
}

static bool
is_general(uint8_t reg)
{
	return reg < REGISTER_VECTOR;
}

static uint64_t
address_of(const struct access_types *types, uint32_t at)
{
	return types->procedure.flow.instructions[at].address;
}

/* Where a register points before the code at `pc`, known from a variable that is in it. */
static bool
variable_in_register(struct access_types *types, uint64_t pc, uint8_t reg, struct data_place *target)
{
	return data_types_in_register(types->data, pc, dwarf_register(types->architecture, reg), target);
}

static bool
variable_on_stack(struct access_types *types, uint32_t at, const struct instruction_operand *memory,
                  struct data_place *place)
{
	return data_types_on_stack(types->data, address_of(types, at),
	                           dwarf_register(types->architecture, memory->base), memory->value, place);
}

/* The variable at a constant address, among those that the code at instruction `at` may name. */
static bool
variable_at(struct access_types *types, uint32_t at, uint64_t address, struct data_place *place)
{
	const struct symbol *symbol = types->variables ? symbol_table_find(types->variables, address) : NULL;

	return data_types_at_address(types->data, address_of(types, at), address, symbol ? symbol->name : NULL,
	                             symbol ? symbol->offset : 0, place);
}

static bool find_target(struct type_search *search, uint32_t at, uint8_t reg, unsigned depth,
                        struct data_place *target);

/*
 * The constant part of an index, modulo 2^64: compilers add the distance of an array within its structure to the index,
 * before they scale it. What is not constant counts as 0.
 */
static uint64_t
constant_part(struct access_types *types, uint32_t at, uint8_t reg, unsigned depth)
{
	static const char *const copies[] = {"mov", "movsxd", "movsx", "movzx", "sxtw", "uxtw", "mv", NULL};
	const struct instruction_operand *last;
	struct instruction_detail detail;
	uint64_t sum;
	uint8_t from;

	if (!depth || !is_general(reg) || !reaching_defs_find_only(&types->procedure.defs, at, reg, &at) ||
	    !control_flow_detail(&types->procedure.flow, at, &detail))
		return 0;
	if (strcmp(detail.mnemonic, "cdqe") == 0)
		return constant_part(types, at, reg, depth - 1);
	if (detail.operand_count < 2 || detail.operands[0].kind != OPERAND_REGISTER || detail.operands[0].reg != reg)
		return 0;
	last = &detail.operands[detail.operand_count - 1];
	if (strcmp(detail.mnemonic, "lea") == 0 && !last->is_pc) {
		sum = (uint64_t)last->value + constant_part(types, at, last->base, depth - 1);
		return sum + constant_part(types, at, last->index, depth - 1) * last->scale;
	}
	from = detail.operands[detail.operand_count - 2].reg;
	if (last->kind == OPERAND_REGISTER && is_one_of(detail.mnemonic, copies))
		return constant_part(types, at, last->reg, depth - 1);
	sum = constant_part(types, at, from, depth - 1);
	if (is_one_of(detail.mnemonic, sums) && last->kind == OPERAND_IMMEDIATE)
		return sum + ((uint64_t)last->value << (last->shift & 63));
	if (is_one_of(detail.mnemonic, sums) && last->kind == OPERAND_REGISTER)
		return sum + (constant_part(types, at, last->reg, depth - 1) << (last->shift & 63));
	if (is_one_of(detail.mnemonic, differences) && last->kind == OPERAND_IMMEDIATE)
		return sum - ((uint64_t)last->value << (last->shift & 63));
	if (is_one_of(detail.mnemonic, shifts) && last->kind == OPERAND_IMMEDIATE)
		return sum << ((uint64_t)last->value & 63);
	return 0;
}

/* Modulo 2^64, as the machine adds: instructions of a damaged file may have any displacement. */
static void
move_place(struct data_place *place, uint64_t distance)
{
	place->offset = (int64_t)((uint64_t)place->offset + distance);
}

/* The place that a memory operand of instruction `at` accesses. */
static bool
find_place(struct type_search *search, uint32_t at, const struct instruction_operand *memory, unsigned depth,
           struct data_place *place)
{
	struct access_types *types = search->types;
	uint64_t address;
	uint8_t index;

	if (memory->is_pc || memory->base == REGISTER_NONE)
		return variable_at(types, at, (uint64_t)memory->value, place);
	if (!is_general(memory->base))
		return false;
	if (control_flow_is_stack(&types->procedure.flow, memory->base) && variable_on_stack(types, at, memory, place))
		return true;
	if (reaching_defs_constant_before(&types->procedure.defs, at, memory->base, &address) &&
	    variable_at(types, at, address + (uint64_t)memory->value, place))
		return true;
	/* with a scale of 1, either register may have the pointer: compilers encode the two in any order */
	if (find_target(search, at, memory->base, depth, place)) {
		index = memory->index;
	} else if (memory->scale == 1 && is_general(memory->index) &&
	           find_target(search, at, memory->index, depth, place)) {
		index = memory->base;
	} else {
		/* DWARF may say that a variable is still in memory at another register plus an offset */
		return variable_on_stack(types, at, memory, place);
	}
	move_place(place, (uint64_t)memory->value);
	if (is_general(index))
		move_place(place, constant_part(types, at, index, SEARCH_DEPTH) * memory->scale);
	return true;
}

/* Where a pointer points that is loaded from the global offset table: it has the address of a variable. */
static bool
variable_of_slot(struct access_types *types, uint32_t at, const struct instruction_operand *memory,
                 struct data_place *target)
{
	uint64_t slot = (uint64_t)memory->value, base, address = 0;
	const uint8_t *bytes;
	size_t size;

	if (!memory->is_pc) {
		if (!is_general(memory->base) || memory->index != REGISTER_NONE ||
		    !reaching_defs_constant_before(&types->procedure.defs, at, memory->base, &base))
			return false;
		slot += base;
	}
	bytes = image_contents_constants(types->contents, slot, &size);
	if (!bytes || size < POINTER_SIZE)
		return false;
	for (size_t i = POINTER_SIZE; i-- > 0;)
		address = address << 8 | bytes[i];
	return address && variable_at(types, at, address, target);
}

static bool
is_visited(struct type_search *search, uint32_t at)
{
	for (size_t i = 0; i < search->visit_count; i++) {
		if (search->visited[i] == at)
			return true;
	}
	if (search->visit_count == SEARCH_VISITS)
		return true;
	search->visited[search->visit_count++] = at;
	return false;
}

/* Where a pointer points that the compiler spilled to the stack, where no variable is, and that is loaded again. */
static bool
spilled_target(struct type_search *search, const struct instruction_operand *memory, unsigned depth,
               struct data_place *target)
{
	struct stack_spill spills[SPILLS_MAX];
	const size_t count = memory->index != REGISTER_NONE
	                             ? 0
	                             : reaching_defs_spills(&search->types->procedure.defs, memory->base, memory->value,
	                                                    spills, SPILLS_MAX);

	for (size_t i = 0; i < count && depth; i++) {
		if (!is_visited(search, spills[i].at) &&
		    find_target(search, spills[i].at, spills[i].reg, depth - 1, target))
			return true;
	}
	return false;
}

/* Where the pointer points that instruction `at` loads from `distance` bytes behind its memory operand. */
static bool
loaded_target(struct type_search *search, uint32_t at, const struct instruction_operand *memory, uint64_t distance,
              unsigned depth, struct data_place *target)
{
	struct instruction_operand cell = *memory;
	struct data_place place;

	cell.value = (int64_t)((uint64_t)cell.value + distance);
	if (find_place(search, at, &cell, depth, &place))
		return data_types_pointed(search->types->data, &place, target);
	return variable_of_slot(search->types, at, &cell, target) || spilled_target(search, &cell, depth, target);
}

/* The memory operand, and its index in *at. NULL: there is none, or more than one. */
static const struct instruction_operand *
memory_operand(const struct instruction_detail *detail, size_t *at)
{
	const struct instruction_operand *found = NULL;

	for (size_t i = 0; i < detail->operand_count; i++) {
		if (detail->operands[i].kind != OPERAND_MEMORY)
			continue;
		if (found)
			return NULL;
		found = &detail->operands[i];
		*at = i;
	}
	return found;
}

/* Where the result of an addition or subtraction points: one operand is a pointer, the other an offset. */
static bool
sum_target(struct type_search *search, uint32_t at, const struct instruction_detail *detail, bool is_negative,
           unsigned depth, struct data_place *target)
{
	const struct instruction_operand *last = &detail->operands[detail->operand_count - 1];
	const struct instruction_operand *from = &detail->operands[detail->operand_count - 2];
	struct access_types *types = search->types;
	uint64_t distance;

	if (from->kind != OPERAND_REGISTER || !is_general(from->reg))
		return false;
	if (last->kind == OPERAND_IMMEDIATE) {
		distance = (uint64_t)last->value << (last->shift & 63);
		distance = is_negative ? -distance : distance;
		if (data_types_on_stack(types->data, address_of(types, at),
		                        dwarf_register(types->architecture, from->reg), (int64_t)distance, target))
			return true;
		if (!find_target(search, at, from->reg, depth, target))
			return false;
		move_place(target, distance);
		return true;
	}
	if (is_negative) /* the distance between two pointers */
		return false;
	if (find_target(search, at, from->reg, depth, target)) {
		if (last->kind == OPERAND_REGISTER)
			move_place(target, constant_part(types, at, last->reg, SEARCH_DEPTH) << (last->shift & 63));
		return true;
	}
	if (last->kind == OPERAND_MEMORY ? !loaded_target(search, at, last, 0, depth, target)
	                                 : last->kind != OPERAND_REGISTER || !is_general(last->reg) ||
	                                           !find_target(search, at, last->reg, depth, target))
		return false;
	move_place(target, constant_part(types, at, from->reg, SEARCH_DEPTH));
	return true;
}

/* Where `reg` points after instruction `at`, which writes it. */
static bool
made_target(struct type_search *search, uint32_t at, uint8_t reg, unsigned depth, struct data_place *target)
{
	struct access_types *types = search->types;
	const struct instruction *instruction = &types->procedure.flow.instructions[at];
	const struct instruction_operand *memory;
	struct instruction_detail detail;
	size_t memory_at = 0, written = 0;
	uint64_t address;

	if (!control_flow_detail(&types->procedure.flow, at, &detail) || !detail.operand_count)
		return false;
	if (reaching_defs_constant_of(&types->procedure.defs, at, reg, &address))
		return variable_at(types, at, address, target);
	memory = memory_operand(&detail, &memory_at);
	while (written < detail.operand_count &&
	       (detail.operands[written].kind != OPERAND_REGISTER || detail.operands[written].reg != reg))
		written++;
	if (strcmp(detail.mnemonic, "lea") == 0)
		return memory && find_place(search, at, memory, depth, target);
	if (is_one_of(detail.mnemonic, sums) && detail.operand_count >= 2)
		return sum_target(search, at, &detail, false, depth, target);
	if (is_one_of(detail.mnemonic, differences) && detail.operand_count >= 2)
		return sum_target(search, at, &detail, true, depth, target);
	/* of a pair that is loaded, the second register comes from behind the first (aarch64: ldp x0, x1, [x2]) */
	if (memory && written < memory_at && instruction->loads && detail.operands[written].size == POINTER_SIZE)
		return loaded_target(search, at, memory, written * POINTER_SIZE, depth, target);
	/* the base register is advanced within an array: [x0, #8]!, [x0], #8 */
	if (memory && memory->base == reg && types->architecture == ARCHITECTURE_AARCH64)
		return find_target(search, at, reg, depth, target);
	if (memory || detail.operand_count != 2 || detail.operands[1].kind != OPERAND_REGISTER ||
	    !is_general(detail.operands[1].reg))
		return false;
	if (strncmp(detail.mnemonic, "cmov", 4) == 0 && find_target(search, at, reg, depth, target))
		return true;
	if (!is_one_of(detail.mnemonic, moves) && strncmp(detail.mnemonic, "cmov", 4) != 0)
		return false;
	return find_target(search, at, detail.operands[1].reg, depth, target);
}

/* Where `reg` points before instruction `at`, if it has the result of a call shortly before (CALL_DISTANCE). */
static bool
result_target(struct access_types *types, uint32_t at, uint8_t reg, struct data_place *target)
{
	const struct searched_procedure *procedure = &types->procedure;

	if (reg != result_register(types->architecture))
		return false;
	for (unsigned i = 0; i < CALL_DISTANCE; i++) {
		at = reaching_defs_only_source(&procedure->defs, at);
		if (at == CONTROL_OUTSIDE)
			return false;
		if (control_flow_changes(&procedure->flow, at, reg))
			return procedure->flow.instructions[at].flow == FLOW_CALL &&
			       data_types_result(types->data, procedure->flow.instructions[at].target, target);
	}
	return false;
}

/* Where `reg` points before instruction `at`, by the first of its definitions for which that is known. */
static bool
defined_target(struct type_search *search, uint32_t at, uint8_t reg, unsigned depth, struct data_place *target)
{
	struct access_types *types = search->types;
	const struct instruction *instructions = types->procedure.flow.instructions;
	struct definition_set definitions;

	reaching_defs_find(&types->procedure.defs, at, reg, &definitions);
	if (definitions.is_lost)
		return false;
	for (size_t i = 0; i < definitions.count; i++) {
		const uint32_t made = definitions.at[i];

		/* a variable may be in the register right behind its definition, and no longer at instruction `at` */
		if (!is_visited(search, made) &&
		    (variable_in_register(types, instructions[made].address + instructions[made].size, reg, target) ||
		     made_target(search, made, reg, depth, target)))
			return true;
	}
	if (definitions.from_call && result_target(types, at, reg, target))
		return true;
	return definitions.from_caller && variable_in_register(types, instructions[0].address, reg, target);
}

/* Where `reg` points before instruction `at`. */
static bool
find_target(struct type_search *search, uint32_t at, uint8_t reg, unsigned depth, struct data_place *target)
{
	struct access_types *types = search->types;

	return variable_in_register(types, address_of(types, at), reg, target) ||
	       (depth > 0 && reg != architecture_registers(types->architecture)->stack &&
	        defined_target(search, at, reg, depth - 1, target));
}

int
access_types_find(struct access_types *types, uint64_t address, struct access_type *access)
{
	struct type_search search = {.types = types};
	const struct instruction_operand *memory;
	struct instruction_detail detail;
	struct data_place place;
	size_t memory_at;
	uint32_t at;
	int err = find_procedure(types, address);

	if (err)
		return err;
	at = control_flow_find(&types->procedure.flow, address);
	if (at >= CONTROL_INSIDE ||
	    (!types->procedure.flow.instructions[at].loads && !types->procedure.flow.instructions[at].stores) ||
	    !control_flow_detail(&types->procedure.flow, at, &detail))
		return -ENOENT;
	memory = memory_operand(&detail, &memory_at);
	if (!memory || !find_place(&search, at, memory, SEARCH_DEPTH, &place) ||
	    !data_types_size(types->data, place.type))
		return -ENOENT;
	*access = (struct access_type){
		.type = place.type,
		.offset = data_types_offset(types->data, &place),
		.size = types->procedure.flow.instructions[at].access_size,
	};
	return 0;
}
