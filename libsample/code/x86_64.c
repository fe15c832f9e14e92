/*
 * x86-64 by Zydis: operands, their actions, hidden registers and flags are Zydis'. The class of an instruction, which
 * Zydis does not know, is in a table by name. The length, the key of the decoder's cache, and the registers of what is
 * newer than Zydis come from code/x86_64_encoding.h. Sources: Intel SDM volume 2, AMD APM volumes 3 to 5.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <Zycore/Format.h>

#include "base/array.h"
#include "code/decoder_internal.h"

#define RCX 1
#define RSP 4
#define RAX (1u << 0)
#define RDX (1u << 2)
#define RSI (1u << 6)
#define RDI (1u << 7)
#define R8  (1u << 8)
#define R10 (1u << 10)
#define R11 (1u << 11)

#define ARITHMETIC_FLAGS                                                                                               \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF |                \
	 ZYDIS_CPUFLAG_OF)
#define HAS_REPEAT (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)
#define READS      (ZYDIS_OPERAND_ACTION_READ | ZYDIS_OPERAND_ACTION_CONDREAD)
#define WRITES     (ZYDIS_OPERAND_ACTION_WRITE | ZYDIS_OPERAND_ACTION_CONDWRITE)

/*
 * The class of each name. Where a name begins with v and has no row, its row is that of the name without it.
 * `reads` and `writes`, where there are any, are in the place of Zydis' hidden registers.
 */
/* clang-format off */
static const struct form forms[] = {
	/* general registers */
	{"nop endbr64 endbr32 fnop feni8087_nop fdisi8087_nop fwait cldemote vzeroupper vzeroall", CLASS_NOP, 0, 0},
	{"mov movabs movbe movnti movdiri", CLASS_MOVE, 0, IS_MOVE},
	{"movsx movsxd movzx", CLASS_INTEGER, 0, IS_MOVE},
	{"lea", CLASS_ADDRESS, 0, 0},
	{"add or and adc sbb adcx adox inc dec neg not bswap cmp test andn xadd xchg cmpxchg cmpxchg8b cmpxchg16b cbw cwde cdqe cwd cdq cqo lahf sahf clc stc cmc", CLASS_INTEGER, 0, 0},
	{"sub xor", CLASS_INTEGER, 0, IS_ZEROING},
	{"shl sal shr sar rol ror rcl rcr shld shrd rorx sarx shlx shrx", CLASS_SHIFT, 0, 0},
	{"mul imul mulx crc32", CLASS_MULTIPLY, 0, 0},
	{"div idiv", CLASS_DIVIDE, 0, 0},
	{"popcnt lzcnt tzcnt bextr bzhi blsi blsr blsmsk blcfill blci blcic blcmsk blcs blsfill blsic t1mskc tzmsk pdep pext bt bts btr btc", CLASS_BIT, 0, 0},
	{"bsf bsr", CLASS_BIT, 0, KEEPS_FIRST},
	{"set* cmov*", CLASS_SELECT, 0, 0},

	/* the stack, and what ends a block */
	{"push pushf pushfd pushfq enter", CLASS_STORE, 0, 0},
	{"pop popf popfd popfq leave", CLASS_LOAD, 0, 0},
	{"call lcall", CLASS_CALL, 0, 0, FLOW_CALL},
	{"ret retf", CLASS_RETURN, 0, 0, FLOW_RETURN},
	{"jmp ljmp", CLASS_JUMP, 0, 0, FLOW_JUMP},
	{"j* loop loope loopne", CLASS_BRANCH, 0, 0, FLOW_BRANCH},
	{"xbegin", CLASS_SYSTEM, 0, 0, FLOW_BRANCH},
	{"ud0 ud1 ud2 hlt int3 int1", CLASS_SYSTEM, ACCESS_NONE, 0, FLOW_STOP},
	{"iret iretd iretq sysexit sysret", CLASS_SYSTEM, 0, 0, FLOW_RETURN},

	/* the system: what has no row, and: */
	{"syscall", CLASS_SYSTEM, 0, 0, .reads = RAX | RDI | RSI | RDX | R10 | R8, .writes = RAX | 1u << RCX | R11},
	{"lar lsl rdssp*", CLASS_SYSTEM, 0, KEEPS_FIRST},
	{"xlatb", CLASS_LOAD, 0, 0},
	{"movdir64b enqcmd enqcmds", CLASS_STORE, 0, 0},
	{"prefetch* clflush clflushopt clwb clzero vgatherpf0* vgatherpf1* vscatterpf0* vscatterpf1*", CLASS_PREFETCH, ACCESS_NONE, 0},
	{"mfence lfence sfence serialize", CLASS_BARRIER, ACCESS_NONE, 0},

	/* floating point, SSE and AVX */
	{"addp* adds* subp* subs* haddp* hsubp* minp* mins* maxp* maxs* vrange*", CLASS_FLOAT_ADD, 0, 0},
	{"round* vrndscale* vreduce* vgetexp* vgetmant* vfixupimm* cvt*", CLASS_FLOAT_CONVERT, 0, 0},
	{"mulp* muls* vscalef* rcp* rsqrt* vexp2* vfmul* vfcmul*", CLASS_FLOAT_MULTIPLY, 0, 0},
	{"dpps dppd vfmadd* vfmsub* vfnmadd* vfnmsub* v4fmadd* v4fnmadd* vdpbf16ps vfcmadd*", CLASS_FLOAT_FUSED, 0, 0},
	{"divp* divs*", CLASS_FLOAT_DIVIDE, 0, 0},
	{"sqrt*", CLASS_FLOAT_ROOT, 0, 0},
	{"comis* ucomis* ptest vtestps vtestpd kortest* ktest* cmpp* cmps* vfpclass*", CLASS_FLOAT_COMPARE, 0, 0},
	{"mova* movu* movdq* lddqu movd movq movnt* movw kmov* movs* maskmovp* vpmaskmov*", CLASS_FLOAT_MOVE, 0, IS_MOVE},
	{"movddup movshdup movsldup vbroadcast* vpbroadcast*", CLASS_VECTOR_SHUFFLE, 0, IS_MOVE},
	{"maskmovdqu maskmovq", CLASS_STORE, 0, 0},
	{"movmsk* pmovmskb vpmovmskb movq2dq movdq2q vpmovm2* vpmovb2m vpmovw2m vpmovd2m vpmovq2m", CLASS_FLOAT_MOVE, 0, 0},
	{"emms femms", CLASS_NOP, 0, USES_X87},

	/* vectors of integers */
	{"padd* pand por pavg* psign* psad* pmaxs* pmaxu* pmins* pminu* mpsadbw psll* psrl* psra* andp* andnp* orp* vdbpsadbw phadd* phsub* pabs* vplzcnt* vpopcnt*", CLASS_VECTOR_INTEGER, 0, 0},
	{"psub* pcmpgt* pcmpeq* pxor* pandn xorp*", CLASS_VECTOR_INTEGER, 0, IS_ZEROING},
	{"vpand* vpor* vpcmp* vptestm* vptestnm* vprol* vpror* vpshld* vpshrd* vpcmov vpcom* vprot* vpsha* vpshl* vpmultishiftqb vpternlog* kand* kor* kxor* kxnor* knot* kadd*", CLASS_VECTOR_INTEGER, 0, 0},
	{"vpcmpeq* vpcmpgt* vpandn", CLASS_VECTOR_INTEGER, 0, IS_ZEROING},
	{"pmul* pmadd* vpconflict* vpmadd52* vpdp* vp4dp* vpmacs* vpmadcs* phminposuw pcmpestr* pcmpistr* vpcmpestr* vpcmpistr*", CLASS_VECTOR_MULTIPLY, 0, 0},

	/* shuffles */
	{"movhps movhpd movlps movlpd movhlps movlhps shufp* unpck* punpck* pack* pshuf* palignr insertps pinsr* pslldq psrldq blend* pblend* pmovsx* pmovzx* pextr* extractps pswapd kunpck* kshift*", CLASS_VECTOR_SHUFFLE, 0, 0},
	{"vperm* vinsert* vextract* vshuf* valign* vpmov* vcompress* vexpand* vpcompress* vpexpand* vpperm vpslldq vpsrldq vpshufbitqmb vpshufb vpshufd vpshufhw vpshuflw extrq insertq", CLASS_VECTOR_SHUFFLE, 0, 0},
	{"vgather* vpgather*", CLASS_LOAD, 0, 0},
	{"vscatter* vpscatter*", CLASS_STORE, 0, 0},

	{"aes* pclmul* sha1* sha256* gf2p8*", CLASS_CRYPTO, 0, 0},

	/* x87: one register for the stack */
	{"fadd fiadd faddp fsub fisub fsubp fsubr fisubr fsubrp", CLASS_FLOAT_ADD, 0, USES_X87},
	{"fmul fimul fmulp", CLASS_FLOAT_MULTIPLY, 0, USES_X87},
	{"fdiv fidiv fdivp fdivr fidivr fdivrp fprem fprem1", CLASS_FLOAT_DIVIDE, 0, USES_X87},
	{"fsqrt f2xm1 fcos fpatan fptan fsin fsincos fyl2x fyl2xp1", CLASS_FLOAT_ROOT, 0, USES_X87},
	{"fcom fcomp fcompp ficom ficomp ftst fucom fucomp fucompp fxam fcomi fcomip fucomi fucomip", CLASS_FLOAT_COMPARE, 0, USES_X87},
	{"fcmov*", CLASS_SELECT, 0, USES_X87},
	{"fild fbld frndint fscale fxtract fist fistp fisttp fbstp", CLASS_FLOAT_CONVERT, 0, USES_X87},
	{"fld fld1 fldl2e fldl2t fldlg2 fldln2 fldpi fldz fst fstp fstpnce", CLASS_FLOAT_MOVE, 0, USES_X87 | IS_MOVE},
	{"fabs fchs fnstsw", CLASS_FLOAT_MOVE, 0, USES_X87},
	{"fxch ffree ffreep fdecstp fincstp fninit fnclex", CLASS_NOP, 0, USES_X87},
};
/* clang-format on */

/* An instruction as Zydis has it. */
struct zydis {
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const ZydisDecodedOperand *shown[ZYDIS_MAX_OPERAND_COUNT]; /* those that a listing shows, without the mask */
	size_t shown_count;
	char name[32]; /* Intel's, with the conditions of assemblers */
};

/* Zydis names some conditions unlike assemblers and objdump: "jnbe" becomes "ja", "setz" becomes "sete". */
static void
name_fill(struct zydis *zydis)
{
	static const struct {
		const char *from, *to;
	} conditions[] = {{"nb", "ae"}, {"nbe", "a"}, {"nl", "ge"}, {"nle", "g"}, {"nz", "ne"}, {"z", "e"}};
	static const char *const stems[] = {"j", "set", "cmov"};
	const char *from = ZydisMnemonicGetString(zydis->instruction.mnemonic);

	snprintf(zydis->name, sizeof(zydis->name), "%s", from ? from : "");
	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
		const size_t length = strlen(stems[i]);

		if (strncmp(zydis->name, stems[i], length) != 0)
			continue;
		for (size_t k = 0; k < sizeof(conditions) / sizeof(conditions[0]); k++)
			if (strcmp(zydis->name + length, conditions[k].from) == 0) {
				snprintf(zydis->name + length, sizeof(zydis->name) - length, "%s", conditions[k].to);
				return;
			}
	}
	if (zydis->instruction.mnemonic == ZYDIS_MNEMONIC_XLAT)
		snprintf(zydis->name, sizeof(zydis->name), "xlatb");
	if (zydis->instruction.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    (zydis->instruction.raw.imm[0].size == 64 || zydis->instruction.raw.disp.size == 64))
		snprintf(zydis->name, sizeof(zydis->name), "movabs");
	if (zydis->instruction.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		snprintf(zydis->name, sizeof(zydis->name), "%s",
		         zydis->instruction.mnemonic == ZYDIS_MNEMONIC_RET    ? "retf"
		         : zydis->instruction.mnemonic == ZYDIS_MNEMONIC_CALL ? "lcall"
		         : zydis->instruction.mnemonic == ZYDIS_MNEMONIC_JMP  ? "ljmp"
		                                                              : from);
}

static bool
is_string(const struct zydis *zydis)
{
	return zydis->instruction.meta.category == ZYDIS_CATEGORY_STRINGOP ||
	       zydis->instruction.meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

/* False when Zydis does not know it, or takes it for longer or shorter. */
static bool
zydis_decode(struct decoder *decoder, const uint8_t *bytes, size_t length, const struct x86_encoding *encoding,
             struct zydis *zydis)
{
	const ZydisDecodedInstruction *instruction = &zydis->instruction;
	bool is_swapped;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderDecodeFull(&decoder->zydis, bytes, length, &zydis->instruction, zydis->operands)) ||
	    instruction->length != encoding->size)
		return false;
	name_fill(zydis);
	memset(zydis->shown, 0, sizeof(zydis->shown));
	zydis->shown_count = 0;
	for (size_t i = 0; i < instruction->operand_count_visible; i++)
		if (zydis->operands[i].encoding != ZYDIS_OPERAND_ENCODING_MASK)
			zydis->shown[zydis->shown_count++] = &zydis->operands[i];
	/* xchg of the short form: the accumulator first */
	is_swapped = instruction->mnemonic == ZYDIS_MNEMONIC_XCHG && instruction->opcode >= 0x90 &&
	             instruction->opcode <= 0x97 && zydis->shown_count == 2 &&
	             zydis->shown[1]->visibility == ZYDIS_OPERAND_VISIBILITY_IMPLICIT;
	if (is_swapped) {
		zydis->shown[0] = &zydis->operands[1];
		zydis->shown[1] = &zydis->operands[0];
	}
	return true;
}

static uint8_t
register_number(ZydisRegister reg)
{
	const ZyanI8 id = ZydisRegisterGetId(reg);

	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8: /* spl, bpl, sil and dil are behind ah, ch, dh and bh */
		return (uint8_t)ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		return (uint8_t)id;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return (uint8_t)(REGISTER_VECTOR + id);
	case ZYDIS_REGCLASS_MASK:
		return (uint8_t)(REGISTER_MASK + id);
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		return REGISTER_X87;
	default:
		return REGISTER_NONE;
	}
}

/* Writing it keeps a part of the register, so that the instruction depends on it. */
static bool
register_merges(const struct form *form, const ZydisDecodedOperand *operand, uint8_t reg)
{
	if (operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	    (operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE || form->traits & KEEPS_FIRST))
		return true;
	if (reg < REGISTER_VECTOR)
		return operand->size < 32;
	if (reg == REGISTER_X87) /* one of MMX's eight */
		return true;
	return reg < REGISTER_FLAGS && operand->size < 128;
}

/* The size of an operand in bytes; 0 if that does not fit into a byte, as for the memory of xsave. */
static uint8_t
operand_bytes(const ZydisDecodedOperand *operand)
{
	return operand->size / 8 <= UINT8_MAX ? (uint8_t)(operand->size / 8) : 0;
}

static void
touch_memory(struct instruction *instruction, const struct form *form, const struct zydis *zydis,
             const ZydisDecodedOperand *operand)
{
	const uint8_t base = register_number(operand->mem.base), index = register_number(operand->mem.index);

	if (form->class == CLASS_NOP)
		return;
	if (form->class == CLASS_ADDRESS) {
		instruction_add_read(instruction, base);
		instruction_add_read(instruction, index);
		return;
	}
	if (!is_string(zydis)) {
		instruction_add_address(instruction, base);
		instruction_add_address(instruction, index);
	}
	if (form->access == ACCESS_NONE)
		return;
	instruction->loads |= (operand->actions & READS) != 0;
	instruction->stores |= (operand->actions & WRITES) != 0;
	instruction->is_scaled |= index != REGISTER_NONE && operand->mem.scale > 1;
	instruction->access_size = operand_bytes(operand);
}

static void
touch_register(struct instruction *instruction, const struct form *form, const ZydisDecodedOperand *operand,
               uint8_t reg)
{
	const bool writes = operand->actions & WRITES;

	if (operand->actions & READS || (writes && register_merges(form, operand, reg)))
		instruction_add_read(instruction, reg);
	if (writes)
		instruction_add_write(instruction, reg);
}

/*
 * Memory and general registers that are no operands of the listing, by number. The stack pointer is no data: it is the
 * base of the memory that push, call and their like access.
 */
static void
touch_hidden(struct instruction *instruction, const struct form *form, const struct zydis *zydis)
{
	uint32_t reads = form->reads, writes = form->writes;
	const bool is_replaced = reads | writes;

	for (size_t i = zydis->instruction.operand_count_visible; i < zydis->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &zydis->operands[i];
		const bool is_register = operand->type == ZYDIS_OPERAND_TYPE_REGISTER;
		const uint8_t reg = is_register ? register_number(operand->reg.value) : REGISTER_NONE;

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			touch_memory(instruction, form, zydis, operand);
			/* rsi and rdi move: Zydis 4.0 does not list that for all of them */
			if (is_string(zydis)) {
				reads |= 1u << register_number(operand->mem.base);
				writes |= 1u << register_number(operand->mem.base);
			}
		}
		if (reg >= REGISTER_VECTOR || is_replaced || (is_string(zydis) && reg == RCX))
			continue;
		if (reg != RSP && (operand->actions & READS || (operand->actions & WRITES && operand->size < 32)))
			reads |= 1u << reg;
		if (operand->actions & WRITES)
			writes |= 1u << reg;
	}
	instruction_add_implicit(instruction, reads, writes);
	if (is_string(zydis) && zydis->instruction.attributes & HAS_REPEAT) {
		instruction_add_read(instruction, RCX);
		instruction_add_write(instruction, RCX);
	}
}

/* Masks, the x87 stack, the flags, and xmm0 where it is no operand of the listing. */
static void
touch_rest(struct instruction *instruction, const struct form *form, const struct zydis *zydis)
{
	const ZydisAccessedFlags *flags = zydis->instruction.cpu_flags;

	for (size_t i = 0; i < zydis->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &zydis->operands[i];
		uint8_t reg;

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    (operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		     operand->encoding != ZYDIS_OPERAND_ENCODING_MASK))
			continue;
		reg = register_number(operand->reg.value);
		if (reg >= REGISTER_VECTOR && reg != REGISTER_X87 && reg != REGISTER_MASK)
			touch_register(instruction, form, operand, reg);
	}
	if (form->traits & USES_X87) {
		instruction_add_read(instruction, REGISTER_X87);
		instruction_add_write(instruction, REGISTER_X87);
	}
	if (!flags || form->reads | form->writes)
		return;
	if (flags->tested & ARITHMETIC_FLAGS && !is_string(zydis))
		instruction_add_read(instruction, REGISTER_FLAGS);
	if ((flags->modified | flags->set_0 | flags->set_1 | flags->undefined) & ARITHMETIC_FLAGS)
		instruction_add_write(instruction, REGISTER_FLAGS);
}

static enum instruction_class
class_of(const struct instruction *instruction, const struct form *form, const struct zydis *zydis)
{
	const ZydisDecodedOperand *to = zydis->shown[0], *from = zydis->shown[1];
	const bool is_exchange = zydis->instruction.mnemonic == ZYDIS_MNEMONIC_XCHG;

	if (instruction->stores && (zydis->instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK || is_exchange))
		return CLASS_ATOMIC;
	if (form->traits & IS_MOVE && instruction->stores)
		return CLASS_STORE;
	if (form->traits & IS_MOVE && instruction->loads)
		return CLASS_LOAD;
	/* Only moves of whole registers can be renamed away. */
	if (form->class == CLASS_MOVE && (from->type != ZYDIS_OPERAND_TYPE_REGISTER || to->size < 32))
		return CLASS_INTEGER;
	return form->class;
}

static bool
is_indirect(const struct zydis *zydis)
{
	return (zydis->instruction.mnemonic == ZYDIS_MNEMONIC_JMP ||
	        zydis->instruction.mnemonic == ZYDIS_MNEMONIC_CALL) &&
	       zydis->shown[0]->type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static uint8_t
flow_of(const struct form *form, const struct zydis *zydis)
{
	if (form->flow == FLOW_JUMP && is_indirect(zydis))
		return FLOW_JUMP_INDIRECT;
	if (form->flow == FLOW_CALL && is_indirect(zydis))
		return FLOW_CALL_INDIRECT;
	return form->flow;
}

/* xor %eax,%eax and its like; a mask, or a part of a register, would keep something. */
static bool
is_zeroing(const struct form *form, const struct zydis *zydis)
{
	const ZydisDecodedOperand *last, *other;

	if (!(form->traits & IS_ZEROING) || zydis->shown_count < 2 ||
	    zydis->instruction.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED)
		return false;
	last = zydis->shown[zydis->shown_count - 1];
	other = zydis->shown[zydis->shown_count - 2];
	return last->type == ZYDIS_OPERAND_TYPE_REGISTER && other->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       last->reg.value == other->reg.value && register_number(last->reg.value) < REGISTER_FLAGS &&
	       last->size >= 32;
}

static bool
is_wide(const struct form *form, const struct zydis *zydis)
{
	if (form->class == CLASS_ADDRESS) {
		const ZydisDecodedOperandMem *memory = &zydis->operands[1].mem;

		return register_number(memory->base) != REGISTER_NONE &&
		       register_number(memory->index) != REGISTER_NONE && zydis->instruction.raw.disp.size;
	}
	if (form->class == CLASS_DIVIDE)
		return zydis->instruction.operand_width == 64;
	for (size_t i = 0; i < zydis->shown_count; i++) {
		const ZydisDecodedOperand *operand = zydis->shown[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_YMM ||
		     ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_ZMM))
			return true;
	}
	return false;
}

/* What it reads, writes and is, but for its place: address, size and target. */
static void
effects_fill(struct instruction *instruction, struct decoder *decoder, const struct zydis *zydis)
{
	static const struct form string = {"", CLASS_STRING, 0, 0}, port = {"", CLASS_SYSTEM, 0, 0};
	const struct form *form = zydis->instruction.meta.category == ZYDIS_CATEGORY_IOSTRINGOP ? &port
	                          : is_string(zydis)                                            ? &string
	                                             : decoder_form(decoder, zydis->name);

	instruction->class = form->class;
	instruction->flow = flow_of(form, zydis);
	for (size_t i = 0; i < zydis->shown_count; i++) {
		const ZydisDecodedOperand *operand = zydis->shown[i];
		uint8_t reg;

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			touch_memory(instruction, form, zydis, operand);
		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || form->access == ACCESS_NONE)
			continue;
		reg = register_number(operand->reg.value);
		if (reg != REGISTER_NONE && form->class != CLASS_NOP)
			touch_register(instruction, form, operand, reg);
	}
	touch_hidden(instruction, form, zydis);
	touch_rest(instruction, form, zydis);
	instruction->class = class_of(instruction, form, zydis);
	instruction->is_landing_pad = strncmp(zydis->name, "endbr", 5) == 0;
	instruction->extends_sign = instruction->loads && strncmp(zydis->name, "movsx", 5) == 0;
	instruction->is_wide = is_wide(form, zydis);
	instruction->clears = is_zeroing(form, zydis);
	if (!instruction->loads && !instruction->stores)
		instruction->access_size = 0;
}

/* An instruction that is newer than Zydis: VEX and EVEX say which registers it has, and most write the first. */
static bool
newer_fill(struct instruction *instruction, const struct x86_encoding *encoding)
{
	const uint8_t first = REGISTER_VECTOR + encoding->reg % 32, second = REGISTER_VECTOR + encoding->other % 32;

	if (encoding->kind == ENCODING_LEGACY || encoding->kind == ENCODING_XOP || !encoding->has_modrm)
		return false;
	instruction->class = CLASS_UNKNOWN;
	instruction_add_read(instruction, first);
	instruction_add_read(instruction, second);
	instruction_add_write(instruction, first);
	instruction->is_wide = encoding->length > 0;
	if (!encoding->has_memory) {
		instruction_add_read(instruction, REGISTER_VECTOR + encoding->rm % 32);
	} else {
		instruction_add_address(instruction, encoding->base == 0xff ? REGISTER_NONE : encoding->base);
		instruction_add_address(instruction, encoding->index == 0xff ? REGISTER_NONE : encoding->index);
		instruction->loads = true;
		instruction->is_scaled = encoding->index != 0xff && encoding->scale > 1;
		instruction->access_size = (uint8_t)(16u << (encoding->length & 3));
	}
	if (encoding->kind == ENCODING_EVEX && encoding->mask)
		instruction_add_read(instruction, REGISTER_MASK + encoding->mask);
	return true;
}

/* The first `size` bytes, 1 to 15, of `bytes` as two numbers, with zeros behind them. */
static void
take_bytes(const uint8_t *bytes, size_t size, uint64_t words[2])
{
	uint32_t four, last_four;

	words[0] = words[1] = 0;
	if (size >= 8) {
		memcpy(&words[0], bytes, 8);
		if (size > 8) {
			memcpy(&words[1], bytes + size - 8, 8);
			words[1] >>= 8 * (16 - size);
		}
	} else if (size >= 4) {
		memcpy(&four, bytes, 4);
		memcpy(&last_four, bytes + size - 4, 4);
		words[0] = four | (uint64_t)last_four << 8 * (size - 4);
	} else {
		words[0] = bytes[0] | (uint64_t)bytes[size / 2] << 8 * (size / 2) |
		           (uint64_t)bytes[size - 1] << 8 * (size - 1);
	}
}

/*
 * The bytes without those that make no difference to what the instruction does: displacements, longer immediates, and
 * those of the first map, which choose no operation. They are behind all others; its size tells where they were.
 */
static void
memo_key(const uint8_t *bytes, const struct x86_encoding *encoding, uint64_t key[2])
{
	const bool is_first_map = encoding->map == MAP_ONE_BYTE && encoding->kind == ENCODING_LEGACY;

	take_bytes(bytes, encoding->displacement_size ? encoding->displacement_at : encoding->immediate_at, key);
	if (encoding->immediate_size == 1 && !is_first_map)
		key[1] |= (uint64_t)(uint8_t)encoding->immediate << 48;
	key[1] |= (uint64_t)encoding->size << 56;
}

static size_t
measure(struct encoded_instruction *encoded)
{
	if (x86_encoding_parse(encoded->bytes, encoded->length, &encoded->x86) != 0)
		return 0;
	memo_key(encoded->bytes, &encoded->x86, encoded->key);
	return encoded->x86.size;
}

static bool
fill(struct decoder *decoder, const struct encoded_instruction *encoded, struct instruction *instruction)
{
	struct zydis zydis;

	if (!zydis_decode(decoder, encoded->bytes, encoded->length, &encoded->x86, &zydis))
		return newer_fill(instruction, &encoded->x86);
	effects_fill(instruction, decoder, &zydis);
	return true;
}

static int64_t
distance(const struct encoded_instruction *encoded, const struct instruction *instruction)
{
	return instruction->size + encoded->x86.immediate;
}

/*
 * An immediate as wide as the operation. *is_negative: it is negative, of 64 bits, because the encoding has fewer bits
 * than the operation, and that is arithmetic; bit patterns (and, or, xor, mov) are unsigned.
 */
static uint64_t
immediate_value(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperandImm *immediate, bool *is_negative)
{
	const unsigned int width = instruction->operand_width;
	const ZydisMnemonic mnemonic = instruction->mnemonic;

	*is_negative = false;
	if (!immediate->is_signed || immediate->value.s >= 0)
		return immediate->value.u;
	*is_negative = instruction->raw.imm[0].size < width && mnemonic != ZYDIS_MNEMONIC_AND &&
	               mnemonic != ZYDIS_MNEMONIC_OR && mnemonic != ZYDIS_MNEMONIC_XOR &&
	               mnemonic != ZYDIS_MNEMONIC_MOV;
	if (*is_negative || width >= 64)
		return immediate->value.u;
	return immediate->value.u & ((UINT64_C(1) << width) - 1);
}

static void
operand_fill(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *from, uint64_t next,
             struct instruction_operand *operand)
{
	bool is_negative;

	*operand = (struct instruction_operand){.kind = OPERAND_OTHER, .size = operand_bytes(from)};
	operand->reg = operand->base = operand->index = REGISTER_NONE;
	switch (from->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		operand->kind = OPERAND_REGISTER;
		operand->reg = register_number(from->reg.value);
		break;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		operand->kind = OPERAND_IMMEDIATE;
		operand->value = from->imm.is_relative
		                         ? from->imm.value.s + (int64_t)next
		                         : (int64_t)immediate_value(instruction, &from->imm, &is_negative);
		break;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		operand->kind = OPERAND_MEMORY;
		operand->base = register_number(from->mem.base);
		operand->index = register_number(from->mem.index);
		operand->scale = from->mem.scale;
		operand->is_pc = ZydisRegisterGetClass(from->mem.base) == ZYDIS_REGCLASS_IP;
		operand->value = from->mem.disp.value + (operand->is_pc ? (int64_t)next : 0);
		break;
	default:
		break;
	}
}

static bool
fill_detail(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address,
            struct instruction_detail *detail)
{
	struct x86_encoding encoding;
	struct zydis zydis;

	if (x86_encoding_parse(bytes, length, &encoding) != 0 ||
	    !zydis_decode(decoder, bytes, length, &encoding, &zydis))
		return false;
	snprintf(detail->mnemonic, sizeof(detail->mnemonic), "%s", zydis.name);
	for (size_t i = 0; i < zydis.shown_count && i < INSTRUCTION_OPERANDS_MAX; i++)
		operand_fill(&zydis.instruction, zydis.shown[i], address + encoding.size,
		             &detail->operands[detail->operand_count++]);
	return true;
}

/* Printed in place of the mnemonic: put_text() splits prefixes from operands there and writes its own name. */
#define NAME_MARK "\n"

static ZyanStatus
print_mark(const ZydisFormatter *formatter, ZydisFormatterBuffer *buffer, ZydisFormatterContext *context)
{
	ZyanString *string;

	(void)formatter;
	(void)context;
	ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &string));
	return ZyanStringAppendFormat(string, NAME_MARK);
}

static ZyanStatus
print_immediate(const ZydisFormatter *formatter, ZydisFormatterBuffer *buffer, ZydisFormatterContext *context)
{
	const char *mark = formatter->style == ZYDIS_FORMATTER_STYLE_ATT ? "$" : "";
	bool is_negative;
	const uint64_t value = immediate_value(context->instruction, &context->operand->imm, &is_negative);
	ZyanString *string;

	ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &string));
	return ZyanStringAppendFormat(string, is_negative ? "%s-0x%" PRIx64 : "%s0x%" PRIx64, mark,
	                              is_negative ? -value : value);
}

static int
open_zydis(struct decoder *decoder)
{
	static const ZydisFormatterStyle styles[2] = {
		[LISTING_ATT] = ZYDIS_FORMATTER_STYLE_ATT,
		[LISTING_INTEL] = ZYDIS_FORMATTER_STYLE_INTEL,
	};
	static const struct {
		ZydisFormatterProperty property;
		ZyanUPointer value;
	} properties[] = {
		{ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE},
		{ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE},
		{ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE},
	};

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder->zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderEnableMode(&decoder->zydis, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_TRUE)) ||
	    !ZYAN_SUCCESS(ZydisDecoderEnableMode(&decoder->zydis, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE)))
		return -ENOTSUP;
	for (size_t i = 0; i < 2; i++) {
		ZydisFormatter *formatter = &decoder->formatter[i];
		const void *mark = (const void *)print_mark, *immediate = (const void *)print_immediate;

		if (!ZYAN_SUCCESS(ZydisFormatterInit(formatter, styles[i])))
			return -ENOTSUP;
		for (size_t k = 0; k < sizeof(properties) / sizeof(properties[0]); k++)
			ZydisFormatterSetProperty(formatter, properties[k].property, properties[k].value);
		ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_FORCE_SCALE_ONE, i == LISTING_ATT);
		ZydisFormatterSetHook(formatter, ZYDIS_FORMATTER_FUNC_PRINT_MNEMONIC, &mark);
		ZydisFormatterSetHook(formatter, ZYDIS_FORMATTER_FUNC_PRINT_IMM, &immediate);
	}
	return 0;
}

/* AT&T's letter for a size; "": none. */
static const char *
size_suffix(unsigned int bits)
{
	switch (bits) {
	case 8:
		return "b";
	case 16:
		return "w";
	case 32:
		return "l";
	case 64:
		return "q";
	default:
		return "";
	}
}

/*
 * Of an x87 instruction the suffix says the size of its number in memory, 16, 32, 64 or 80 bits, and whether it is an
 * integer. AT&T's syntax has "fsub" for "fsubr" and the reverse where the result is not in st(0); fdiv, too.
 */
static void
put_x87_name(struct text *text, const struct zydis *zydis, unsigned int memory_size)
{
	static const char *const floats[] = {"fld",  "fst",  "fstp",  "fadd", "fsub", "fsubr",
	                                     "fmul", "fdiv", "fdivr", "fcom", "fcomp"};
	const char *name = zydis->name, *suffix = "";
	const bool is_reversed =
		!memory_size && (zydis->instruction.opcode == 0xdc || zydis->instruction.opcode == 0xde);

	if (is_reversed && (strncmp(name, "fsub", 4) == 0 || strncmp(name, "fdiv", 4) == 0)) {
		text_put(text, "%.4s%s%s", name, name[4] == 'r' ? "" : "r", strchr(name, 'p') ? "p" : "");
		return;
	}
	if (name[1] == 'i') /* fild, fistp, fiadd ... */
		suffix = memory_size == 16 ? "s" : memory_size == 32 ? "l" : memory_size == 64 ? "ll" : "";
	for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
		if (strcmp(name, floats[i]) == 0)
			suffix = memory_size == 32 ? "s" : memory_size == 64 ? "l" : memory_size == 80 ? "t" : "";
	text_put(text, "%s%s", name, suffix);
}

/* The name of AT&T's syntax, where it does not depend on operands. */
static const char *
att_name(const struct zydis *zydis)
{
	static const char *const others[][2] = {
		{"cbw", "cbtw"},
		{"cwde", "cwtl"},
		{"cdqe", "cltq"},
		{"cwd", "cwtd"},
		{"cdq", "cltd"},
		{"cqo", "cqto"},
		{"stosd", "stosl"},
		{"lodsd", "lodsl"},
		{"scasd", "scasl"},
		{"insd", "insl"},
		{"outsd", "outsl"},
		{"iretd", "iretl"},
		{"pushf", "pushfw"},
		{"popf", "popfw"},
		/* of strings only: movsd and cmpsd of SSE keep their names */
		{"movsd", "movsl"},
		{"cmpsd", "cmpsl"},
	};
	const size_t count = sizeof(others) / sizeof(others[0]) - (is_string(zydis) ? 0 : 2);

	for (size_t i = 0; i < count; i++)
		if (strcmp(others[i][0], zydis->name) == 0)
			return others[i][1];
	return zydis->name;
}

/* Does AT&T's syntax add a letter for the size of memory, unless a register of that size is an operand, too? */
static bool
takes_suffix(const struct zydis *zydis)
{
	switch (zydis->instruction.meta.category) {
	case ZYDIS_CATEGORY_BINARY:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_ROTATE:
	case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		return true;
	case ZYDIS_CATEGORY_DATAXFER:
		return zydis->instruction.mnemonic == ZYDIS_MNEMONIC_MOV;
	default:
		return false;
	}
}

/* `shown`: the operands of the listing */
static void
put_att_name(struct text *text, const struct zydis *zydis, const ZydisDecodedOperand *shown, size_t count)
{
	const ZydisInstructionCategory category = zydis->instruction.meta.category;
	const char *name = zydis->name;
	unsigned int memory_size = 0;
	bool says_size = false, is_general = true;

	for (size_t i = 0; i < count; i++)
		if (shown[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			memory_size = shown[i].size;
	for (size_t i = 0; i < count; i++) {
		if (shown[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		is_general &= register_number(shown[i].reg.value) < REGISTER_VECTOR;
		says_size |= shown[i].size == memory_size;
	}
	if (category == ZYDIS_CATEGORY_X87_ALU)
		put_x87_name(text, zydis, memory_size);
	else if (strcmp(name, "movsx") == 0 || strcmp(name, "movzx") == 0 ||
	         (strcmp(name, "movsxd") == 0 && shown[0].size == 64))
		text_put(text, "mov%c%s%s", name[3], size_suffix(shown[1].size), size_suffix(shown[0].size));
	else if (strcmp(name, "crc32") == 0)
		text_put(text, "crc32%s", size_suffix(shown[1].size));
	else if (strcmp(name, "retf") == 0)
		text_put(text, "lret%s", size_suffix(zydis->instruction.operand_width));
	else if ((takes_suffix(zydis) && is_general && !says_size) || (strstr(name, "si2s") && memory_size))
		text_put(text, "%s%s", name, size_suffix(memory_size));
	else if ((category == ZYDIS_CATEGORY_PUSH || category == ZYDIS_CATEGORY_POP) && memory_size == 16)
		text_put(text, "%sw", name);
	else
		text_put(text, "%s", att_name(zydis));
}

/* Comparisons have names of their own for conditions: "cmpltpd" is "cmppd $1". */
static bool
name_comparison(struct zydis *zydis)
{
	static const char *const floats[32] = {"eq",     "lt",     "le",    "unord",  "neq",    "nlt",     "nle",
	                                       "ord",    "eq_uq",  "nge",   "ngt",    "false",  "neq_oq",  "ge",
	                                       "gt",     "true",   "eq_os", "lt_oq",  "le_oq",  "unord_s", "neq_us",
	                                       "nlt_uq", "nle_uq", "ord_s", "eq_us",  "nge_uq", "ngt_uq",  "false_os",
	                                       "neq_os", "ge_oq",  "gt_oq", "true_us"};
	static const char *const integers[8] = {"eq", "lt", "le", NULL, "neq", "nlt", "nle", NULL};
	const bool is_vector = strncmp(zydis->name, "vpcmp", 5) == 0, is_legacy = strncmp(zydis->name, "cmp", 3) == 0;
	const size_t stem = is_vector ? 5 : is_legacy ? 3 : 4;
	const ZydisDecodedOperand *last;
	const char *condition;
	char part[16];

	if (zydis->shown_count < 3 || (!is_vector && !is_legacy && strncmp(zydis->name, "vcmp", 4) != 0))
		return false;
	last = zydis->shown[zydis->shown_count - 1];
	if (last->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || last->imm.value.u >= (is_vector || is_legacy ? 8 : 32) ||
	    strstr(zydis->name, "str"))
		return false;
	condition = is_vector ? integers[last->imm.value.u] : floats[last->imm.value.u];
	if (!condition)
		return false;
	snprintf(part, sizeof(part), "%s", zydis->name + stem);
	snprintf(zydis->name + stem, sizeof(zydis->name) - stem, "%s%s", condition, part);
	return true;
}

/* Prefixes of segments that 64-bit mode ignores are shown: compilers fill with "nopw %cs:(%rax,%rax,1)". */
static void
segment_keep(ZydisDecodedInstruction *instruction, ZydisDecodedOperand *operand)
{
	static const struct {
		uint8_t prefix;
		ZydisRegister segment;
		ZydisInstructionAttributes attribute;
	} segments[] = {
		{0x26, ZYDIS_REGISTER_ES, ZYDIS_ATTRIB_HAS_SEGMENT_ES},
		{0x2e, ZYDIS_REGISTER_CS, ZYDIS_ATTRIB_HAS_SEGMENT_CS},
		{0x36, ZYDIS_REGISTER_SS, ZYDIS_ATTRIB_HAS_SEGMENT_SS},
		{0x3e, ZYDIS_REGISTER_DS, ZYDIS_ATTRIB_HAS_SEGMENT_DS},
	};

	if (operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS ||
	    instruction->attributes & ZYDIS_ATTRIB_HAS_NOTRACK)
		return;
	for (size_t i = 0; i < instruction->raw.prefix_count; i++)
		for (size_t k = 0; k < sizeof(segments) / sizeof(segments[0]); k++)
			if (instruction->raw.prefixes[i].value == segments[k].prefix) {
				operand->mem.segment = segments[k].segment;
				instruction->attributes |= segments[k].attribute;
			}
}

static bool
is_operand_shown(const struct zydis *zydis, const ZydisDecodedOperand *operand, enum listing_syntax syntax)
{
	const ZydisInstructionCategory category = zydis->instruction.meta.category;
	const bool is_register = operand->type == ZYDIS_OPERAND_TYPE_REGISTER;
	const uint8_t reg = is_register ? register_number(operand->reg.value) : REGISTER_NONE;

	switch (operand->visibility) {
	case ZYDIS_OPERAND_VISIBILITY_HIDDEN:
		/* memory and data (rax, rdx) of strings; xmm0 as the third source of blendvpd and others */
		if (is_string(zydis))
			return !is_register || reg == 0 || reg == 2;
		return reg == REGISTER_VECTOR && !(operand->actions & WRITES);
	case ZYDIS_OPERAND_VISIBILITY_IMPLICIT:
		/* the 1 of a shift by one; st(0), but where it is the source of another register */
		if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return syntax == LISTING_INTEL;
		return operand->reg.value != ZYDIS_REGISTER_ST0 || category == ZYDIS_CATEGORY_FCMOV ||
		       (zydis->instruction.opcode == 0xdc && operand->id == 1);
	default:
		/* a long nop has a register that no assembler writes */
		return category != ZYDIS_CATEGORY_WIDENOP || operand->id == 0;
	}
}

/* The operands of a listing, a bit different from those that Zydis would show, into `shown`; returns their number. */
static uint8_t
operands_choose(struct zydis *zydis, enum listing_syntax syntax, ZydisDecodedOperand *shown)
{
	const ZydisDecodedOperand *condition = name_comparison(zydis) ? zydis->shown[zydis->shown_count - 1] : NULL;
	uint8_t count = 0;

	for (size_t i = 0; i < zydis->instruction.operand_count; i++) {
		const ZydisDecodedOperand *from = &zydis->operands[i];
		ZydisDecodedOperand *operand = &shown[count];
		const bool is_hidden = from->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;

		if (from == condition || !is_operand_shown(zydis, from, syntax))
			continue;
		count++;
		*operand = *from;
		if (is_hidden)
			operand->visibility = ZYDIS_OPERAND_VISIBILITY_IMPLICIT;
		if (from->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (from->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			operand->size = 0;
		if (!is_hidden)
			segment_keep(&zydis->instruction, operand);
		else if (from->mem.segment == ZYDIS_REGISTER_ES)
			operand->mem.segment = ZYDIS_REGISTER_DS;
	}
	/* AT&T's syntax does not reverse these. */
	if (zydis->instruction.mnemonic == ZYDIS_MNEMONIC_ENTER && syntax == LISTING_ATT) {
		const ZydisDecodedOperand first = shown[0];

		shown[0] = shown[1];
		shown[1] = first;
	}
	return count;
}

/* Without blanks, and "%st(1)" for "%st1", as objdump has them. */
static void
put_operands_att(struct text *text, const char *operands)
{
	for (const char *c = operands; *c; c++) {
		if (c[0] == '%' && c[1] == 's' && c[2] == 't' && isdigit((unsigned char)c[3])) {
			text_put(text, "%%st(%c)", c[3]);
			c += 3;
		} else if (*c != ' ') {
			text_put(text, "%c", *c);
		}
	}
}

/* Blanks around the signs of an address, none before "{k1}", numbers below ten without 0x, "st(1)" for "st1". */
static void
put_operands_intel(struct text *text, const char *operands)
{
	bool is_address = false;

	for (const char *c = operands; *c; c++) {
		is_address = *c == '[' || (is_address && *c != ']');
		if (is_address && (*c == '+' || *c == '-') && c[-1] != '[')
			text_put(text, " %c ", *c);
		else if (c[0] == ' ' && c[1] == '{')
			continue;
		else if (c[0] == '0' && c[1] == 'x' && isdigit((unsigned char)c[2]) && !isxdigit((unsigned char)c[3]))
			c++;
		else if (c[0] == 's' && c[1] == 't' && isdigit((unsigned char)c[2])) {
			text_put(text, "st(%c)", c[2]);
			c += 2;
		} else
			text_put(text, "%c", *c);
	}
}

static void
put_text(struct decoder *decoder, const uint8_t *bytes, size_t length, uint64_t address, enum listing_syntax syntax,
         struct text *text)
{
	ZydisDecodedOperand shown[ZYDIS_MAX_OPERAND_COUNT];
	char formatted[INSTRUCTION_TEXT_SIZE], *mark;
	struct x86_encoding encoding;
	struct zydis zydis;
	const size_t start = text->at;
	uint8_t count;

	if (x86_encoding_parse(bytes, length, &encoding) != 0) {
		text_put(text, "(bad)");
		return;
	}
	if (!zydis_decode(decoder, bytes, length, &encoding, &zydis)) {
		if (!newer_fill(&(struct instruction){0}, &encoding)) {
			text_put(text, "(bad)");
			return;
		}
		text_put(text, ".byte  ");
		for (size_t i = 0; i < encoding.size; i++)
			text_put(text, "%s0x%02x", i ? "," : "", bytes[i]);
		return;
	}
	count = operands_choose(&zydis, syntax, shown);
	zydis.instruction.operand_count_visible = count;
	if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&decoder->formatter[syntax], &zydis.instruction, shown, count,
	                                                  formatted, sizeof(formatted), address, NULL)))
		formatted[0] = '\0';
	mark = strstr(formatted, NAME_MARK);
	if (!mark) {
		text_put(text, "(bad)");
		return;
	}
	*mark++ = '\0';
	if (zydis.instruction.meta.category == ZYDIS_CATEGORY_RET && encoding.has_rep)
		text_put(text, "repz ");
	if (zydis.instruction.attributes & ZYDIS_ATTRIB_ACCEPTS_BND && encoding.has_repne)
		text_put(text, "bnd ");
	text_put(text, "%s", formatted);
	if (syntax == LISTING_ATT)
		put_att_name(text, &zydis, shown, count);
	else
		text_put(text, "%s", zydis.name);
	while (*mark == ' ')
		mark++;
	if (!*mark)
		return;
	text_put(text, "%*s ", text->at - start < 6 ? (int)(6 - (text->at - start)) : 0, "");
	if (syntax == LISTING_ATT && is_indirect(&zydis))
		text_put(text, "*");
	if (syntax == LISTING_ATT)
		put_operands_att(text, mark);
	else
		put_operands_intel(text, mark);
}

const struct decoder_architecture x86_64_architecture = {
	.forms = forms,
	.form_count = ARRAY_COUNT(forms),
	.open = open_zydis,
	.measure = measure,
	.fill = fill,
	.distance = distance,
	.detail = fill_detail,
	.text = put_text,
};
