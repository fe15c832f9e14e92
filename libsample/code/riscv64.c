/*
 * RISC-V (RV64GC): an instruction out of the operands that capstone 5 finds, and the form of its name.
 *
 * Capstone 5.0 says neither which operands are written nor which registers are implied, has no memory operands of
 * compressed instructions and atomics, and takes jumps for calls: names and the order of operands say it here.
 * Compressed instructions become those that they stand for ("c.addi a0, 1": addi a0,a0,1).
 * Source: The RISC-V Instruction Set Manual, volume I, 20191213.
 */
#include "code/decoder_internal.h"

#if HAS_RISCV64

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define RA 1u
#define T0 5u

/* clang-format off */
static const struct form forms[] = {
	{"nop", CLASS_NOP, ACCESS_NONE, 0},
	{"mv", CLASS_MOVE, ACCESS_WRITE, 0},
	{"li lui add addi addw addiw sub subw neg negw and andi or ori xor xori not slt slti sltu sltiu seqz snez sltz sgtz sext.w", CLASS_INTEGER, ACCESS_WRITE, 0},
	{"sll slli sllw slliw srl srli srlw srliw sra srai sraw sraiw", CLASS_SHIFT, ACCESS_WRITE, 0},
	{"auipc", CLASS_ADDRESS, ACCESS_WRITE, 0},
	{"mul mulh mulhsu mulhu mulw", CLASS_MULTIPLY, ACCESS_WRITE, 0},
	{"div divu divw divuw rem remu remw remuw", CLASS_DIVIDE, ACCESS_WRITE, 0},

	/* memory */
	{"lb lbu lh lhu lw lwu ld flw fld", CLASS_LOAD, ACCESS_WRITE, IS_LOAD},
	{"sb sh sw sd fsw fsd", CLASS_STORE, ACCESS_READ, IS_STORE},
	{"lr.*", CLASS_ATOMIC, ACCESS_WRITE, IS_LOAD},
	{"sc.*", CLASS_ATOMIC, ACCESS_WRITE, IS_STORE},
	{"amo*", CLASS_ATOMIC, ACCESS_WRITE, IS_LOAD | IS_STORE},
	{"fence*", CLASS_BARRIER, ACCESS_NONE, 0},

	/* what ends a block */
	{"beq bne blt bge bltu bgeu beqz bnez bltz bgez blez bgtz", CLASS_BRANCH, ACCESS_READ, 0, FLOW_BRANCH},
	{"j", CLASS_JUMP, ACCESS_READ, 0, FLOW_JUMP},
	{"jr", CLASS_JUMP, ACCESS_READ, 0, FLOW_JUMP_INDIRECT},
	{"jal", CLASS_CALL, ACCESS_WRITE, 0, FLOW_CALL},
	{"jalr", CLASS_CALL, ACCESS_WRITE, 0, FLOW_CALL_INDIRECT},
	{"ret", CLASS_RETURN, ACCESS_READ, 0, FLOW_RETURN},
	{"ebreak unimp", CLASS_SYSTEM, ACCESS_NONE, 0, FLOW_STOP},

	/* a0 to a5 are its arguments, a0 its result */
	{"ecall", CLASS_SYSTEM, ACCESS_NONE, 0, .reads = 0xfc00, .writes = 0x0400},
	{"csrrw csrrs csrrc csrrwi csrrsi csrrci csrr frflags frrm frcsr fsflags fsflagsi fsrm fsrmi fscsr rdcycle rdtime rdinstret", CLASS_SYSTEM, ACCESS_WRITE, 0},
	{"csrw csrs csrc csrwi csrsi csrci", CLASS_SYSTEM, ACCESS_READ, 0},

	/* floating point */
	{"fadd.* fsub.*", CLASS_FLOAT_ADD, ACCESS_WRITE, 0},
	{"fmul.*", CLASS_FLOAT_MULTIPLY, ACCESS_WRITE, 0},
	{"fmadd.* fmsub.* fnmadd.* fnmsub.*", CLASS_FLOAT_FUSED, ACCESS_WRITE, 0},
	{"fdiv.*", CLASS_FLOAT_DIVIDE, ACCESS_WRITE, 0},
	{"fsqrt.*", CLASS_FLOAT_ROOT, ACCESS_WRITE, 0},
	{"fmin.* fmax.* feq.* flt.* fle.* fclass.*", CLASS_FLOAT_COMPARE, ACCESS_WRITE, 0},
	{"fcvt.*", CLASS_FLOAT_CONVERT, ACCESS_WRITE, 0},
	{"fmv.* fabs.* fneg.* fsgnj.* fsgnjn.* fsgnjx.*", CLASS_FLOAT_MOVE, ACCESS_WRITE, 0},
};
/* clang-format on */

/* Bytes of the instruction; 0: `length` is too short for it. */
static size_t
size_of(const uint8_t *bytes, size_t length)
{
	const size_t size = (bytes[0] & 3) == 3 ? 4 : 2;

	return size <= length ? size : 0;
}

/* The name of the instruction that a compressed one stands for. */
static const char *
expanded_name(const char *name, bool *is_compressed)
{
	static const char *const names[][2] = {
		{"addi16sp", "addi"}, {"addi4spn", "addi"}, {"fldsp", "fld"}, {"fsdsp", "fsd"},
		{"ldsp", "ld"},       {"lwsp", "lw"},       {"sdsp", "sd"},   {"swsp", "sw"},
	};

	*is_compressed = strncmp(name, "c.", 2) == 0;
	if (!*is_compressed)
		return name;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name + 2, names[i][0]) == 0)
			return names[i][1];
	return name + 2;
}

/* Compressed arithmetic of two operands: the first is a source, too. */
static bool
is_tied(const char *name, const struct form *form, size_t operand_count)
{
	return (form->class == CLASS_INTEGER || form->class == CLASS_SHIFT) && operand_count == 2 &&
	       strcmp(name, "li") != 0 && strcmp(name, "lui") != 0;
}

static uint8_t
register_of(unsigned int reg)
{
	if (reg > RISCV_REG_X0 && reg <= RISCV_REG_X31)
		return (uint8_t)(reg - RISCV_REG_X0);
	/* of 32 and of 64 bits in turn */
	if (reg >= RISCV_REG_F0_32 && reg <= RISCV_REG_F31_64)
		return (uint8_t)(REGISTER_VECTOR + (reg - RISCV_REG_F0_32) / 2);
	return REGISTER_NONE;
}

static struct instruction_operand
memory_operand(uint8_t base, int64_t displacement)
{
	return (struct instruction_operand){.kind = OPERAND_MEMORY,
	                                    .reg = REGISTER_NONE,
	                                    .base = base,
	                                    .index = REGISTER_NONE,
	                                    .scale = 1,
	                                    .value = displacement};
}

static struct instruction_operand
operand_of(const cs_riscv_op *from)
{
	struct instruction_operand operand = {
		.kind = OPERAND_OTHER, .reg = REGISTER_NONE, .base = REGISTER_NONE, .index = REGISTER_NONE, .scale = 1};

	switch ((int)from->type) {
	case RISCV_OP_REG:
		operand.kind = OPERAND_REGISTER;
		operand.size = 8;
		operand.reg = register_of(from->reg);
		break;
	case RISCV_OP_IMM:
		operand.kind = OPERAND_IMMEDIATE;
		operand.value = from->imm;
		break;
	case RISCV_OP_MEM:
		return memory_operand(register_of(from->mem.base), from->mem.disp);
	default:
		break;
	}
	return operand;
}

/* "flw", "sd", "lbu", "amoadd.w.aq" */
static uint8_t
access_size(const char *name, const struct form *form)
{
	const char *dot = form->class == CLASS_ATOMIC ? strchr(name, '.') : NULL;

	switch (dot ? dot[1] : name[name[0] == 'f' ? 2 : 1]) {
	case 'b':
		return 1;
	case 'h':
		return 2;
	case 'w':
		return 4;
	default:
		return 8;
	}
}

/* What capstone leaves as registers and an immediate: "c.ld a0, 8(a1)" has three operands, "lr.w a0, (a1)" two. */
static void
join_memory(struct instruction_detail *detail, const struct form *form)
{
	struct instruction_operand *last;

	if (!detail->operand_count)
		return;
	last = &detail->operands[detail->operand_count - 1];
	if (last->kind == OPERAND_REGISTER && form->class == CLASS_ATOMIC) {
		*last = memory_operand(last->reg, 0);
	} else if (last->kind == OPERAND_REGISTER && detail->operand_count == 3) {
		last[-1] = memory_operand(last->reg, last[-1].value);
		detail->operand_count--;
		last--;
	}
	if (last->kind == OPERAND_MEMORY)
		last->size = access_size(detail->mnemonic, form);
}

/* Whether its last operand is where a branch, a jump or a call goes. */
static bool
has_target(const struct form *form, const struct instruction_detail *detail)
{
	return (form->flow == FLOW_BRANCH || form->flow == FLOW_JUMP || form->flow == FLOW_CALL) &&
	       detail->operand_count;
}

/* jalr as a jump or as a return, which compressed instructions and displacements hide. */
static void
rename_jump(struct instruction_detail *detail)
{
	struct instruction_operand *operands = detail->operands;

	if (strcmp(detail->mnemonic, "jalr") == 0 && detail->operand_count == 3 && operands[0].reg == REGISTER_NONE) {
		snprintf(detail->mnemonic, sizeof(detail->mnemonic), "jr");
		operands[0] = operands[1];
		operands[1] = operands[2];
		detail->operand_count = 2;
	}
	/* the manual tells predictors that ra and t0 are links */
	if (strcmp(detail->mnemonic, "jr") == 0 && (operands[0].reg == RA || operands[0].reg == T0))
		snprintf(detail->mnemonic, sizeof(detail->mnemonic), "ret");
}

/* Disassemble into decoder->scratch; false: it is no instruction, or capstone does not know it. */
static bool
disassemble(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address)
{
	const cs_insn *instruction = decoder->scratch;

	/* zeros are defined not to be an instruction */
	return size && decoder_disassemble(decoder, bytes, size, address) && instruction->size == size &&
	       instruction->id != RISCV_INS_C_UNIMP;
}

static bool
identify(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
         struct instruction_detail *detail)
{
	const cs_riscv *from;
	const struct form *form;
	const char *name;
	bool is_compressed;

	if (!disassemble(decoder, bytes, size, address))
		return false;
	from = &decoder->scratch->detail->riscv;
	name = expanded_name(decoder->scratch->mnemonic, &is_compressed);
	form = decoder_form(decoder, name);
	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "%s", name);
	if (is_compressed && is_tied(name, form, from->op_count))
		detail->operands[detail->operand_count++] = operand_of(&from->operands[0]);
	for (size_t i = 0; i < from->op_count && detail->operand_count < INSTRUCTION_OPERANDS_MAX; i++)
		detail->operands[detail->operand_count++] = operand_of(&from->operands[i]);
	if (form->traits & (IS_LOAD | IS_STORE))
		join_memory(detail, form);
	if (has_target(form, detail))
		detail->operands[detail->operand_count - 1].value += (int64_t)address;
	if (detail->operand_count == 2 && (strcmp(name, "lui") == 0 || strcmp(name, "auipc") == 0))
		detail->operands[1].value = (int32_t)((uint32_t)detail->operands[1].value << 12);
	rename_jump(detail);
	return true;
}

static void
touch_operands(struct instruction *instruction, const struct form *form, const struct instruction_detail *detail)
{
	const struct instruction_operand *operands = detail->operands;
	bool writes = form->access == ACCESS_WRITE;

	/* "jal 0x100" and "jalr a0" write ra, "ret" reads it: it is not among their operands */
	if (form->class == CLASS_CALL && detail->operand_count == 1) {
		instruction_add_write(instruction, RA);
		writes = false;
	}
	if (form->class == CLASS_RETURN && !detail->operand_count)
		instruction_add_read(instruction, RA);
	/* "fsflags a0, a1" puts the old flags into a0, "fsflags a1" nowhere */
	if (form->class == CLASS_SYSTEM && strncmp(detail->mnemonic, "fs", 2) == 0 && detail->operand_count == 1)
		writes = false;
	for (size_t i = 0; i < detail->operand_count; i++) {
		if (operands[i].kind == OPERAND_MEMORY)
			instruction_add_address(instruction, operands[i].base);
		else if (operands[i].kind == OPERAND_REGISTER && writes && i == 0)
			instruction_add_write(instruction, operands[i].reg);
		else if (operands[i].kind == OPERAND_REGISTER && form->access != ACCESS_NONE)
			instruction_add_read(instruction, operands[i].reg);
	}
	instruction_add_implicit(instruction, form->reads, form->writes);
}

/* All but the address; the target as a distance from there. */
static void
effects_fill(struct instruction *instruction, const struct form *form, const struct instruction_detail *detail)
{
	const size_t length = strlen(detail->mnemonic);

	instruction->class = form->class;
	instruction->flow = form->flow;
	touch_operands(instruction, form, detail);
	if (instruction->class == CLASS_MOVE && !instruction->read_count)
		instruction->class = CLASS_INTEGER; /* of zero */
	instruction->loads = form->traits & IS_LOAD;
	instruction->stores = form->traits & IS_STORE;
	if (instruction->loads || instruction->stores)
		instruction->access_size = access_size(detail->mnemonic, form);
	if (has_target(form, detail))
		instruction->target = (uint64_t)detail->operands[detail->operand_count - 1].value;
	instruction->is_wide = form->class == CLASS_DIVIDE && detail->mnemonic[length - 1] != 'w';
}

static size_t
measure(struct encoded_instruction *encoded)
{
	const size_t size = size_of(encoded->bytes, encoded->length);

	encoded->key[0] = encoded->key[1] = 0;
	for (size_t i = 0; i < size; i++)
		encoded->key[0] |= (uint64_t)encoded->bytes[i] << 8 * i;
	return size;
}

static bool
fill(struct decoder *decoder, const struct encoded_instruction *encoded, struct instruction *instruction)
{
	struct instruction_detail detail = {.operand_count = 0};

	if (!identify(decoder, encoded->bytes, encoded->size, 0, &detail))
		return false;
	effects_fill(instruction, decoder_form(decoder, detail.mnemonic), &detail);
	return true;
}

/* The key has all bytes: the distance is what fill() has found. */
static int64_t
distance(const struct encoded_instruction *encoded, const struct instruction *instruction)
{
	(void)encoded;
	return (int64_t)instruction->target;
}

static bool
fill_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
            struct instruction_detail *detail)
{
	return identify(decoder, bytes, size_of(bytes, length), address, detail);
}

/* Operands in text: as capstone writes them, but without blanks. */
#define WORDS_MAX 6u
#define WORD_SIZE 32u

struct operand_words {
	size_t count;
	char words[WORDS_MAX][WORD_SIZE];
};

static void
words_split(const char *operands, struct operand_words *words)
{
	words->count = 0;
	while (*operands && words->count < WORDS_MAX) {
		const size_t length = strcspn(operands, ",");

		snprintf(words->words[words->count++], WORD_SIZE, "%.*s", (int)length, operands);
		operands += length;
		operands += strspn(operands, ", ");
	}
}

/* objdump's digits: hexadecimal for shifts, upper parts and the numbers of control registers, else decimal. */
static void
word_unify(char *word, const char *name, const struct form *form, size_t at)
{
	const bool is_upper = strcmp(name, "lui") == 0 || strcmp(name, "auipc") == 0;
	const bool is_control = strncmp(name, "csr", 3) == 0 && at == (name[3] == 'r');
	char *end, rest[WORD_SIZE];
	const long long value = strtoll(word, &end, 0);

	if (end == word)
		return;
	snprintf(rest, sizeof(rest), "%s", end);
	if (is_upper || is_control || form->class == CLASS_SHIFT)
		snprintf(word, WORD_SIZE, "0x%llx", (unsigned long long)value & 0xfffff);
	else
		snprintf(word, WORD_SIZE, "%lld%.16s", value, rest);
}

/* jalr and jr: "jalr ra, a0, 8" is "jalr 8(a0)". */
static void
jump_unify(char *name, size_t size, struct operand_words *words)
{
	char place[WORD_SIZE];

	if (strcmp(name, "jr") == 0 && words->count == 1 && strcmp(words->words[0], "ra") == 0) {
		snprintf(name, size, "ret");
		words->count = 0;
	}
	if (strcmp(name, "jalr") != 0 || words->count != 3)
		return;
	snprintf(place, sizeof(place), "%.12s(%.8s)", words->words[2], words->words[1]);
	if (strcmp(words->words[0], "zero") == 0)
		snprintf(name, size, "jr");
	words->count = 1;
	if (strcmp(words->words[0], "zero") != 0 && strcmp(words->words[0], "ra") != 0)
		words->count = 2;
	snprintf(words->words[words->count - 1], WORD_SIZE, "%s", place);
}

/* Names for instructions with one operand fixed, which capstone does not use. */
static void
name_unify(char *name, size_t size, struct operand_words *words)
{
	static const char *const names[][3] = {
		{"addiw", "0", "sext.w"}, {"addi", "0", "mv"}, {"andi", "255", "zext.b"}};
	const bool is_of_zero = words->count > 1 && strcmp(words->words[1], "zero") == 0;

	if (is_of_zero && strcmp(name, "mv") == 0) {
		snprintf(name, size, "li");
		snprintf(words->words[1], WORD_SIZE, "0");
	} else if (is_of_zero && strcmp(name, "addi") == 0) {
		snprintf(name, size, "li");
		memmove(words->words[1], words->words[2], WORD_SIZE);
		words->count = 2;
	}

	for (size_t i = 0; words->count == 3 && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i][0]) != 0 || strcmp(words->words[2], names[i][1]) != 0)
			continue;
		snprintf(name, size, "%s", names[i][2]);
		words->count = 2;
	}
}

static int
open_capstone(struct decoder *decoder)
{
	return decoder_open_capstone(decoder, CS_ARCH_RISCV, CS_MODE_RISCV64 | CS_MODE_RISCVC);
}

static void
put_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
         struct text *text)
{
	const size_t size = size_of(bytes, length);
	const cs_insn *instruction = decoder->scratch;
	struct instruction_detail detail = {.operand_count = 0};
	struct operand_words words;
	const struct form *form;
	bool is_compressed;
	char name[32];

	(void)syntax;
	if (!identify(decoder, bytes, size, address, &detail)) {
		if (size == 4)
			text_put(text, ".inst  0x%08" PRIx32,
			         bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
			                 (uint32_t)bytes[3] << 24);
		else
			text_put(text, "(bad)");
		return;
	}
	snprintf(name, sizeof(name), "%s", expanded_name(instruction->mnemonic, &is_compressed));
	form = decoder_form(decoder, name);
	words_split(instruction->op_str, &words);
	if (is_compressed && is_tied(name, form, words.count)) {
		memmove(words.words[1], words.words[0], 2 * sizeof(words.words[0]));
		words.count++;
	}
	for (size_t i = 0; i < words.count; i++)
		word_unify(words.words[i], name, form, i);
	if (has_target(form, &detail) && words.count)
		snprintf(words.words[words.count - 1], WORD_SIZE, "0x%" PRIx64,
		         (uint64_t)detail.operands[detail.operand_count - 1].value);
	jump_unify(name, sizeof(name), &words);
	name_unify(name, sizeof(name), &words);
	text_put(text, words.count ? "%-6s " : "%s", name);
	for (size_t i = 0; i < words.count; i++)
		text_put(text, "%s%s", i ? "," : "", words.words[i]);
}

const struct decoder_architecture riscv64_architecture = {
	.forms = forms,
	.form_count = ARRAY_COUNT(forms),
	.open = open_capstone,
	.measure = measure,
	.fill = fill,
	.distance = distance,
	.detail = fill_detail,
	.text = put_text,
};

#endif
