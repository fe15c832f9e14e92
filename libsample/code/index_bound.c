#include "code/index_bound.h"

#include <string.h>

#define STEPS_MAX   96
#define LIMITS_MAX  4
#define BOUND_MAX   65536
#define NARROW_BITS 12 /* a value that has no more of them bounds a table by itself */

/* A comparison that was passed on the way back, of a register that is not the index, yet: a copy may be made above. */
struct limit {
	uint8_t reg;
	uint32_t bound;
};

struct back {
	struct tracer *tracer;
	uint8_t reg;                     /* what the index was, here; REGISTER_NONE: it was in memory */
	struct instruction_operand cell; /* where, then */
	uint32_t width_bound;            /* by the widths it passed; 0: none */
	bool is_compared;                /* the bound was compared with */
	const char *condition;           /* that the next setter of flags above was asked for; NULL: none */
	bool is_taken;                   /* the condition held */
	char mnemonic[32];               /* holds condition */
	struct limit limits[LIMITS_MAX];
	size_t limit_count;
};

/* How many values below or at `limit` are left when `condition` held or not; 0: it does not say. */
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
is_index(const struct back *back, const struct instruction_operand *operand)
{
	if (back->reg != REGISTER_NONE)
		return operand->kind == OPERAND_REGISTER && operand->reg == back->reg;
	return is_same_cell(&back->cell, operand);
}

static bool
is_name(const struct instruction_detail *detail, const char *name)
{
	return strcmp(detail->mnemonic, name) == 0;
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

/* What set the flags, under the condition that is asked for. Returns the bound, or 0. */
static uint32_t
compared(struct back *back, const struct instruction_detail *detail)
{
	const struct instruction_operand *left;
	const char *condition = back->condition;
	bool is_above;
	uint32_t bound;
	int64_t right;

	back->condition = NULL;
	if (!comparison(detail, &left, &right, &is_above))
		return 0;
	bound = condition_bound(condition, back->is_taken, right);
	if (bound && !is_above && is_index(back, left)) {
		back->is_compared = true;
		return bound;
	}
	if (bound && left->kind == OPERAND_REGISTER && back->limit_count < LIMITS_MAX)
		back->limits[back->limit_count++] = (struct limit){left->reg, bound};
	return 0;
}

static uint32_t
narrower(uint32_t a, uint32_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* The index is a copy of `from`, which may have fewer bytes. False when that cannot be followed. */
static bool
copied(struct back *back, const struct instruction_operand *from, bool is_signed)
{
	if (from->size == 1)
		back->width_bound = narrower(back->width_bound, is_signed ? 128 : 256);
	if (from->kind == OPERAND_REGISTER && from->reg != REGISTER_NONE) {
		back->reg = from->reg;
		return true;
	}
	if (from->kind != OPERAND_MEMORY)
		return false;
	back->reg = REGISTER_NONE;
	back->cell = *from;
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

/* Instructions that make a small value of any. Returns the bound, or 0. */
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

/* The bound of a comparison that was passed, if it was of what the index is by now. */
static uint32_t
limit_passed(struct back *back)
{
	for (size_t i = 0; i < back->limit_count; i++) {
		if (back->reg == REGISTER_NONE || back->limits[i].reg != back->reg)
			continue;
		back->is_compared = true;
		return back->limits[i].bound;
	}
	return 0;
}

/* Instruction `index` sets what the index is below it. *bound is set when that says it; true: go on above. */
static bool
set_here(struct back *back, uint32_t index, uint32_t *bound)
{
	struct instruction_detail detail;
	struct instruction_operand from;
	bool is_signed;

	*bound = 0;
	if (!code_map_detail(back->tracer->map, index, &detail) || !detail.operand_count)
		return false;
	if (is_name(&detail, "cdqe") || is_name(&detail, "cwde"))
		return true;
	if (detail.operands[0].kind != OPERAND_REGISTER || detail.operands[0].reg != back->reg)
		return false;
	if (!is_copy(&detail, &is_signed)) {
		*bound = made_small(&detail);
		return false;
	}
	from = copy_source(&detail);
	if (!copied(back, &from, is_signed))
		return false;
	*bound = limit_passed(back);
	return !*bound;
}

static void
limits_forget(struct back *back, uint32_t index)
{
	size_t kept = 0;

	for (size_t i = 0; i < back->limit_count; i++) {
		if (!instruction_changes(back->tracer->map, index, back->limits[i].reg))
			back->limits[kept++] = back->limits[i];
	}
	back->limit_count = kept;
}

static void
branch_passed(struct back *back, uint32_t branch, uint32_t below)
{
	struct instruction_detail detail;

	back->condition = NULL;
	if (!code_map_detail(back->tracer->map, branch, &detail))
		return;
	memcpy(back->mnemonic, detail.mnemonic, sizeof(back->mnemonic));
	back->condition = back->mnemonic;
	back->is_taken = below != branch + 1;
}

/* The index was in memory: was it put there by instruction `index`? True: go on above, with the register if so. */
static bool
memory_passed(struct back *back, uint32_t index, uint32_t *bound)
{
	const struct code_map *map = back->tracer->map;
	bool is_arm = map->source->architecture == ARCHITECTURE_AARCH64;
	struct instruction_detail detail;

	if (map->instructions[index].stores && code_map_detail(map, index, &detail) && detail.operand_count == 2 &&
	    (is_name(&detail, "mov") || is_name(&detail, "str")) &&
	    is_same_cell(&back->cell, &detail.operands[is_arm])) {
		if (detail.operands[!is_arm].kind != OPERAND_REGISTER)
			return false;
		back->reg = detail.operands[!is_arm].reg;
		*bound = limit_passed(back);
		return !*bound;
	}
	return !(back->cell.base != REGISTER_NONE && instruction_changes(map, index, back->cell.base)) &&
	       !(back->cell.index != REGISTER_NONE && instruction_changes(map, index, back->cell.index));
}

/* One instruction back. True: go on. */
static bool
step_back(struct back *back, uint32_t index, uint32_t below, uint32_t *bound)
{
	const struct code_map *map = back->tracer->map;
	const struct instruction *instruction = &map->instructions[index];
	struct instruction_detail detail;

	*bound = 0;
	if (instruction->flow == FLOW_BRANCH) {
		branch_passed(back, index, below);
		return true;
	}
	limits_forget(back, index);
	if (back->condition && instruction_changes(map, index, REGISTER_FLAGS)) {
		if (!code_map_detail(map, index, &detail) || !detail.operand_count)
			return false;
		*bound = compared(back, &detail);
		if (*bound)
			return false;
	}
	if (back->reg == REGISTER_NONE)
		return memory_passed(back, index, bound);
	if (instruction_changes(map, index, back->reg))
		return instruction->flow == FLOW_NEXT && set_here(back, index, bound);
	return true;
}

uint32_t
index_bound(struct tracer *tracer, uint32_t at, uint8_t reg, bool *is_compared)
{
	struct back back = {.tracer = tracer, .reg = reg};

	*is_compared = false;
	for (int i = 0; i < STEPS_MAX; i++) {
		uint32_t source = tracer_only_source(tracer, at), bound;

		if (source == CODE_OUTSIDE)
			break;
		if (!step_back(&back, source, at, &bound)) {
			*is_compared = back.is_compared;
			return back.is_compared ? bound : narrower(bound, back.width_bound);
		}
		at = source;
	}
	return back.width_bound;
}
