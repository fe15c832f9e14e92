/*
 * Where indirect jumps go: first the form of each jump is found, what it jumps through (jump_form_find()), then a bound
 * of its index (index_bound()), then the table is read (jump_read()), in rounds, because tables lead to code with
 * further jumps.
 */
#include "code/control_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define COPIES_MAX            8
#define EPILOGUE_MAX          16 /* instructions */
#define JUMP_TABLES_STEPS_MAX 96 /* back from a jump, for its index's bound */
#define COMPARES_MAX          4
#define BOUND_MAX             65536
#define NARROW_BITS           12    /* a value that has no more of them bounds a table by itself */
#define ENTRIES_MAX           65536 /* of one table */
#define UNCOMPARED_MIN        2     /* entries that a table has at least when nothing says how many */
#define TARGETS_BASE          65536 /* of all tables; and for each instruction: */
#define TARGETS_EACH          8
#define ROUNDS_MAX            8       /* a table may lead to code with another */
#define READS_BASE            1000000 /* entries that are read, of all tables; and for each instruction: */
#define READS_EACH            64

enum jump_kind {
	JUMP_UNKNOWN,
	JUMP_POINTER, /* a pointer out of memory, from the caller or from a call: a tail call */
	JUMP_SLOT,    /* the GOT's slot at `address` */
	JUMP_TABLE,   /* an entry of a table, or a label of the procedure */
};

/* What an indirect jump jumps through. */
struct jump_form {
	uint64_t address;   /* of the table, or of the label */
	uint64_t base;      /* what is added to an entry; 0 for addresses */
	uint8_t entry_size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	bool is_label;     /* no table: the jump goes to `address`, where an instruction begins */
	bool is_single;    /* always the first entry */
	uint8_t shift;     /* entries are shifted left by so many bits */
	uint8_t index;     /* register; REGISTER_NONE: it differs by the path to the jump */
	uint32_t index_at; /* before this instruction */
};

/* What a jump may go through, by the path that is taken to it. */
struct jump_forms {
	struct jump_form at[DEFINITION_SET_MAX]; /* all different */
	size_t count;
};

static bool
is_name(const struct instruction_detail *detail, const char *name)
{
	return strcmp(detail->mnemonic, name) == 0;
}

/* gcc without optimization scales the index by a separate lea: `lea (,%rax,4), %rdx`. */
static bool
index_unscaled(struct reaching_defs *defs, struct jump_form *form)
{
	struct instruction_detail detail;
	uint32_t at;

	if (!reaching_defs_find_only(defs, form->index_at, form->index, &at) ||
	    !control_flow_detail(defs->flow, at, &detail))
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
table_operand(struct reaching_defs *defs, uint32_t at, const struct instruction_operand *memory, struct jump_form *form)
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
	if (memory->base != REGISTER_NONE && !reaching_defs_constant_before(defs, at, memory->base, &base)) {
		/* without a scale, index and base may be swapped */
		if (scale > 1 || !reaching_defs_constant_before(defs, at, memory->index, &base))
			return false;
		form->index = memory->base;
	}
	form->address = base + (uint64_t)memory->value;
	if (scale == form->entry_size)
		return true;
	return scale <= 1 && index_unscaled(defs, form);
}

/* Loads of an entry, by name: how many bytes, and whether their sign is kept. */
static bool
load_width(const struct instruction_detail *detail, uint8_t *size, bool *is_signed)
{
	static const struct {
		const char *name;
		uint8_t size; /* 0: the size of operand `operand` */
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
entry_loaded(struct reaching_defs *defs, uint32_t at, uint8_t reg, struct jump_form *form)
{
	struct instruction_detail detail;
	bool is_signed = false, was_signed;

	for (int i = 0; i < COPIES_MAX; i++) {
		if (!reaching_defs_find_only(defs, at, reg, &at) || !control_flow_detail(defs->flow, at, &detail))
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
			return table_operand(defs, at, &detail.operands[1], form);
		}
		if (detail.operands[1].kind != OPERAND_REGISTER || !is_extension(&detail, &is_signed))
			return false;
		reg = detail.operands[1].reg;
	}
	return false;
}

/* A sum of a constant and an entry: `add to, with` or `add to, base, entry, sxtb #2`. */
static bool
sum_form(struct reaching_defs *defs, uint32_t at, const struct instruction_detail *detail, struct jump_form *form)
{
	const struct instruction_operand *left = &detail->operands[detail->operand_count - 2];
	const struct instruction_operand *right = &detail->operands[detail->operand_count - 1];

	*form = (struct jump_form){0};
	if (left->kind != OPERAND_REGISTER)
		return false;
	if (right->kind == OPERAND_MEMORY) { /* add (%rdx,%rax,8), %rcx */
		return load_width(detail, &form->entry_size, &form->is_signed) &&
		       reaching_defs_constant_before(defs, at, left->reg, &form->base) &&
		       table_operand(defs, at, right, form);
	}
	if (right->kind != OPERAND_REGISTER)
		return false;
	form->shift = right->shift;
	form->is_signed = right->is_signed;
	if (reaching_defs_constant_before(defs, at, left->reg, &form->base))
		return entry_loaded(defs, at, right->reg, form);
	if (right->shift || right->is_extended || !reaching_defs_constant_before(defs, at, right->reg, &form->base))
		return false;
	return entry_loaded(defs, at, left->reg, form);
}

/* A sum of a constant and an entry: `lea (base,entry), to`. */
static bool
lea_form(struct reaching_defs *defs, uint32_t at, const struct instruction_operand *sum, struct jump_form *form)
{
	*form = (struct jump_form){0};
	if (sum->kind != OPERAND_MEMORY || sum->is_pc || sum->base == REGISTER_NONE || sum->index == REGISTER_NONE ||
	    sum->scale != 1 || sum->value)
		return false;
	if (reaching_defs_constant_before(defs, at, sum->base, &form->base))
		return entry_loaded(defs, at, sum->index, form);
	return reaching_defs_constant_before(defs, at, sum->index, &form->base) &&
	       entry_loaded(defs, at, sum->base, form);
}

/* A jump through memory, or through a register that instruction `at` loaded from there. */
static enum jump_kind
memory_form(struct reaching_defs *defs, uint32_t at, const struct instruction_operand *memory, struct jump_form *form)
{
	*form = (struct jump_form){.entry_size = 8};
	if (memory->is_pc) {
		form->address = (uint64_t)memory->value;
		return JUMP_SLOT;
	}
	if (memory->index != REGISTER_NONE)
		return table_operand(defs, at, memory, form) ? JUMP_TABLE : JUMP_UNKNOWN;
	/* what was stored to the stack may be anything */
	return control_flow_is_stack(defs->flow, memory->base) ? JUMP_UNKNOWN : JUMP_POINTER;
}

/* The address of a label of this procedure. */
static enum jump_kind
label_form(struct reaching_defs *defs, uint32_t at, uint8_t reg, struct jump_form *form)
{
	uint64_t address;

	if (!reaching_defs_constant_of(defs, at, reg, &address) ||
	    control_flow_find(defs->flow, address) >= CONTROL_INSIDE)
		return JUMP_UNKNOWN;
	*form = (struct jump_form){.address = address, .is_label = true, .index = REGISTER_NONE};
	return JUMP_TABLE;
}

static enum jump_kind
definition_form(struct reaching_defs *defs, uint32_t at, uint8_t reg, struct jump_form *form, uint8_t *copied)
{
	struct instruction_detail detail;

	*copied = REGISTER_NONE;
	if (!control_flow_detail(defs->flow, at, &detail) || detail.operand_count < 2)
		return JUMP_UNKNOWN;
	if (is_name(&detail, "ldp") && detail.operands[2].kind == OPERAND_MEMORY) /* a function and its argument */
		return control_flow_is_stack(defs->flow, detail.operands[2].base) ? JUMP_UNKNOWN : JUMP_POINTER;
	if (detail.operands[0].kind != OPERAND_REGISTER || detail.operands[0].reg != reg)
		return JUMP_UNKNOWN;
	if (is_name(&detail, "add") && sum_form(defs, at, &detail, form))
		return JUMP_TABLE;
	if (is_name(&detail, "lea") && lea_form(defs, at, &detail.operands[1], form))
		return JUMP_TABLE;
	if (is_name(&detail, "xor") && detail.operands[1].kind == OPERAND_MEMORY)
		return JUMP_POINTER; /* glibc's guarded pointers */
	if (is_name(&detail, "mov") && detail.operands[1].kind == OPERAND_REGISTER)
		*copied = detail.operands[1].reg;
	if ((is_name(&detail, "mov") || is_name(&detail, "ldr") || is_name(&detail, "ldur")) &&
	    detail.operands[1].kind == OPERAND_MEMORY)
		return memory_form(defs, at, &detail.operands[1], form);
	return label_form(defs, at, reg, form);
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

/* Dispatch by several definitions: all take a pointer, or all an entry of a table or a label. */
static enum jump_kind
joined_form(struct reaching_defs *defs, const struct definition_set *definitions, uint8_t reg, struct jump_forms *forms)
{
	enum jump_kind kind = JUMP_UNKNOWN;

	forms->count = 0;
	for (size_t i = 0; i < definitions->count; i++) {
		struct jump_form form = {0};
		enum jump_kind other = definition_form(defs, definitions->at[i], reg, &form, &(uint8_t){0});

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
register_form(struct reaching_defs *defs, uint32_t at, uint8_t reg, struct jump_forms *forms)
{
	for (int i = 0; i < COPIES_MAX; i++) {
		struct definition_set definitions;
		enum jump_kind kind;
		uint8_t copied;

		reaching_defs_find(defs, at, reg, &definitions);
		if (definitions.is_lost)
			return JUMP_UNKNOWN;
		if (!definitions.count)
			return definitions.from_caller || definitions.from_call ? JUMP_POINTER : JUMP_UNKNOWN;
		if (definitions.count > 1 || definitions.from_call || definitions.from_caller)
			return joined_form(defs, &definitions, reg, forms);
		at = definitions.at[0];
		kind = definition_form(defs, at, reg, &forms->at[0], &copied);
		if (copied == REGISTER_NONE)
			return kind;
		reg = copied;
	}
	return JUMP_UNKNOWN;
}

static bool
releases_stack(const struct control_flow *flow, uint32_t index)
{
	struct instruction_detail detail;
	uint8_t sp = architecture_registers(flow->source->architecture)->stack;

	if (!control_flow_changes(flow, index, sp) || !control_flow_detail(flow, index, &detail) ||
	    !detail.operand_count)
		return false;
	if (flow->source->architecture == ARCHITECTURE_AARCH64)
		return is_name(&detail, "ldp") || is_name(&detail, "ldr") || is_name(&detail, "add");
	if (flow->source->architecture == ARCHITECTURE_RISCV64)
		return is_name(&detail, "addi") && detail.operands[2].value > 0;
	if (is_name(&detail, "add"))
		return detail.operands[0].reg == sp && detail.operands[1].kind == OPERAND_IMMEDIATE &&
		       detail.operands[1].value > 0;
	return is_name(&detail, "pop") || is_name(&detail, "leave");
}

/* A jump right behind the code that releases the frame leaves the procedure. */
static bool
follows_epilogue(const struct control_flow *flow, uint32_t jump)
{
	for (uint32_t i = 0; i < EPILOGUE_MAX && jump > 0; i++) {
		jump--;
		if (flow->flags[jump] & CONTROL_ENDS)
			return false;
		if (releases_stack(flow, jump))
			return true;
	}
	return false;
}

static enum jump_kind
operand_form(struct reaching_defs *defs, uint32_t jump, struct jump_forms *forms)
{
	struct instruction_detail detail;

	forms->count = 1;
	if (!control_flow_detail(defs->flow, jump, &detail) || detail.operand_count < 1)
		return JUMP_UNKNOWN;
	if (detail.operands[0].kind == OPERAND_MEMORY)
		return memory_form(defs, jump, &detail.operands[0], &forms->at[0]);
	if (detail.operands[0].kind == OPERAND_REGISTER)
		return register_form(defs, jump, detail.operands[0].reg, forms);
	return JUMP_UNKNOWN;
}

/* Look at the indirect jump `jump`; `forms` is filled in for JUMP_TABLE and, with one, for JUMP_SLOT. */
static enum jump_kind
jump_form_find(struct reaching_defs *defs, uint32_t jump, struct jump_forms *forms)
{
	enum jump_kind kind = operand_form(defs, jump, forms);

	return kind == JUMP_UNKNOWN && follows_epilogue(defs->flow, jump) ? JUMP_POINTER : kind;
}

/* A comparison passed on the way back, of a register that the index may turn out to be a copy of. */
struct seen_compare {
	uint8_t reg;
	uint32_t bound;
};

/* A walk back from a jump along its only path, to what bounds the index. */
struct bound_search {
	struct reaching_defs *defs;
	uint8_t reg;                     /* where the index is at this point; REGISTER_NONE: in memory */
	struct instruction_operand cell; /* the memory operand, then */
	uint32_t width_bound;            /* by the widths of copies that were passed; 0: none */
	bool is_compared;                /* the bound is that of a comparison */
	const char *condition; /* of the last branch passed, until the instruction that sets its flags is found; NULL:
	                          none */
	bool is_taken;         /* the condition held */
	char mnemonic[32];     /* holds condition */
	struct seen_compare compares[COMPARES_MAX];
	size_t compare_count;
};

/* How many values the index may have when a comparison with `limit` made `condition` hold or not; 0: not known. */
static uint32_t
condition_bound(const char *condition, bool held, int64_t limit)
{
	static const struct {
		const char *name;
		bool held;     /* the index is small when this is so */
		bool is_below; /* and not equal */
	} rows[] = {
		{"ja", false, false},   {"jae", false, true},  {"jb", true, true},     {"jbe", true, false},
		{"jg", false, false},   {"jge", false, true},  {"jl", true, true},     {"jle", true, false},
		{"b.hi", false, false}, {"b.hs", false, true}, {"b.cs", false, true},  {"b.lo", true, true},
		{"b.cc", true, true},   {"b.ls", true, false}, {"b.gt", false, false}, {"b.ge", false, true},
		{"b.lt", true, true},   {"b.le", true, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strcmp(rows[i].name, condition) != 0 || rows[i].held != held)
			continue;
		if (limit < 0 || limit >= BOUND_MAX)
			return 0;
		return (uint32_t)limit + !rows[i].is_below;
	}
	return 0;
}

static bool
is_same_cell(const struct instruction_operand *a, const struct instruction_operand *b)
{
	return b->kind == OPERAND_MEMORY && a->base == b->base && a->index == b->index && a->value == b->value &&
	       a->is_pc == b->is_pc;
}

static bool
is_index(const struct bound_search *search, const struct instruction_operand *operand)
{
	if (search->reg != REGISTER_NONE)
		return operand->kind == OPERAND_REGISTER && operand->reg == search->reg;
	return is_same_cell(&search->cell, operand);
}

/*
 * The operands of a comparison with an immediate: `cmp`, or a subtraction whose difference goes into the register, so
 * that what was compared is its value above (*is_above).
 */
static bool
comparison(const struct instruction_detail *detail, const struct instruction_operand **left, int64_t *right,
           bool *is_above)
{
	const struct instruction_operand *last = &detail->operands[detail->operand_count - 1];

	*is_above = !is_name(detail, "cmp");
	if (*is_above && !is_name(detail, "sub") && !is_name(detail, "subs"))
		return false;
	if (detail->operand_count < 2 || last->kind != OPERAND_IMMEDIATE)
		return false;
	*left = last - 1;
	*right = (int64_t)((uint64_t)last->value << last->shift);
	return true;
}

/* The instruction that set the flags for the branch below. Returns the bound that it gives, or 0. */
static uint32_t
compared(struct bound_search *search, const struct instruction_detail *detail)
{
	const struct instruction_operand *left;
	const char *condition = search->condition;
	bool is_above;
	uint32_t bound;
	int64_t right;

	search->condition = NULL;
	if (!comparison(detail, &left, &right, &is_above))
		return 0;
	bound = condition_bound(condition, search->is_taken, right);
	if (bound && !is_above && is_index(search, left)) {
		search->is_compared = true;
		return bound;
	}
	if (bound && left->kind == OPERAND_REGISTER && search->compare_count < COMPARES_MAX)
		search->compares[search->compare_count++] = (struct seen_compare){left->reg, bound};
	return 0;
}

static uint32_t
narrower(uint32_t a, uint32_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* The index is a copy of `from`, which may have fewer bytes. False when it cannot be followed. */
static bool
copied(struct bound_search *search, const struct instruction_operand *from, bool is_signed)
{
	if (from->size == 1)
		search->width_bound = narrower(search->width_bound, is_signed ? 128 : 256);
	if (from->kind == OPERAND_REGISTER && from->reg != REGISTER_NONE) {
		search->reg = from->reg;
		return true;
	}
	if (from->kind != OPERAND_MEMORY)
		return false;
	search->reg = REGISTER_NONE;
	search->cell = *from;
	return true;
}

static uint32_t
mask_bound(const struct instruction_operand *mask)
{
	if (mask->kind != OPERAND_IMMEDIATE || mask->value <= 0 || mask->value >= BOUND_MAX)
		return 0;
	return (uint32_t)mask->value + 1;
}

static uint32_t
bits_bound(int64_t bits)
{
	return bits > 0 && bits <= NARROW_BITS ? UINT32_C(1) << bits : 0;
}

/* Masks, shifts and bit fields: the result is small whatever the operand is. Returns the bound, or 0. */
static uint32_t
made_small(const struct instruction_detail *detail)
{
	const struct instruction_operand *last = &detail->operands[detail->operand_count - 1];

	if (is_name(detail, "and"))
		return mask_bound(last);
	if ((is_name(detail, "shr") || is_name(detail, "lsr")) && last->kind == OPERAND_IMMEDIATE)
		return bits_bound(8 * (int64_t)detail->operands[0].size - last->value);
	if ((is_name(detail, "ubfx") || is_name(detail, "bextr")) && last->kind == OPERAND_IMMEDIATE)
		return bits_bound(last->value);
	return 0;
}

static bool
is_copy(const struct instruction_detail *detail, bool *is_signed)
{
	static const struct {
		const char *name;
		bool is_signed;
	} names[] = {
		{"mov", false},  {"movzx", false}, {"movsx", true}, {"movsxd", true}, {"uxtb", false},
		{"uxth", false}, {"uxtw", false},  {"sxtw", true},  {"ldr", false},   {"ldrb", false},
		{"ldrh", false}, {"ldrsw", true},  {"ldur", false}, {"ldurb", false}, {"ldurh", false},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (detail->operand_count == 2 && is_name(detail, names[i].name)) {
			*is_signed = names[i].is_signed;
			return true;
		}
	}
	return false;
}

/* aarch64's memory operands have no width of their own; the name does. */
static struct instruction_operand
copy_source(const struct instruction_detail *detail)
{
	struct instruction_operand from = detail->operands[1];
	size_t length = strlen(detail->mnemonic);

	if (is_name(detail, "uxtb") || (detail->mnemonic[0] == 'l' && detail->mnemonic[length - 1] == 'b'))
		from.size = 1;
	return from;
}

/* The bound of a comparison that was passed, if it compared the register that holds the index here. */
static uint32_t
compare_passed(struct bound_search *search)
{
	for (size_t i = 0; i < search->compare_count; i++) {
		if (search->reg == REGISTER_NONE || search->compares[i].reg != search->reg)
			continue;
		search->is_compared = true;
		return search->compares[i].bound;
	}
	return 0;
}

/* Instruction `index` sets the register that holds the index. Sets *bound if that gives one; true: go on above. */
static bool
set_here(struct bound_search *search, uint32_t index, uint32_t *bound)
{
	struct instruction_detail detail;
	struct instruction_operand from;
	bool is_signed;

	*bound = 0;
	if (!control_flow_detail(search->defs->flow, index, &detail) || !detail.operand_count)
		return false;
	if (is_name(&detail, "cdqe") || is_name(&detail, "cwde"))
		return true;
	if (detail.operands[0].kind != OPERAND_REGISTER || detail.operands[0].reg != search->reg)
		return false;
	if (!is_copy(&detail, &is_signed)) {
		*bound = made_small(&detail);
		return false;
	}
	from = copy_source(&detail);
	if (!copied(search, &from, is_signed))
		return false;
	*bound = compare_passed(search);
	return !*bound;
}

static void
compares_forget(struct bound_search *search, uint32_t index)
{
	size_t kept = 0;

	for (size_t i = 0; i < search->compare_count; i++) {
		if (!control_flow_changes(search->defs->flow, index, search->compares[i].reg))
			search->compares[kept++] = search->compares[i];
	}
	search->compare_count = kept;
}

static void
branch_passed(struct bound_search *search, uint32_t branch, uint32_t below)
{
	struct instruction_detail detail;

	search->condition = NULL;
	if (!control_flow_detail(search->defs->flow, branch, &detail))
		return;
	memcpy(search->mnemonic, detail.mnemonic, sizeof(search->mnemonic));
	search->condition = search->mnemonic;
	search->is_taken = below != branch + 1;
}

/* The index is in memory. If instruction `index` stored it, go on above with the stored register. False: lost. */
static bool
memory_passed(struct bound_search *search, uint32_t index, uint32_t *bound)
{
	const struct control_flow *flow = search->defs->flow;
	bool is_arm = flow->source->architecture == ARCHITECTURE_AARCH64;
	struct instruction_detail detail;

	if (flow->instructions[index].stores && control_flow_detail(flow, index, &detail) &&
	    detail.operand_count == 2 && (is_name(&detail, "mov") || is_name(&detail, "str")) &&
	    is_same_cell(&search->cell, &detail.operands[is_arm])) {
		if (detail.operands[!is_arm].kind != OPERAND_REGISTER)
			return false;
		search->reg = detail.operands[!is_arm].reg;
		*bound = compare_passed(search);
		return !*bound;
	}
	return !(search->cell.base != REGISTER_NONE && control_flow_changes(flow, index, search->cell.base)) &&
	       !(search->cell.index != REGISTER_NONE && control_flow_changes(flow, index, search->cell.index));
}

/* One instruction back. True: go on. */
static bool
step_back(struct bound_search *search, uint32_t index, uint32_t below, uint32_t *bound)
{
	const struct control_flow *flow = search->defs->flow;
	const struct instruction *instruction = &flow->instructions[index];
	struct instruction_detail detail;

	*bound = 0;
	if (instruction->flow == FLOW_BRANCH) {
		branch_passed(search, index, below);
		return true;
	}
	compares_forget(search, index);
	if (search->condition && control_flow_changes(flow, index, REGISTER_FLAGS)) {
		if (!control_flow_detail(flow, index, &detail) || !detail.operand_count)
			return false;
		*bound = compared(search, &detail);
		if (*bound)
			return false;
	}
	if (search->reg == REGISTER_NONE)
		return memory_passed(search, index, bound);
	if (control_flow_changes(flow, index, search->reg))
		return instruction->flow == FLOW_NEXT && set_here(search, index, bound);
	return true;
}

/*
 * How many values register `reg` may have before instruction `at`: by the comparison and branch before it - then
 * *is_compared - or at most, by a mask or the width of what was loaded. 0: not known.
 */
static uint32_t
index_bound(struct reaching_defs *defs, uint32_t at, uint8_t reg, bool *is_compared)
{
	struct bound_search search = {.defs = defs, .reg = reg};

	*is_compared = false;
	for (int i = 0; i < JUMP_TABLES_STEPS_MAX; i++) {
		uint32_t source = reaching_defs_only_source(defs, at), bound;

		if (source == CONTROL_OUTSIDE)
			break;
		if (!step_back(&search, source, at, &bound)) {
			*is_compared = search.is_compared;
			return search.is_compared ? bound : narrower(bound, search.width_bound);
		}
		at = source;
	}
	return search.width_bound;
}

/* A table, or a label, that a jump goes through. */
struct jump_table {
	struct jump_form form;
	uint32_t jump;
	uint32_t bound;   /* entries; 0: not known */
	bool is_compared; /* `bound` is what the program compares with */
};

/* The indirect jumps of a procedure while they are resolved. */
struct jump_resolver {
	struct control_flow *flow;
	struct jump_table *tables; /* of this round */
	size_t table_count, table_capacity;
	uint64_t *addresses; /* of all tables that were found; ascending while tables are read */
	size_t address_count, address_capacity;
	uint32_t *marks; /* of each instruction: the last jump that went there */
	uint32_t mark;
	uint64_t reads_left;
	bool *joined; /* of each instruction: a jump that has labels or many tables, to which later rounds may add */
};

/* Where the next known table behind `address` begins, UINT64_MAX when there is none. */
static uint64_t
next_table(const struct jump_resolver *resolver, uint64_t address)
{
	size_t low = 0, high = resolver->address_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (resolver->addresses[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < resolver->address_count ? resolver->addresses[low] : UINT64_MAX;
}

/* Add `target` to the jump's targets, once. */
static int
target_add(struct jump_resolver *resolver, uint32_t jump, uint32_t target)
{
	struct control_flow *flow = resolver->flow;
	struct table_target *grown;

	if (resolver->marks[target] == resolver->mark)
		return 0;
	grown = array_grow(flow->table_targets, &flow->table_target_capacity, flow->table_target_count + 1,
	                   sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	resolver->marks[target] = resolver->mark;
	flow->table_targets = grown;
	flow->table_targets[flow->table_target_count++] = (struct table_target){jump, target};
	return 0;
}

static uint64_t
entry_target(const struct jump_form *form, const uint8_t *entry)
{
	const unsigned bits = 8 * (unsigned)form->entry_size;
	uint64_t value = 0;

	for (unsigned at = 0; at < bits; at += 8)
		value |= (uint64_t)entry[at / 8] << at;
	if (form->is_signed && bits > 0 && bits < 64 && value >> (bits - 1))
		value |= UINT64_MAX << bits;
	return form->base + (value << (form->shift & 7));
}

/* As many entries as may be read. */
static uint32_t
entries_limit(const struct jump_resolver *resolver, const struct jump_table *table, uint64_t size)
{
	uint64_t limit = size / table->form.entry_size;
	uint64_t next = next_table(resolver, table->form.address) - table->form.address;

	if (!table->is_compared && limit > next / table->form.entry_size)
		limit = next / table->form.entry_size;
	if (limit > ENTRIES_MAX)
		limit = ENTRIES_MAX;
	if (table->bound && limit > table->bound)
		limit = table->bound;
	return (uint32_t)limit;
}

/*
 * Add the targets of a table. Returns how many entries were good, or -ENOMEM; *outside: how many led out of the
 * procedure (a split part of it that is not known). Nothing is added when it is none after all.
 */
static int
entries_read(struct jump_resolver *resolver, const struct jump_table *table, const uint8_t *bytes, uint32_t limit,
             uint32_t *outside)
{
	struct control_flow *flow = resolver->flow;
	size_t targets_before = flow->table_target_count;
	uint32_t good = 0, i;
	int err = 0;

	for (i = 0; i < limit && resolver->reads_left && !err; i++, resolver->reads_left--) {
		uint64_t address = entry_target(&table->form, bytes + (size_t)i * table->form.entry_size);
		uint32_t target = control_flow_find(flow, address);

		if (target == CONTROL_OUTSIDE && table->is_compared) {
			(*outside)++;
			continue;
		}
		if (target >= CONTROL_INSIDE)
			break;
		good++;
		err = target_add(resolver, table->jump, target);
	}
	if (err)
		return err;
	if ((table->is_compared && (i < table->bound || good < *outside)) ||
	    good < (table->is_compared ? 1 : UNCOMPARED_MIN) ||
	    flow->table_target_count > TARGETS_BASE + (size_t)TARGETS_EACH * flow->count) {
		flow->table_target_count = targets_before;
		return 0;
	}
	return (int)good;
}

/* Resolve a jump out of the procedure, through a pointer to a function that returns or does not. */
static void
jump_resolve_pointer(struct control_flow *flow, uint32_t jump, bool returns)
{
	flow->flags[jump] &= (uint8_t)~CONTROL_INDIRECT;
	flow->flags[jump] |= returns ? CONTROL_EXIT : CONTROL_NORETURN;
	flow->pointer_jumps++;
}

/*
 * Addresses that may be written, or of which the first lies elsewhere, are functions: the compiler's own tables are
 * constant and lead into the procedure.
 */
static bool
holds_functions(const struct control_flow *flow, const struct jump_form *form, const uint8_t *bytes, size_t size)
{
	if (form->entry_size != 8 || form->base)
		return false;
	return !bytes || (size >= 8 && control_flow_find(flow, entry_target(form, bytes)) == CONTROL_OUTSIDE);
}

/* Returns how many targets were good, or -ENOMEM. */
static int
table_read(struct jump_resolver *resolver, const struct jump_table *table, uint32_t *outside)
{
	struct control_flow *flow = resolver->flow;
	const uint8_t *bytes = NULL;
	size_t size = 0;
	int good;

	*outside = 0;
	if (table->form.is_label) {
		int err = target_add(resolver, table->jump, control_flow_find(flow, table->form.address));

		return err ? err : 1;
	}
	if (flow->source->data)
		bytes = flow->source->data(flow->source->argument, table->form.address, &size);
	good = bytes ? entries_read(resolver, table, bytes, entries_limit(resolver, table, size), outside) : 0;
	if (!good && flow->source->data && !resolver->joined[table->jump] &&
	    holds_functions(flow, &table->form, bytes, size))
		jump_resolve_pointer(flow, table->jump, true);
	return good;
}

/*
 * Read all that a jump may go through: tables[first] to tables[end - 1]. It stays unresolved when one of them is no
 * table after all. 0 or -ENOMEM.
 */
static int
jump_read(struct jump_resolver *resolver, size_t first, size_t end)
{
	struct control_flow *flow = resolver->flow;
	uint32_t jump = resolver->tables[first].jump, all_outside = 0;
	size_t targets_before = flow->table_target_count;

	resolver->mark++;
	resolver->joined[jump] |= end - first > 1 || resolver->tables[first].form.is_label;
	for (size_t i = first; i < end; i++) {
		uint32_t outside;
		int good = table_read(resolver, &resolver->tables[i], &outside);

		if (good <= 0) {
			flow->table_target_count = targets_before;
			return good;
		}
		all_outside |= outside;
	}
	flow->flags[jump] &= (uint8_t)~CONTROL_INDIRECT;
	flow->flags[jump] |= CONTROL_TABLE | (all_outside ? CONTROL_EXIT : 0);
	flow->table_jumps++;
	return 0;
}

/* Joined jumps become unresolved again: control flow found since may lead to them with other values. */
static void
joined_unresolve(struct jump_resolver *resolver)
{
	struct control_flow *flow = resolver->flow;
	size_t kept = 0;

	for (uint32_t i = 0; i < flow->count; i++) {
		if (!resolver->joined[i] || !(flow->flags[i] & CONTROL_TABLE))
			continue;
		flow->flags[i] &= (uint8_t) ~(CONTROL_TABLE | CONTROL_EXIT);
		flow->flags[i] |= CONTROL_INDIRECT;
		flow->table_jumps--;
	}
	for (size_t i = 0; i < flow->table_target_count; i++) {
		if (!(flow->flags[flow->table_targets[i].from] & CONTROL_INDIRECT))
			flow->table_targets[kept++] = flow->table_targets[i];
	}
	flow->table_target_count = kept;
}

static int
forms_note(struct jump_resolver *resolver, struct reaching_defs *defs, uint32_t jump, const struct jump_forms *forms)
{
	for (size_t i = 0; i < forms->count; i++) {
		const struct jump_form *form = &forms->at[i];
		struct jump_table *tables, table = {.form = *form, .jump = jump};
		uint64_t *addresses;

		table.bound = table.is_compared = form->is_single;
		if (form->index != REGISTER_NONE)
			table.bound = index_bound(defs, form->index_at, form->index, &table.is_compared);
		tables = array_grow(resolver->tables, &resolver->table_capacity, resolver->table_count + 1,
		                    sizeof(table));
		if (!tables)
			return -ENOMEM;
		resolver->tables = tables;
		tables[resolver->table_count++] = table;
		if (form->is_label)
			continue;
		addresses = array_grow(resolver->addresses, &resolver->address_capacity, resolver->address_count + 1,
		                       sizeof(*addresses));
		if (!addresses)
			return -ENOMEM;
		resolver->addresses = addresses;
		addresses[resolver->address_count++] = form->address;
	}
	return 0;
}

/* Find the form of each unresolved jump. Tables are only noted: they are read when the addresses of all are known. */
static int
jumps_classify(struct jump_resolver *resolver, struct reaching_defs *defs)
{
	struct control_flow *flow = resolver->flow;
	int err = 0;

	resolver->table_count = 0;
	for (uint32_t i = 0; i < flow->count && !err; i++) {
		struct jump_forms forms;

		if (!(flow->flags[i] & CONTROL_INDIRECT))
			continue;
		switch (jump_form_find(defs, i, &forms)) {
		case JUMP_UNKNOWN:
			break;
		case JUMP_POINTER:
			jump_resolve_pointer(flow, i, true);
			break;
		case JUMP_SLOT:
			jump_resolve_pointer(flow, i, control_flow_call_returns(flow, forms.at[0].address));
			break;
		case JUMP_TABLE:
			err = forms_note(resolver, defs, i, &forms);
			break;
		}
	}
	return err;
}

static int
round_resolve(struct jump_resolver *resolver, bool *is_done)
{
	struct control_flow *flow = resolver->flow;
	uint32_t resolved = flow->table_jumps;
	size_t targets = flow->table_target_count;
	struct reaching_defs defs;
	int err = reaching_defs_init(&defs, flow);

	if (err)
		return err;
	joined_unresolve(resolver);
	err = jumps_classify(resolver, &defs);
	reaching_defs_fini(&defs);
	if (resolver->address_count)
		qsort(resolver->addresses, resolver->address_count, sizeof(*resolver->addresses), array_compare_u64);
	for (size_t i = 0, end; i < resolver->table_count && !err; i = end) {
		for (end = i + 1; end < resolver->table_count; end++) {
			if (resolver->tables[end].jump != resolver->tables[i].jump)
				break;
		}
		err = jump_read(resolver, i, end);
	}
	*is_done = flow->table_jumps == resolved && flow->table_target_count == targets;
	return err;
}

static int
target_compare(const void *a, const void *b)
{
	const struct table_target *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return (left->to > right->to) - (left->to < right->to);
}

static bool
has_indirect(const struct control_flow *flow)
{
	for (uint32_t i = 0; i < flow->count; i++) {
		if (flow->flags[i] & CONTROL_INDIRECT)
			return true;
	}
	return false;
}

int
jump_tables_read(struct control_flow *flow)
{
	struct jump_resolver resolver = {.flow = flow};
	bool is_done = !flow->decoder;
	int err = 0;

	if (is_done || !has_indirect(flow))
		return 0;
	resolver.reads_left = READS_BASE + READS_EACH * (uint64_t)flow->count;
	resolver.marks = calloc(flow->count, sizeof(*resolver.marks));
	resolver.joined = calloc(flow->count, sizeof(*resolver.joined));
	if (!resolver.marks || !resolver.joined)
		err = -ENOMEM;
	for (int i = 0; i < ROUNDS_MAX && !is_done && !err; i++)
		err = round_resolve(&resolver, &is_done);
	if (!err && !is_done)
		joined_unresolve(&resolver);
	if (flow->table_target_count)
		qsort(flow->table_targets, flow->table_target_count, sizeof(*flow->table_targets), target_compare);
	free(resolver.tables);
	free(resolver.addresses);
	free(resolver.marks);
	free(resolver.joined);
	return err;
}
