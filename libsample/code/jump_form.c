#include "code/jump_form.h"

#include <string.h>

#define COPIES_MAX   8
#define EPILOGUE_MAX 16 /* instructions */

static bool
is_name(const struct instruction_detail *detail, const char *name)
{
	return strcmp(detail->mnemonic, name) == 0;
}

static bool
is_stack(const struct tracer *tracer, uint8_t reg)
{
	const struct architecture_registers *registers = architecture_registers(tracer->map->source->architecture);

	return reg == registers->stack || reg == registers->frame;
}

/* gcc without optimization: the index is scaled by a lea of its own, `lea (,%rax,4), %rdx`. */
static bool
index_unscaled(struct tracer *tracer, struct jump_form *form)
{
	struct instruction_detail detail;
	uint32_t at;

	if (!tracer_definition(tracer, form->index_at, form->index, &at) || !code_map_detail(tracer->map, at, &detail))
		return false;
	if (!is_name(&detail, "lea") || detail.operand_count != 2 || detail.operands[1].base != REGISTER_NONE ||
	    detail.operands[1].index == REGISTER_NONE || detail.operands[1].scale != form->entry_size ||
	    detail.operands[1].value)
		return false;
	form->index = detail.operands[1].index;
	form->index_at = at;
	return true;
}

/* Is `memory`, read by instruction `at`, an entry of a constant table? Fills in address and index. */
static bool
table_operand(struct tracer *tracer, uint32_t at, const struct instruction_operand *memory, struct jump_form *form)
{
	uint32_t scale = memory->shift ? UINT32_C(1) << (memory->shift & 7) : memory->scale;
	uint64_t base = 0;

	form->index = REGISTER_NONE;
	if (memory->is_pc && form->entry_size < 8) {
		form->address = (uint64_t)memory->value;
		form->is_single = true;
		return true;
	}
	if (memory->is_pc || memory->index == REGISTER_NONE)
		return false;
	form->index_at = at;
	form->index = memory->index;
	if (memory->base != REGISTER_NONE && !tracer_constant(tracer, at, memory->base, &base)) {
		/* without a scale, index and base may stand the other way round */
		if (scale > 1 || !tracer_constant(tracer, at, memory->index, &base))
			return false;
		form->index = memory->base;
	}
	form->address = base + (uint64_t)memory->value;
	if (scale == form->entry_size)
		return true;
	return scale <= 1 && index_unscaled(tracer, form);
}

/* Loads of an entry, by name: how many bytes, and whether their sign is kept. */
static bool
load_width(const struct instruction_detail *detail, uint8_t *size, bool *is_signed)
{
	static const struct {
		const char *name;
		uint8_t size; /* 0: that of the operand at */
		uint8_t operand;
		bool is_signed;
	} rows[] = {
		{"mov", 0, 1, false},  {"movzx", 0, 1, false}, {"movsx", 0, 1, true}, {"movsxd", 0, 1, true},
		{"ldr", 0, 0, false},  {"ldrb", 1, 0, false},  {"ldrh", 2, 0, false}, {"ldrsb", 1, 0, true},
		{"ldrsh", 2, 0, true}, {"ldrsw", 4, 0, true},  {"add", 0, 1, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!is_name(detail, rows[i].name))
			continue;
		*size = rows[i].size ? rows[i].size : detail->operands[rows[i].operand].size;
		*is_signed = rows[i].is_signed;
		return *size == 1 || *size == 2 || *size == 4 || *size == 8;
	}
	return false;
}

static bool
is_extension(const struct instruction_detail *detail, bool *is_signed)
{
	if (is_name(detail, "movsxd") || is_name(detail, "movsx") || is_name(detail, "sxtw") ||
	    is_name(detail, "sxth") || is_name(detail, "sxtb")) {
		*is_signed = true;
		return true;
	}
	return is_name(detail, "mov") || is_name(detail, "movzx");
}

/* Is `reg` before `at` an entry that was loaded from a table? */
static bool
entry_loaded(struct tracer *tracer, uint32_t at, uint8_t reg, struct jump_form *form)
{
	struct instruction_detail detail;
	bool is_signed = false, was_signed;

	for (int i = 0; i < COPIES_MAX; i++) {
		if (!tracer_definition(tracer, at, reg, &at) || !code_map_detail(tracer->map, at, &detail))
			return false;
		if (is_name(&detail, "cdqe")) {
			is_signed = true;
			continue;
		}
		if (detail.operand_count != 2 || detail.operands[0].kind != OPERAND_REGISTER ||
		    detail.operands[0].reg != reg)
			return false;
		if (detail.operands[1].kind == OPERAND_MEMORY) {
			if (!load_width(&detail, &form->entry_size, &was_signed))
				return false;
			form->is_signed |= is_signed || was_signed;
			return table_operand(tracer, at, &detail.operands[1], form);
		}
		if (detail.operands[1].kind != OPERAND_REGISTER || !is_extension(&detail, &is_signed))
			return false;
		reg = detail.operands[1].reg;
	}
	return false;
}

/* A sum of a constant and an entry: `add to, with` or `add to, base, entry, sxtb #2`. */
static bool
sum_form(struct tracer *tracer, uint32_t at, const struct instruction_detail *detail, struct jump_form *form)
{
	const struct instruction_operand *left = &detail->operands[detail->operand_count - 2];
	const struct instruction_operand *right = &detail->operands[detail->operand_count - 1];

	*form = (struct jump_form){0};
	if (left->kind != OPERAND_REGISTER)
		return false;
	if (right->kind == OPERAND_MEMORY) { /* add (%rdx,%rax,8), %rcx */
		return load_width(detail, &form->entry_size, &form->is_signed) &&
		       tracer_constant(tracer, at, left->reg, &form->base) && table_operand(tracer, at, right, form);
	}
	if (right->kind != OPERAND_REGISTER)
		return false;
	form->shift = right->shift;
	form->is_signed = right->is_signed;
	if (tracer_constant(tracer, at, left->reg, &form->base))
		return entry_loaded(tracer, at, right->reg, form);
	if (right->shift || right->is_extended || !tracer_constant(tracer, at, right->reg, &form->base))
		return false;
	return entry_loaded(tracer, at, left->reg, form);
}

/* The same by `lea (base,entry), to`. */
static bool
lea_form(struct tracer *tracer, uint32_t at, const struct instruction_operand *sum, struct jump_form *form)
{
	*form = (struct jump_form){0};
	if (sum->kind != OPERAND_MEMORY || sum->is_pc || sum->base == REGISTER_NONE || sum->index == REGISTER_NONE ||
	    sum->scale != 1 || sum->value)
		return false;
	if (tracer_constant(tracer, at, sum->base, &form->base))
		return entry_loaded(tracer, at, sum->index, form);
	return tracer_constant(tracer, at, sum->index, &form->base) && entry_loaded(tracer, at, sum->base, form);
}

/* A jump through memory, or through a register that instruction `at` loaded from there. */
static enum jump_kind
memory_form(struct tracer *tracer, uint32_t at, const struct instruction_operand *memory, struct jump_form *form)
{
	*form = (struct jump_form){.entry_size = 8};
	if (memory->is_pc) {
		form->address = (uint64_t)memory->value;
		return JUMP_SLOT;
	}
	if (memory->index != REGISTER_NONE)
		return table_operand(tracer, at, memory, form) ? JUMP_TABLE : JUMP_UNKNOWN;
	/* what was put on the stack may be anything */
	return is_stack(tracer, memory->base) ? JUMP_UNKNOWN : JUMP_POINTER;
}

/* The address of a label of this procedure. */
static enum jump_kind
label_form(struct tracer *tracer, uint32_t at, uint8_t reg, struct jump_form *form)
{
	uint64_t address;

	if (!tracer_made_constant(tracer, at, reg, &address) || code_map_find(tracer->map, address) >= CODE_INSIDE)
		return JUMP_UNKNOWN;
	*form = (struct jump_form){.address = address, .is_label = true, .index = REGISTER_NONE};
	return JUMP_TABLE;
}

static enum jump_kind
definition_form(struct tracer *tracer, uint32_t at, uint8_t reg, struct jump_form *form, uint8_t *copied)
{
	struct instruction_detail detail;

	*copied = REGISTER_NONE;
	if (!code_map_detail(tracer->map, at, &detail) || detail.operand_count < 2)
		return JUMP_UNKNOWN;
	if (is_name(&detail, "ldp") && detail.operands[2].kind == OPERAND_MEMORY) /* a function and its argument */
		return is_stack(tracer, detail.operands[2].base) ? JUMP_UNKNOWN : JUMP_POINTER;
	if (detail.operands[0].kind != OPERAND_REGISTER || detail.operands[0].reg != reg)
		return JUMP_UNKNOWN;
	if (is_name(&detail, "add") && sum_form(tracer, at, &detail, form))
		return JUMP_TABLE;
	if (is_name(&detail, "lea") && lea_form(tracer, at, &detail.operands[1], form))
		return JUMP_TABLE;
	if (is_name(&detail, "xor") && detail.operands[1].kind == OPERAND_MEMORY)
		return JUMP_POINTER; /* glibc's guarded pointers */
	if (is_name(&detail, "mov") && detail.operands[1].kind == OPERAND_REGISTER)
		*copied = detail.operands[1].reg;
	if ((is_name(&detail, "mov") || is_name(&detail, "ldr") || is_name(&detail, "ldur")) &&
	    detail.operands[1].kind == OPERAND_MEMORY)
		return memory_form(tracer, at, &detail.operands[1], form);
	return label_form(tracer, at, reg, form);
}

static bool
is_same_table(const struct jump_form *a, const struct jump_form *b)
{
	return a->address == b->address && a->base == b->base && a->entry_size == b->entry_size &&
	       a->is_signed == b->is_signed && a->shift == b->shift && a->is_label == b->is_label;
}

static void
form_join(struct jump_forms *forms, const struct jump_form *form)
{
	for (size_t i = 0; i < forms->count; i++) {
		if (!is_same_table(&forms->at[i], form))
			continue;
		forms->at[i].index = REGISTER_NONE;
		return;
	}
	forms->at[forms->count++] = *form;
}

/* Dispatch from several places: all take a pointer, or all an entry of a table or a label. */
static enum jump_kind
joined_form(struct tracer *tracer, const struct definitions *definitions, uint8_t reg, struct jump_forms *forms)
{
	enum jump_kind kind = JUMP_UNKNOWN;

	forms->count = 0;
	for (size_t i = 0; i < definitions->count; i++) {
		struct jump_form form = {0};
		enum jump_kind other = definition_form(tracer, definitions->at[i], reg, &form, &(uint8_t){0});

		if (other == JUMP_SLOT)
			other = JUMP_POINTER;
		if (other == JUMP_UNKNOWN || (i > 0 && other != kind))
			return JUMP_UNKNOWN;
		kind = other;
		form_join(forms, &form);
	}
	return kind == JUMP_TABLE && (definitions->from_call || definitions->from_caller) ? JUMP_UNKNOWN : kind;
}

static enum jump_kind
register_form(struct tracer *tracer, uint32_t at, uint8_t reg, struct jump_forms *forms)
{
	for (int i = 0; i < COPIES_MAX; i++) {
		struct definitions definitions;
		enum jump_kind kind;
		uint8_t copied;

		tracer_definitions(tracer, at, reg, &definitions);
		if (definitions.is_lost)
			return JUMP_UNKNOWN;
		if (!definitions.count)
			return definitions.from_caller || definitions.from_call ? JUMP_POINTER : JUMP_UNKNOWN;
		if (definitions.count > 1 || definitions.from_call || definitions.from_caller)
			return joined_form(tracer, &definitions, reg, forms);
		at = definitions.at[0];
		kind = definition_form(tracer, at, reg, &forms->at[0], &copied);
		if (copied == REGISTER_NONE)
			return kind;
		reg = copied;
	}
	return JUMP_UNKNOWN;
}

static bool
releases_stack(const struct code_map *map, uint32_t index)
{
	struct instruction_detail detail;
	uint8_t sp = architecture_registers(map->source->architecture)->stack;

	if (!instruction_changes(map, index, sp) || !code_map_detail(map, index, &detail) || !detail.operand_count)
		return false;
	if (map->source->architecture == ARCHITECTURE_AARCH64)
		return is_name(&detail, "ldp") || is_name(&detail, "ldr") || is_name(&detail, "add");
	if (map->source->architecture == ARCHITECTURE_RISCV64)
		return is_name(&detail, "addi") && detail.operands[2].value > 0;
	if (is_name(&detail, "add"))
		return detail.operands[0].reg == sp && detail.operands[1].kind == OPERAND_IMMEDIATE &&
		       detail.operands[1].value > 0;
	return is_name(&detail, "pop") || is_name(&detail, "leave");
}

/* What jumps right after it gave its frame back leaves the procedure. */
static bool
follows_epilogue(const struct code_map *map, uint32_t jump)
{
	for (uint32_t i = 0; i < EPILOGUE_MAX && jump > 0; i++) {
		jump--;
		if (map->ways[jump] & WAY_ENDS)
			return false;
		if (releases_stack(map, jump))
			return true;
	}
	return false;
}

static enum jump_kind
operand_form(struct tracer *tracer, uint32_t jump, struct jump_forms *forms)
{
	struct instruction_detail detail;

	forms->count = 1;
	if (!code_map_detail(tracer->map, jump, &detail) || detail.operand_count < 1)
		return JUMP_UNKNOWN;
	if (detail.operands[0].kind == OPERAND_MEMORY)
		return memory_form(tracer, jump, &detail.operands[0], &forms->at[0]);
	if (detail.operands[0].kind == OPERAND_REGISTER)
		return register_form(tracer, jump, detail.operands[0].reg, forms);
	return JUMP_UNKNOWN;
}

enum jump_kind
jump_form_find(struct tracer *tracer, uint32_t jump, struct jump_forms *forms)
{
	enum jump_kind kind = operand_form(tracer, jump, forms);

	return kind == JUMP_UNKNOWN && follows_epilogue(tracer->map, jump) ? JUMP_POINTER : kind;
}
