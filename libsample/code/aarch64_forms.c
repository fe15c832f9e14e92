/*
 * What aarch64's instructions do, by the name that capstone gives them (aliases are names of their own).
 * Source: Arm Architecture Reference Manual, DDI 0487, part C.
 */
#include "code/forms.h"
#include "code/instruction.h"

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

	/* floating point; names that vectors of integers share are told apart by their operands */
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

const struct form *
aarch64_form(const char *name)
{
	return form_find(forms, sizeof(forms) / sizeof(forms[0]), name);
}
