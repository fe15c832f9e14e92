/*
 * AArch64: an instruction out of its word, the operands that capstone or a table of our own finds, and the form of its
 * name.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "code/decoder_internal.h"

#define SIZE 4u /* bytes of an instruction */
#define SP   31u

/*
 * What instructions do, by the name that capstone gives them (aliases are names of their own).
 * Source: Arm Architecture Reference Manual, DDI 0487, part C.
 */
#define LINK  (1u << 30)
#define FLAGS (FLAGS_READ | FLAGS_WRITE)

/* clang-format off */
static const struct form forms[] = {
	/* general registers */
	{"nop hint yield wfe wfi sev sevl psb csdb esb dgh", CLASS_NOP, ACCESS_NONE, 0},
	{"bti", CLASS_NOP, ACCESS_NONE, IS_LANDING},
	{"mov", CLASS_MOVE, ACCESS_WRITE, 0},
	{"movz movn", CLASS_INTEGER, ACCESS_WRITE, 0},
	{"movk", CLASS_INTEGER, ACCESS_UPDATE, 0},
	{"adr adrp", CLASS_ADDRESS, ACCESS_WRITE, 0},
	{"add sub and orr eor bic orn eon neg mvn", CLASS_INTEGER, ACCESS_WRITE, 0},
	{"adds subs ands bics negs", CLASS_INTEGER, ACCESS_WRITE, FLAGS_WRITE},
	{"adc sbc ngc", CLASS_INTEGER, ACCESS_WRITE, FLAGS_READ},
	{"adcs sbcs ngcs", CLASS_INTEGER, ACCESS_WRITE, FLAGS},
	{"cmp cmn tst", CLASS_INTEGER, ACCESS_READ, FLAGS_WRITE},
	{"ccmp ccmn", CLASS_INTEGER, ACCESS_READ, FLAGS},
	{"lsl lsr asr ror lslv lsrv asrv rorv", CLASS_SHIFT, ACCESS_WRITE, 0},
	{"sbfiz sbfx ubfiz ubfx sbfm ubfm sxtb sxth sxtw uxtb uxth uxtw clz cls rbit rev rev16 rev32 rev64 extr", CLASS_BIT, ACCESS_WRITE, 0},
	{"bfi bfxil bfm bfc", CLASS_BIT, ACCESS_UPDATE, 0},
	{"csel csinc csinv csneg cset csetm cinc cinv cneg", CLASS_SELECT, ACCESS_WRITE, FLAGS_READ},
	{"mul madd msub mneg smull smaddl smsubl smnegl umull umaddl umsubl umnegl smulh umulh", CLASS_MULTIPLY, ACCESS_WRITE, 0},
	{"sdiv udiv", CLASS_DIVIDE, ACCESS_WRITE, 0},
	{"crc32b crc32h crc32w crc32x crc32cb crc32ch crc32cw crc32cx", CLASS_MULTIPLY, ACCESS_WRITE, 0},

	/* pointer authentication, of the hint space and beyond */
	{"paciasp pacibsp", CLASS_INTEGER, ACCESS_NONE, IS_LANDING, .reads = LINK | 1u << 31, .writes = LINK},
	{"autiasp autibsp", CLASS_INTEGER, ACCESS_NONE, 0, .reads = LINK | 1u << 31, .writes = LINK},
	{"paciaz pacibz autiaz autibz xpaclri", CLASS_INTEGER, ACCESS_NONE, 0, .reads = LINK, .writes = LINK},
	{"pacia1716 pacib1716 autia1716 autib1716", CLASS_INTEGER, ACCESS_NONE, 0, .reads = 1u << 16 | 1u << 17, .writes = 1u << 17},

	/* memory */
	{"ldr ldrb ldrh ldrsb ldrsh ldrsw ldur ldurb ldurh ldursb ldursh ldursw ldtr ldtrb ldtrh ldtrsb ldtrsh ldtrsw", CLASS_LOAD, ACCESS_WRITE, IS_LOAD},
	{"ldar ldarb ldarh ldlar ldlarb ldlarh ldapr ldaprb ldaprh", CLASS_LOAD, ACCESS_WRITE, IS_LOAD},
	{"ldp ldnp ldpsw", CLASS_LOAD, ACCESS_PAIR, IS_LOAD},
	{"str strb strh stur sturb sturh sttr sttrb sttrh stp stnp stlr stlrb stlrh stllr stllrb stllrh", CLASS_STORE, ACCESS_READ, IS_STORE},
	{"prfm prfum", CLASS_PREFETCH, ACCESS_NONE, 0},
	{"ldxr ldxrb ldxrh ldaxr ldaxrb ldaxrh", CLASS_ATOMIC, ACCESS_WRITE, IS_LOAD},
	{"ldxp ldaxp", CLASS_ATOMIC, ACCESS_PAIR, IS_LOAD},
	{"stxr stxrb stxrh stlxr stlxrb stlxrh stxp stlxp", CLASS_ATOMIC, ACCESS_WRITE, IS_STORE},
	{"atomic-load", CLASS_ATOMIC, ACCESS_SECOND, IS_LOAD | IS_STORE},
	{"atomic-compare", CLASS_ATOMIC, ACCESS_UPDATE, IS_LOAD | IS_STORE},
	{"atomic-pair", CLASS_ATOMIC, ACCESS_SWAP, IS_LOAD | IS_STORE},
	{"clrex dmb dsb isb sb", CLASS_BARRIER, ACCESS_NONE, 0},

	/* what ends a block */
	{"b", CLASS_JUMP, ACCESS_READ, 0, FLOW_JUMP},
	{"b.*", CLASS_BRANCH, ACCESS_READ, FLAGS_READ, FLOW_BRANCH},
	{"cbz cbnz tbz tbnz", CLASS_BRANCH, ACCESS_READ, 0, FLOW_BRANCH},
	{"br braa brab braaz brabz", CLASS_JUMP, ACCESS_READ, 0, FLOW_JUMP_INDIRECT},
	{"bl", CLASS_CALL, ACCESS_READ, 0, FLOW_CALL, .writes = LINK},
	{"blr blraa blrab blraaz blrabz", CLASS_CALL, ACCESS_READ, 0, FLOW_CALL_INDIRECT, .writes = LINK},
	{"ret", CLASS_RETURN, ACCESS_READ, 0, FLOW_RETURN},
	{"retaa retab", CLASS_RETURN, ACCESS_READ, 0, FLOW_RETURN, .reads = LINK | 1u << 31},
	{"eret drps eretaa eretab", CLASS_SYSTEM, ACCESS_READ, 0, FLOW_RETURN},
	{"brk hlt udf", CLASS_SYSTEM, ACCESS_NONE, 0, FLOW_STOP},

	/* the system; a call leaves its result in x0 */
	{"svc", CLASS_SYSTEM, ACCESS_NONE, 0, .reads = 1u << 8 | 0x1f, .writes = 1u},
	{"hvc smc", CLASS_SYSTEM, ACCESS_NONE, 0, .reads = 0xf, .writes = 0xf},
	{"dcps1 dcps2 dcps3", CLASS_SYSTEM, ACCESS_NONE, 0},
	{"mrs sysl", CLASS_SYSTEM, ACCESS_WRITE, 0},
	{"msr sys dc ic at tlbi", CLASS_SYSTEM, ACCESS_READ, 0},

	/* floating point; the operands say whether a name means floating point or vectors of integers */
	{"fadd fsub fabd fmax fmin fmaxnm fminnm faddp fmaxp fminp fmaxnmp fminnmp fmaxv fminv fmaxnmv fminnmv", CLASS_FLOAT_ADD, ACCESS_WRITE, 0},
	{"fmul fnmul fmulx frecpe frecpx frsqrte urecpe ursqrte", CLASS_FLOAT_MULTIPLY, ACCESS_WRITE, 0},
	{"fmadd fmsub fnmadd fnmsub frecps frsqrts", CLASS_FLOAT_FUSED, ACCESS_WRITE, 0},
	{"fmla fmls fmlal* fmlsl* fcmla bfmlal* bfdot bfmmla", CLASS_FLOAT_FUSED, ACCESS_UPDATE, 0},
	{"fdiv", CLASS_FLOAT_DIVIDE, ACCESS_WRITE, 0},
	{"fsqrt", CLASS_FLOAT_ROOT, ACCESS_WRITE, 0},
	{"fcmp fcmpe", CLASS_FLOAT_COMPARE, ACCESS_READ, FLAGS_WRITE},
	{"fccmp fccmpe", CLASS_FLOAT_COMPARE, ACCESS_READ, FLAGS},
	{"fcmeq fcmge fcmgt fcmle fcmlt facge facgt", CLASS_FLOAT_COMPARE, ACCESS_WRITE, 0},
	{"fcsel", CLASS_SELECT, ACCESS_WRITE, FLAGS_READ},
	{"fcvt* frint* scvtf ucvtf", CLASS_FLOAT_CONVERT, ACCESS_WRITE, 0},
	{"fcvtn2 fcvtxn2", CLASS_FLOAT_CONVERT, ACCESS_UPDATE, 0},
	{"fmov umov smov dup fabs fneg", CLASS_FLOAT_MOVE, ACCESS_WRITE, 0},
	{"movi mvni", CLASS_FLOAT_MOVE, ACCESS_WRITE, 0},
	{"ins", CLASS_FLOAT_MOVE, ACCESS_UPDATE, 0},

	/* vectors of integers */
	{"cmeq cmge cmgt cmhi cmhs cmle cmlt cmtst abs addp addv addhn subhn raddhn rsubhn sabd uabd sabdl uabdl sabdl2 uabdl2 saddl* uaddl* saddw* uaddw* ssubl* usubl* ssubw* usubw* shadd uhadd shsub uhsub srhadd urhadd smax* smin* umax* umin* sqadd uqadd sqsub uqsub sqabs sqneg cnt not", CLASS_VECTOR_INTEGER, ACCESS_WRITE, 0},
	{"shl shll shll2 sshl ushl sshr ushr sshll* ushll* sxtl* uxtl* srshl urshl srshr urshr sqshl uqshl sqshlu sqrshl uqrshl shrn rshrn sqshrn uqshrn sqrshrn uqrshrn sqshrun sqrshrun xtn sqxtn uqxtn sqxtun", CLASS_VECTOR_INTEGER, ACCESS_WRITE, 0},
	{"bit bif bsl sli sri ssra usra srsra ursra saba uaba sabal* uabal* sadalp uadalp suqadd usqadd addhn2 subhn2 raddhn2 rsubhn2 shrn2 rshrn2 sqshrn2 uqshrn2 sqrshrn2 uqrshrn2 sqshrun2 sqrshrun2 xtn2 sqxtn2 uqxtn2 sqxtun2", CLASS_VECTOR_INTEGER, ACCESS_UPDATE, 0},
	{"eor3 bcax rax1 xar", CLASS_CRYPTO, ACCESS_WRITE, 0},
	{"pmul smull2 umull2 sqdmulh sqrdmulh sqdmull*", CLASS_VECTOR_MULTIPLY, ACCESS_WRITE, 0},
	{"mla mls smlal* umlal* smlsl* umlsl* sqdmlal* sqdmlsl* sdot udot usdot sudot smmla ummla usmmla sqrdmlah sqrdmlsh", CLASS_VECTOR_MULTIPLY, ACCESS_UPDATE, 0},
	{"ext zip1 zip2 uzp1 uzp2 trn1 trn2 tbl", CLASS_VECTOR_SHUFFLE, ACCESS_WRITE, 0},
	{"tbx", CLASS_VECTOR_SHUFFLE, ACCESS_UPDATE, 0},
	{"ld1 ld2 ld3 ld4 ld1r ld2r ld3r ld4r", CLASS_LOAD, ACCESS_WRITE, IS_LOAD},
	{"st1 st2 st3 st4", CLASS_STORE, ACCESS_READ, IS_STORE},
	{"aese aesd sha1* sha256* sha512* sm3* sm4e", CLASS_CRYPTO, ACCESS_UPDATE, 0},
	{"aesmc aesimc sha1h pmull pmull2 sm4ekey", CLASS_CRYPTO, ACCESS_WRITE, 0},
};
/* clang-format on */

/*
 * Instructions that capstone 4.0.2 does not know, or not by name: atomics of Armv8.1, branches and hints of pointer
 * authentication and of branch targets (8.3, 8.5), acquiring loads (8.3, 8.4), dot products (8.2).
 * Operands: n, s, t and r, braa's modifier, are the general registers in the fields of these names; x and y those that
 * follow s and t; capitals are vectors; [ is memory at n.
 */
struct extra_form {
	uint32_t mask, value;
	const char *name, *operands;
};

static const struct extra_form extra_forms[] = {
	{0xffffffff, 0xd503201f, "nop", ""},
	{0xffffffff, 0xd503203f, "yield", ""},
	{0xffffffff, 0xd503205f, "wfe", ""},
	{0xffffffff, 0xd503207f, "wfi", ""},
	{0xffffffff, 0xd503209f, "sev", ""},
	{0xffffffff, 0xd50320bf, "sevl", ""},
	{0xffffffff, 0xd50320ff, "xpaclri", ""},
	{0xffffffff, 0xd503211f, "pacia1716", ""},
	{0xffffffff, 0xd503215f, "pacib1716", ""},
	{0xffffffff, 0xd503219f, "autia1716", ""},
	{0xffffffff, 0xd50321df, "autib1716", ""},
	{0xffffffff, 0xd503221f, "esb", ""},
	{0xffffffff, 0xd503229f, "csdb", ""},
	{0xffffffff, 0xd503231f, "paciaz", ""},
	{0xffffffff, 0xd503233f, "paciasp", ""},
	{0xffffffff, 0xd503235f, "pacibz", ""},
	{0xffffffff, 0xd503237f, "pacibsp", ""},
	{0xffffffff, 0xd503239f, "autiaz", ""},
	{0xffffffff, 0xd50323bf, "autiasp", ""},
	{0xffffffff, 0xd50323df, "autibz", ""},
	{0xffffffff, 0xd50323ff, "autibsp", ""},
	{0xffffffff, 0xd503241f, "nop", ""},
	{0xffffff3f, 0xd503241f, "bti", ""},
	{0xfffff01f, 0xd503201f, "hint", ""},
	{0xffffffff, 0xd50330ff, "sb", ""},
	{0xffff0000, 0x00000000, "udf", ""},

	{0xfffff800, 0xd71f0800, "braa", "nr"},
	{0xfffff81f, 0xd61f081f, "braaz", "n"},
	{0xfffff800, 0xd73f0800, "blraa", "nr"},
	{0xfffff81f, 0xd63f081f, "blraaz", "n"},
	{0xfffffbff, 0xd65f0bff, "retaa", ""},
	{0xfffffbff, 0xd69f0bff, "eretaa", ""},

	{0x3ffffc00, 0x38bfc000, "ldapr", "t["},
	{0x3f208c00, 0x38200000, "atomic-load", "st["},
	{0x3f20fc00, 0x38208000, "atomic-load", "st["},
	{0x3fa07c00, 0x08a07c00, "atomic-compare", "st["},
	{0xbfa07c00, 0x08207c00, "atomic-pair", "sxty["},
	{0x3fe00c00, 0x19400000, "ldapr", "t["},
	{0x3fe00c00, 0x19000000, "stlr", "t["},
	{0xff200400, 0xf8200400, "ldr", "t["},
	{0xbf20fc00, 0x0e009400, "sdot", "DNM"},
	{0xbf20fc00, 0x2e009400, "udot", "DNM"},
};

static const struct extra_form *
extra_find(uint32_t word)
{
	for (size_t i = 0; i < sizeof(extra_forms) / sizeof(extra_forms[0]); i++)
		if ((word & extra_forms[i].mask) == extra_forms[i].value)
			return &extra_forms[i];
	return NULL;
}

/* Bytes that are loaded or stored; branches take whole registers. */
static uint8_t
extra_access_size(const struct extra_form *row, uint32_t word)
{
	if (!strchr(row->operands, '['))
		return 8;
	if (strcmp(row->name, "atomic-pair") == 0)
		return word & 0x40000000 ? 8 : 4;
	return (uint8_t)(1u << (word >> 30));
}

static uint8_t
extra_register(uint32_t word, char letter)
{
	switch (letter) {
	case 'n':
	case 'N':
	case '[':
		return word >> 5 & 31;
	case 'M':
	case 's':
		return word >> 16 & 31;
	case 'x':
		return (word >> 16 & 31) | 1;
	case 'y':
		return (word & 31) | 1;
	default:
		return word & 31;
	}
}

static void
extra_operand_fill(const struct extra_form *row, uint32_t word, char letter, struct instruction_operand *operand)
{
	uint8_t reg = extra_register(word, letter);

	*operand = (struct instruction_operand){.kind = OPERAND_REGISTER, .size = extra_access_size(row, word)};
	operand->reg = operand->base = operand->index = REGISTER_NONE;
	if (letter == '[') {
		operand->kind = OPERAND_MEMORY;
		operand->base = reg;
		operand->scale = 1;
	} else if (letter <= 'Z') {
		operand->reg = REGISTER_VECTOR + reg;
		operand->size = word & 0x40000000 ? 16 : 8;
	} else if (reg != 31 || letter == 'r') { /* braa's modifier may be sp, the others are xzr there */
		operand->reg = reg;
	}
}

/* The operands of the extra instruction `word`, and its name in `forms` ("atomic-load" for all like ldadd). False:
 * none. */
static bool
extra_detail(uint32_t word, struct instruction_detail *detail)
{
	const struct extra_form *row = extra_find(word);

	if (!row)
		return false;
	strncpy(detail->mnemonic, row->name, sizeof(detail->mnemonic) - 1);
	for (const char *letter = row->operands; *letter; letter++)
		extra_operand_fill(row, word, *letter, &detail->operands[detail->operand_count++]);
	return true;
}

struct aarch64_register {
	uint8_t number, size;
};

static struct aarch64_register
register_of(unsigned int from)
{
	static const struct {
		unsigned int first, count;
		uint8_t number, size;
	} rows[] = {
		{ARM64_REG_X0, 29, 0, 8},
		{ARM64_REG_W0, 31, 0, 4},
		{ARM64_REG_B0, 32, REGISTER_VECTOR, 1},
		{ARM64_REG_H0, 32, REGISTER_VECTOR, 2},
		{ARM64_REG_S0, 32, REGISTER_VECTOR, 4},
		{ARM64_REG_D0, 32, REGISTER_VECTOR, 8},
		{ARM64_REG_Q0, 32, REGISTER_VECTOR, 16},
		{ARM64_REG_V0, 32, REGISTER_VECTOR, 16},
		/* capstone numbers these apart from the others */
		{ARM64_REG_X29, 1, 29, 8},
		{ARM64_REG_X30, 1, 30, 8},
		{ARM64_REG_SP, 1, SP, 8},
		{ARM64_REG_WSP, 1, SP, 4},
		{ARM64_REG_XZR, 1, REGISTER_NONE, 8},
		{ARM64_REG_WZR, 1, REGISTER_NONE, 4},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (from >= rows[i].first && from - rows[i].first < rows[i].count)
			return (struct aarch64_register){(uint8_t)(rows[i].number + from - rows[i].first),
			                                 rows[i].size};
	return (struct aarch64_register){REGISTER_NONE, 0};
}

static bool
is_extension(arm64_extender extension)
{
	return extension != ARM64_EXT_INVALID && extension != ARM64_EXT_UXTX && extension != ARM64_EXT_SXTX;
}

static bool
is_half_vector(arm64_vas arrangement)
{
	return arrangement == ARM64_VAS_8B || arrangement == ARM64_VAS_4H || arrangement == ARM64_VAS_2S ||
	       arrangement == ARM64_VAS_1D;
}

static void
operand_fill(const cs_arm64_op *from, struct instruction_operand *operand)
{
	struct aarch64_register reg;

	*operand = (struct instruction_operand){.kind = OPERAND_OTHER};
	operand->reg = operand->base = operand->index = REGISTER_NONE;
	operand->shift = from->shift.type == ARM64_SFT_LSL ? (uint8_t)from->shift.value : 0;
	operand->is_extended = is_extension(from->ext);
	operand->is_signed = from->ext >= ARM64_EXT_SXTB;
	switch ((int)from->type) {
	case ARM64_OP_REG:
		reg = register_of(from->reg);
		operand->kind = OPERAND_REGISTER;
		operand->reg = reg.number;
		operand->size = is_half_vector(from->vas) ? 8 : reg.size;
		break;
	case ARM64_OP_IMM:
		operand->kind = OPERAND_IMMEDIATE;
		operand->value = from->imm;
		break;
	case ARM64_OP_MEM:
		operand->kind = OPERAND_MEMORY;
		operand->base = register_of(from->mem.base).number;
		operand->index = register_of(from->mem.index).number;
		operand->scale = (uint8_t)(1u << (operand->shift & 7));
		operand->value = from->mem.disp;
		break;
	default:
		break;
	}
}

/* ldr x0, label: capstone gives the address as an immediate. */
static void
literal_fill(uint32_t word, struct instruction_detail *detail)
{
	struct instruction_operand *last;

	if ((word & 0x3b000000) != 0x18000000 || detail->operand_count == 0)
		return;
	last = &detail->operands[detail->operand_count - 1];
	if (last->kind != OPERAND_IMMEDIATE)
		return;
	last->kind = OPERAND_MEMORY;
	last->is_pc = true;
}

/* The name and the operands of `from`, which capstone disassembled from `word`. */
static void
operands_fill(const cs_insn *from, uint32_t word, struct instruction_detail *detail)
{
	const cs_arm64 *arm = &from->detail->arm64;

	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "%s", from->mnemonic);
	for (size_t i = 0; i < arm->op_count && i < INSTRUCTION_OPERANDS_MAX; i++)
		operand_fill(&arm->operands[i], &detail->operands[detail->operand_count++]);
	literal_fill(word, detail);
}

/* An element of a vector is written, or bits of it are set by an immediate: the rest stays. */
static bool
keeps_rest(uint32_t word)
{
	bool is_insert = (word & 0xbfe0fc00) == 0x0e001c00 || (word & 0xffe08400) == 0x6e000400;
	bool is_lane_load = (word & 0xbf400000) == 0x0d400000 && (word & 0xe000) < 0xc000;
	bool is_immediate = (word & 0x9ff80400) == 0x0f000400 && (word & 0x1000) && (word & 0xc000) != 0xc000;

	return is_insert || is_lane_load || is_immediate;
}

static size_t
written_count(const struct form *form, uint32_t word, const struct instruction_detail *detail)
{
	bool is_structure_load = form->class == CLASS_LOAD && (word & 0xbe000000) == 0x0c000000;
	size_t count = 0;

	if (!is_structure_load)
		return form->access == ACCESS_PAIR || form->access == ACCESS_SWAP ? 2 : 1;
	while (count < detail->operand_count && detail->operands[count].kind == OPERAND_REGISTER)
		count++;
	return count;
}

static bool
is_written(const struct form *form, size_t i, size_t written)
{
	switch (form->access) {
	case ACCESS_WRITE:
	case ACCESS_UPDATE:
	case ACCESS_PAIR:
	case ACCESS_SWAP:
		return i < written;
	case ACCESS_SECOND:
		return i == 1;
	default:
		return false;
	}
}

static void
touch_operands(struct instruction *instruction, const struct form *form, uint32_t word,
               const struct instruction_detail *detail)
{
	size_t written = written_count(form, word, detail);
	bool updates = form->access == ACCESS_UPDATE || form->access == ACCESS_SWAP || keeps_rest(word);

	for (size_t i = 0; i < detail->operand_count; i++) {
		const struct instruction_operand *operand = &detail->operands[i];
		bool is_result = is_written(form, i, written);

		if (operand->kind == OPERAND_MEMORY) {
			instruction_add_address(instruction, operand->base);
			instruction_add_address(instruction, operand->index);
		}
		if (operand->kind != OPERAND_REGISTER || form->access == ACCESS_NONE)
			continue;
		if (!is_result || updates)
			instruction_add_read(instruction, operand->reg);
		if (is_result)
			instruction_add_write(instruction, operand->reg);
	}
}

/* Loads and stores with an address that moves on. */
static void
touch_writeback(struct instruction *instruction, uint32_t word)
{
	uint8_t base = word >> 5 & 31;
	bool is_single = (word & 0x3b200400) == 0x38000400; /* ldr, str: before or after */
	bool is_pair = (word & 0x3a800000) == 0x28800000;
	bool is_structure = (word & 0xbe800000) == 0x0c800000;

	if (is_single || is_pair || is_structure)
		instruction_add_write(instruction, base);
}

static uint8_t
access_size(const struct form *form, uint32_t word, const struct instruction_detail *detail)
{
	size_t count = 0, last = strlen(detail->mnemonic) - 1;
	bool is_integer = (word & 0x3c000000) != 0x3c000000 && (word & 0x3e000000) != 0x2c000000;
	bool is_pair = detail->mnemonic[last] == 'p' || strcmp(detail->mnemonic, "ldpsw") == 0;
	size_t i = form->access == ACCESS_WRITE && (form->traits & IS_STORE);

	if ((word & 0xbe000000) == 0x0c000000) { /* ld1 to st4: lists, or an element of each */
		while (count < detail->operand_count && detail->operands[count].kind == OPERAND_REGISTER)
			count++;
		if (word & 0x01000000)
			return 0;
		return (uint8_t)(detail->operands[0].size * count);
	}
	if (strcmp(detail->mnemonic, "ldpsw") == 0)
		return 8;
	if (is_integer && detail->mnemonic[last] == 'b')
		return 1;
	if (is_integer && detail->mnemonic[last] == 'h')
		return 2;
	if (is_integer && detail->mnemonic[last] == 'w')
		return 4;
	if (i >= detail->operand_count)
		return 0;
	return (uint8_t)(detail->operands[i].size * (is_pair ? 2 : 1));
}

static bool
has_vector(const struct instruction_detail *detail)
{
	for (size_t i = 0; i < detail->operand_count; i++)
		if (detail->operands[i].kind == OPERAND_REGISTER && detail->operands[i].reg >= REGISTER_VECTOR &&
		    detail->operands[i].reg < REGISTER_FLAGS)
			return true;
	return false;
}

static enum instruction_class
class_of(const struct form *form, const struct instruction_detail *detail)
{
	bool is_vector = has_vector(detail);

	switch (form->class) {
	case CLASS_MOVE:
		if (is_vector)
			return CLASS_FLOAT_MOVE;
		return detail->operand_count == 2 && detail->operands[1].kind == OPERAND_REGISTER &&
		                       detail->operands[1].reg != REGISTER_NONE
		               ? CLASS_MOVE
		               : CLASS_INTEGER;
	case CLASS_INTEGER:
	case CLASS_SHIFT:
	case CLASS_BIT:
		return is_vector ? CLASS_VECTOR_INTEGER : form->class;
	case CLASS_MULTIPLY:
		return is_vector ? CLASS_VECTOR_MULTIPLY : form->class;
	default:
		return form->class;
	}
}

/* Fill in what the instruction reads, writes and is; not its place: address, size and target. */
static void
effects_fill(struct instruction *instruction, const struct form *form, uint32_t word,
             const struct instruction_detail *detail)
{
	instruction->flow = form->flow;
	touch_operands(instruction, form, word, detail);
	instruction_add_implicit(instruction, form->reads, form->writes);
	if (form->traits & FLAGS_READ)
		instruction_add_read(instruction, REGISTER_FLAGS);
	if (instruction->flow == FLOW_RETURN && detail->operand_count == 0 && form->class == CLASS_RETURN)
		instruction_add_read(instruction, 30);
	if ((word & 0xffffffe0) == 0xd53b4200) /* mrs x0, nzcv */
		instruction_add_read(instruction, REGISTER_FLAGS);
	if ((word & 0xffffffe0) == 0xd51b4200)
		instruction_add_write(instruction, REGISTER_FLAGS);
	instruction->loads = form->traits & IS_LOAD;
	instruction->stores = form->traits & IS_STORE;
	if (instruction->loads || instruction->stores) {
		touch_writeback(instruction, word);
		instruction->access_size = access_size(form, word, detail);
	}
	if (form->traits & FLAGS_WRITE)
		instruction_add_write(instruction, REGISTER_FLAGS);
	instruction->class = class_of(form, detail);
	instruction->is_wide = form->class == CLASS_DIVIDE && word >> 31;
	instruction->is_landing_pad = form->traits & IS_LANDING;
}

static uint32_t
word_at(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static int64_t
field_signed(uint32_t word, unsigned int from, unsigned int bits)
{
	return (int64_t)((uint64_t)(word >> from) << (64 - bits)) >> (64 - bits);
}

static int64_t
distance(const struct encoded_instruction *encoded, const struct instruction *instruction)
{
	const uint32_t word = word_at(encoded->bytes);

	(void)instruction;
	if ((word & 0x7c000000) == 0x14000000)
		return 4 * field_signed(word, 0, 26);
	return 4 * ((word & 0x7e000000) == 0x36000000 ? field_signed(word, 5, 14) : field_signed(word, 5, 19));
}

/* The word without the bits that do not change what it does: displacements, offsets, other immediates. */
static uint32_t
canonical(uint32_t word)
{
	if ((word & 0x7c000000) == 0x14000000)
		return word & 0xfc000000;
	if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		return word & 0xff00001f;
	if ((word & 0x7e000000) == 0x36000000)
		return word & 0x7f00001f;
	if ((word & 0x1f000000) == 0x10000000)
		return word & 0x9f00001f;
	if ((word & 0x3b000000) == 0x39000000)
		return word & 0xffc003ff;
	if ((word & 0x3a000000) == 0x28000000)
		return word & 0xffc07fff;
	/* add of 0 is a move */
	if ((word & 0x1f800000) == 0x11000000 && word >> 10 & 0xfff)
		return (word & 0xff8003ff) | 0x400;
	return word;
}

/*
 * SVE, SME, memory tagging and copying: newer than the forms. Capstone 4 does not know them, and capstone 5 does not
 * say of all of them what they write: they are unknown with both.
 */
static bool
is_beyond_tables(uint32_t word)
{
	const bool is_scalable = (word >> 25 & 0xf) == 2 || (word >> 25 & 0xf) == 0;
	const bool is_tag = (word & 0xff200000) == 0xd9200000 || (word & 0xffe0f800) == 0x9ac01000;
	const bool is_copy = (word & 0x3b200c00) == 0x19000400;
	const bool is_matrix_start =
		(word & 0xfffff0ff) == 0xd503407f && (word & 0xf00) >= 0x200 && (word & 0xf00) <= 0x700;

	return is_scalable || is_tag || is_copy || is_matrix_start;
}

static bool
identify(struct decoder *decoder, const uint8_t *bytes, uint64_t address, struct instruction_detail *detail)
{
	uint32_t word = word_at(bytes);

	if (extra_detail(word, detail))
		return true;
	if (is_beyond_tables(word) || !decoder_disassemble(decoder, bytes, SIZE, address))
		return false;
	operands_fill(decoder->scratch, word, detail);
	return true;
}

static size_t
measure(struct encoded_instruction *encoded)
{
	if (encoded->length < SIZE)
		return 0;
	encoded->key[0] = canonical(word_at(encoded->bytes));
	encoded->key[1] = 0;
	return SIZE;
}

static bool
fill(struct decoder *decoder, const struct encoded_instruction *encoded, struct instruction *instruction)
{
	struct instruction_detail detail = {.operand_count = 0};

	if (!identify(decoder, encoded->bytes, 0, &detail))
		return false;
	effects_fill(instruction, decoder_form(decoder, detail.mnemonic), word_at(encoded->bytes), &detail);
	return true;
}

static bool
fill_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
            struct instruction_detail *detail)
{
	return length >= SIZE && identify(decoder, bytes, address, detail);
}

/* ldaddal, swpb, casah: the operation, the order, the size. */
static void
extra_atomic_name(const struct extra_form *row, uint32_t word, char *name, size_t size)
{
	static const char *const operations[8] = {"ldadd",  "ldclr",  "ldeor",  "ldset",
	                                          "ldsmax", "ldsmin", "ldumax", "ldumin"};
	bool is_compare = strcmp(row->name, "atomic-load") != 0;
	bool acquires = word & (is_compare ? 1u << 22 : 1u << 23), releases = word & (is_compare ? 1u << 15 : 1u << 22);
	const char *operation = word & 0x8000 ? "swp" : operations[word >> 12 & 7], *part = "";

	if (is_compare)
		operation = strcmp(row->name, "atomic-pair") == 0 ? "casp" : "cas";
	else if (word >> 31 == 0)
		part = word & 0x40000000 ? "h" : "b";
	if (strcmp(operation, "cas") == 0 && word >> 31 == 0)
		part = word & 0x40000000 ? "h" : "b";
	snprintf(name, size, "%s%s%s%s", operation, acquires ? "a" : "", releases ? "l" : "", part);
}

static void
second_key_name(const char *first, char *name, size_t size)
{
	char *key;

	snprintf(name, size, "%s", first);
	key = strrchr(name, 'a');
	if (key)
		*key = 'b';
}

static void
extra_name(const struct extra_form *row, uint32_t word, char *name, size_t size)
{
	static const char *const landings[4] = {"bti", "bti c", "bti j", "bti jc"};
	const char *part = strchr(row->operands, '[') && word >> 31 == 0 ? word & 0x40000000 ? "h" : "b" : "";
	bool is_second_key = (word & 0xfe000400) == 0xd6000400;

	if ((word & 0xffffff3f) == 0xd503241f)
		snprintf(name, size, "%s", landings[word >> 6 & 3]);
	else if (strcmp(row->name, "hint") == 0)
		snprintf(name, size, "hint #%u", (unsigned int)(word >> 5 & 0x7f));
	else if (strcmp(row->name, "udf") == 0)
		snprintf(name, size, "udf #%u", (unsigned int)(word & 0xffff));
	else if (is_second_key) /* brab for braa: the last a is the key */
		second_key_name(row->name, name, size);
	else
		snprintf(name, size, "%s%s", row->name, part);
}

static size_t
extra_operand_text(const struct extra_form *row, uint32_t word, char letter, char *text, size_t size)
{
	struct instruction_operand operand;
	int n;

	extra_operand_fill(row, word, letter, &operand);
	if (operand.kind == OPERAND_MEMORY && operand.base == 31)
		n = snprintf(text, size, "[sp]");
	else if (operand.kind == OPERAND_MEMORY)
		n = snprintf(text, size, "[x%u]", operand.base);
	else if (operand.reg == REGISTER_NONE)
		n = snprintf(text, size, "%czr", operand.size == 8 ? 'x' : 'w');
	else if (operand.reg == 31)
		n = snprintf(text, size, "sp");
	else if (operand.reg >= REGISTER_VECTOR)
		n = snprintf(text, size, "v%u.%s", (unsigned int)operand.reg - REGISTER_VECTOR,
		             letter == 'D'        ? operand.size == 16 ? "4s" : "2s"
		             : operand.size == 16 ? "16b"
		                                  : "8b");
	else
		n = snprintf(text, size, "%c%u", operand.size == 8 ? 'x' : 'w', operand.reg);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* The text of the extra instruction `word`; offsets of the acquiring loads are not shown. False: it is no extra
 * instruction. */
static bool
extra_text(uint32_t word, char *text, size_t size)
{
	const struct extra_form *row = extra_find(word);
	char name[32];
	size_t at;
	int n;

	if (!row)
		return false;
	if (strncmp(row->name, "atomic", 6) == 0)
		extra_atomic_name(row, word, name, sizeof(name));
	else
		extra_name(row, word, name, sizeof(name));
	n = snprintf(text, size, row->operands[0] ? "%-6s " : "%s", name);
	at = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
	for (const char *letter = row->operands; *letter && at + 2 < size; letter++) {
		if (letter != row->operands) {
			memcpy(text + at, ", ", 3);
			at += 2;
		}
		at += extra_operand_text(row, word, *letter, text + at, size - at);
	}
	return true;
}

/* An instruction's text, as capstone's mnemonic and op_str. */
struct listing_parts {
	char name[32], operands[160];
};

/* Put `by` in place of the `length` characters at `at` of the operands, if there is room. */
static void
listing_splice(struct listing_parts *parts, char *at, size_t length, const char *by)
{
	const size_t by_length = strlen(by), rest = strlen(at + length) + 1;

	if ((size_t)(at - parts->operands) + by_length + rest > sizeof(parts->operands))
		return;
	memmove(at + by_length, at + length, rest);
	memcpy(at, by, by_length);
}

/* Numbers are decimal up to nine, hexadecimal above, in all of capstone's operands but some. */
static void
digits_unify(struct listing_parts *parts)
{
	char *at = parts->operands;

	while ((at = strstr(at, "#0x"))) {
		if (isdigit((unsigned char)at[3]) && !isxdigit((unsigned char)at[4]))
			listing_splice(parts, at + 1, 2, "");
		at++;
	}
}

static void
put_move(struct listing_parts *parts, uint32_t word, int64_t value)
{
	const bool is_wide = word >> 31;
	const unsigned int to = word & 31;
	char reg[8];

	if (to == 31) /* of orr the stack pointer, of a wide move zero */
		snprintf(reg, sizeof(reg), "%s",
		         (word >> 23 & 0x3f) == 0x24 ? is_wide ? "sp" : "wsp"
		         : is_wide                   ? "xzr"
		                                     : "wzr");
	else
		snprintf(reg, sizeof(reg), "%c%u", is_wide ? 'x' : 'w', to);
	if (!is_wide)
		value = (int32_t)value;
	snprintf(parts->name, sizeof(parts->name), "mov");
	if (value > -10 && value < 10)
		snprintf(parts->operands, sizeof(parts->operands), "%s, #%" PRId64, reg, value);
	else
		snprintf(parts->operands, sizeof(parts->operands), "%s, #%s0x%" PRIx64, reg, value < 0 ? "-" : "",
		         value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* A number that movz, movn or orr of nothing makes is a mov's, if there is no shorter way to say another instruction.
 */
static void
moved_number(uint32_t word, struct listing_parts *parts)
{
	const unsigned int shift = (word >> 21 & 3) * 16;
	const uint64_t number = word >> 5 & 0xffff, placed = number << shift;
	const bool is_wide = word >> 31;
	const char *text;

	if ((word & 0x7f800000) == 0x52800000 && (number || !shift))
		put_move(parts, word, (int64_t)placed);
	else if ((word & 0x7f800000) == 0x12800000 && (number || !shift) && (is_wide || number != 0xffff))
		put_move(parts, word, (int64_t)~placed);
	else if ((word & 0x7f8003e0) == 0x320003e0 && (text = strchr(parts->operands, '#')) &&
	         (strcmp(parts->name, "orr") == 0 || strcmp(parts->name, "mov") == 0))
		put_move(parts, word,
		         (int64_t)(text[1] == '-' ? -strtoull(text + 2, NULL, 0) : strtoull(text + 1, NULL, 0)));
}

/* Masks have no sign. */
static void
mask_number(uint32_t word, struct listing_parts *parts)
{
	char *at = strstr(parts->operands, "#-"), *end, text[24];
	uint64_t value;

	if (!at)
		return;
	value = -strtoull(at + 2, &end, 0);
	snprintf(text, sizeof(text), "#0x%" PRIx64, word >> 31 ? value : (uint32_t)value);
	listing_splice(parts, at, (size_t)(end - at), text);
}

/* "ld1 {v0.16b}, [x2], #16": what is added, in hexadecimal as other displacements are. */
static void
added_number(struct listing_parts *parts)
{
	char *at = strstr(parts->operands, "], #"), *end, text[24];
	uint64_t value;

	if (!at)
		return;
	at += 4;
	value = strtoull(at, &end, 0);
	if (*end || value < 10)
		return;
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	listing_splice(parts, at, (size_t)(end - at), text);
}

/* Capstone 4 (Debian 12) and 5 (Debian 13) differ in names and numbers: where they do, write objdump's text. */
static void
listing_unify(uint32_t word, struct listing_parts *parts)
{
	moved_number(word, parts);
	if ((word & 0x1f800000) == 0x12000000 && strcmp(parts->name, "mov") != 0)
		mask_number(word, parts);
	if (strcmp(parts->name, "ins") == 0)
		snprintf(parts->name, sizeof(parts->name), "mov");
	if ((word & 0xbe000000) == 0x0c000000)
		added_number(parts);
	digits_unify(parts);
}

static int
open_capstone(struct decoder *decoder)
{
	return decoder_open_capstone(decoder, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN);
}

static void
put_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
         struct text *text)
{
	struct listing_parts parts;
	uint32_t word;

	(void)syntax;
	if (length < SIZE) {
		text_put(text, "(bad)");
		return;
	}
	word = word_at(bytes);
	if (extra_text(word, text->start, text->size))
		return;
	if (!decoder_disassemble(decoder, bytes, SIZE, address)) {
		text_put(text, ".inst  0x%08" PRIx32, word);
		return;
	}
	snprintf(parts.name, sizeof(parts.name), "%s", decoder->scratch->mnemonic);
	snprintf(parts.operands, sizeof(parts.operands), "%s", decoder->scratch->op_str);
	listing_unify(word, &parts);
	text_put(text, parts.operands[0] ? "%-6s %s" : "%s", parts.name, parts.operands);
}

const struct decoder_architecture aarch64_architecture = {
	.forms = forms,
	.form_count = ARRAY_COUNT(forms),
	.open = open_capstone,
	.measure = measure,
	.fill = fill,
	.distance = distance,
	.detail = fill_detail,
	.text = put_text,
};
