/*
 * What x86-64's instructions do, by name. Where a name begins with v and has no row, its row is that of the name
 * without it: of "vaddps", with three operands, the first is then written only. Sources: Intel SDM volume 2, AMD APM
 * volumes 3 to 5.
 */
#include "code/forms.h"
#include "code/instruction.h"

#define RAX   (1u << 0)
#define RCX   (1u << 1)
#define RDX   (1u << 2)
#define RBX   (1u << 3)
#define RSP   (1u << 4)
#define RBP   (1u << 5)
#define RSI   (1u << 6)
#define RDI   (1u << 7)
#define R8    (1u << 8)
#define R10   (1u << 10)
#define R11   (1u << 11)
#define FLAGS (FLAGS_READ | FLAGS_WRITE)

/* clang-format off */
static const struct form forms[] = {
	/* general registers */
	{"nop endbr64 endbr32 fnop data16 wait fwait cldemote fdisi8087_nop feni8087_nop vzeroupper vzeroall", CLASS_NOP, ACCESS_NONE, 0},
	{"mov movabs movbe movnti movdiri", CLASS_MOVE, ACCESS_WRITE, IS_MOVE},
	{"movsx movsxd movzx", CLASS_INTEGER, ACCESS_WRITE, IS_MOVE},
	{"lea", CLASS_ADDRESS, ACCESS_LEA, 0},
	{"add or and", CLASS_INTEGER, ACCESS_UPDATE, FLAGS_WRITE},
	{"sub xor", CLASS_INTEGER, ACCESS_UPDATE, FLAGS_WRITE | IS_ZEROING},
	{"adc sbb adcx adox", CLASS_INTEGER, ACCESS_UPDATE, FLAGS},
	{"inc dec neg", CLASS_INTEGER, ACCESS_UPDATE, FLAGS_WRITE},
	{"not bswap", CLASS_INTEGER, ACCESS_UPDATE, 0},
	{"cmp test", CLASS_INTEGER, ACCESS_READ, FLAGS_WRITE},
	{"andn", CLASS_INTEGER, ACCESS_WRITE, FLAGS_WRITE},
	{"xadd", CLASS_INTEGER, ACCESS_SWAP, FLAGS_WRITE},
	{"xchg", CLASS_INTEGER, ACCESS_SWAP, 0},
	{"cmpxchg", CLASS_INTEGER, ACCESS_UPDATE, FLAGS_WRITE, .reads = RAX, .writes = RAX},
	{"cmpxchg8b cmpxchg16b", CLASS_INTEGER, ACCESS_UPDATE, FLAGS_WRITE, .reads = RAX | RDX | RCX | RBX, .writes = RAX | RDX},
	{"cbw cwde cdqe", CLASS_INTEGER, ACCESS_READ, 0, .reads = RAX, .writes = RAX},
	{"cdq cqo", CLASS_INTEGER, ACCESS_READ, 0, .reads = RAX, .writes = RDX},
	{"cwd", CLASS_INTEGER, ACCESS_READ, 0, .reads = RAX | RDX, .writes = RDX},
	{"lahf", CLASS_INTEGER, ACCESS_READ, FLAGS_READ, .reads = RAX, .writes = RAX},
	{"sahf", CLASS_INTEGER, ACCESS_READ, FLAGS, .reads = RAX},
	{"clc stc", CLASS_INTEGER, ACCESS_READ, FLAGS_WRITE},
	{"cmc", CLASS_INTEGER, ACCESS_READ, FLAGS},
	{"shl sal shr sar rol ror shld shrd", CLASS_SHIFT, ACCESS_UPDATE, FLAGS_WRITE},
	{"rcl rcr", CLASS_SHIFT, ACCESS_UPDATE, FLAGS},
	{"rorx sarx shlx shrx", CLASS_SHIFT, ACCESS_WRITE, 0},
	{"mul", CLASS_MULTIPLY, ACCESS_READ, FLAGS_WRITE, .reads = RAX, .writes = RAX | RDX},
	{"imul", CLASS_MULTIPLY, ACCESS_UPDATE, FLAGS_WRITE},
	{"imul-three", CLASS_MULTIPLY, ACCESS_WRITE, FLAGS_WRITE},
	{"mul-byte", CLASS_MULTIPLY, ACCESS_READ, FLAGS_WRITE, .reads = RAX, .writes = RAX},
	{"div-byte", CLASS_DIVIDE, ACCESS_READ, FLAGS_WRITE, .reads = RAX, .writes = RAX},
	{"mulx", CLASS_MULTIPLY, ACCESS_PAIR, 0, .reads = RDX},
	{"div idiv", CLASS_DIVIDE, ACCESS_READ, FLAGS_WRITE, .reads = RAX | RDX, .writes = RAX | RDX},
	{"popcnt lzcnt tzcnt bextr bzhi blsi blsr blsmsk blcfill blci blcic blcmsk blcs blsfill blsic t1mskc tzmsk", CLASS_BIT, ACCESS_WRITE, FLAGS_WRITE},
	{"pdep pext", CLASS_BIT, ACCESS_WRITE, 0},
	{"bsf bsr", CLASS_BIT, ACCESS_UPDATE, FLAGS_WRITE},
	{"bt", CLASS_BIT, ACCESS_READ, FLAGS_WRITE},
	{"bts btr btc", CLASS_BIT, ACCESS_UPDATE, FLAGS_WRITE},
	{"set*", CLASS_SELECT, ACCESS_WRITE, FLAGS_READ},
	{"cmov*", CLASS_SELECT, ACCESS_UPDATE, FLAGS_READ},
	{"crc32", CLASS_MULTIPLY, ACCESS_UPDATE, 0},

	/* the stack, and what ends a block */
	{"push pushq", CLASS_STORE, ACCESS_READ, USES_STACK | IS_STORE},
	{"pushf pushfd pushfq", CLASS_STORE, ACCESS_READ, USES_STACK | IS_STORE | FLAGS_READ},
	{"pop", CLASS_LOAD, ACCESS_WRITE, USES_STACK | IS_LOAD},
	{"popf popfd popfq", CLASS_LOAD, ACCESS_READ, USES_STACK | IS_LOAD | FLAGS_WRITE},
	{"leave", CLASS_LOAD, ACCESS_READ, IS_LOAD, .reads = RBP, .writes = RSP | RBP},
	{"enter", CLASS_STORE, ACCESS_READ, USES_STACK | IS_STORE, .reads = RBP, .writes = RBP},
	{"call lcall", CLASS_CALL, ACCESS_READ, USES_STACK | IS_STORE, FLOW_CALL},
	{"ret retf retfq", CLASS_RETURN, ACCESS_READ, USES_STACK | IS_LOAD, FLOW_RETURN},
	{"jmp ljmp", CLASS_JUMP, ACCESS_READ, 0, FLOW_JUMP},
	{"j*", CLASS_BRANCH, ACCESS_READ, FLAGS_READ, FLOW_BRANCH},
	{"jrcxz jecxz", CLASS_BRANCH, ACCESS_READ, 0, FLOW_BRANCH, .reads = RCX},
	{"loop", CLASS_BRANCH, ACCESS_READ, 0, FLOW_BRANCH, .reads = RCX, .writes = RCX},
	{"loope loopne", CLASS_BRANCH, ACCESS_READ, FLAGS_READ, FLOW_BRANCH, .reads = RCX, .writes = RCX},
	{"xbegin", CLASS_SYSTEM, ACCESS_READ, 0, FLOW_BRANCH, .writes = RAX},
	{"ud0 ud1 ud2 ud2b hlt int3 int1", CLASS_SYSTEM, ACCESS_NONE, 0, FLOW_STOP},
	{"iret iretd iretq sysexit sysret", CLASS_SYSTEM, ACCESS_READ, USES_STACK | FLAGS_WRITE, FLOW_RETURN},

	/* the system */
	{"syscall", CLASS_SYSTEM, ACCESS_READ, 0, .reads = RAX | RDI | RSI | RDX | R10 | R8, .writes = RAX | RCX | R11},
	{"cpuid", CLASS_SYSTEM, ACCESS_READ, 0, .reads = RAX | RCX, .writes = RAX | RBX | RCX | RDX},
	{"rdtsc", CLASS_SYSTEM, ACCESS_READ, 0, .writes = RAX | RDX},
	{"rdtscp", CLASS_SYSTEM, ACCESS_READ, 0, .writes = RAX | RCX | RDX},
	{"rdpmc rdmsr xgetbv rdpkru", CLASS_SYSTEM, ACCESS_READ, 0, .reads = RCX, .writes = RAX | RDX},
	{"wrmsr xsetbv wrpkru monitor monitorx", CLASS_SYSTEM, ACCESS_READ, 0, .reads = RAX | RCX | RDX},
	{"mwait mwaitx", CLASS_SYSTEM, ACCESS_READ, 0, .reads = RAX | RCX},
	{"rdrand rdseed", CLASS_SYSTEM, ACCESS_WRITE, FLAGS_WRITE},
	{"lar lsl", CLASS_SYSTEM, ACCESS_UPDATE, FLAGS_WRITE},
	{"verr verw", CLASS_SYSTEM, ACCESS_READ, FLAGS_WRITE},
	{"sldt str smsw rdfsbase rdgsbase rdpid stmxcsr vmread fnstcw fnstenv fnsave sgdt sidt", CLASS_SYSTEM, ACCESS_WRITE, 0},
	{"rdssp*", CLASS_SYSTEM, ACCESS_UPDATE, 0},
	{"in", CLASS_SYSTEM, ACCESS_UPDATE, 0},
	{"fxsave* xsave* xsavec* xsaveopt* xsaves*", CLASS_SYSTEM, ACCESS_WRITE, 0, .reads = RAX | RDX},
	{"xrstor* xrstors*", CLASS_SYSTEM, ACCESS_READ, 0, .reads = RAX | RDX},
	{"xtest", CLASS_SYSTEM, ACCESS_READ, FLAGS_WRITE},
	{"tpause umwait", CLASS_SYSTEM, ACCESS_READ, FLAGS_WRITE, .reads = RAX | RDX},
	{"xlatb", CLASS_LOAD, ACCESS_NONE, IS_LOAD, .reads = RAX | RBX, .writes = RAX},
	{"movdir64b enqcmd enqcmds", CLASS_STORE, ACCESS_READ, IS_STORE},
	{"prefetch*", CLASS_PREFETCH, ACCESS_NONE, 0},
	{"clflush clflushopt clwb clzero", CLASS_PREFETCH, ACCESS_NONE, 0},
	{"vgatherpf0* vgatherpf1* vscatterpf0* vscatterpf1*", CLASS_PREFETCH, ACCESS_NONE, 0},
	{"mfence lfence sfence serialize", CLASS_BARRIER, ACCESS_NONE, 0},

	/* strings: decode says the registers */
	{"string-move", CLASS_STRING, ACCESS_NONE, IS_LOAD | IS_STORE, .reads = RSI | RDI, .writes = RSI | RDI},
	{"string-compare", CLASS_STRING, ACCESS_NONE, IS_LOAD | FLAGS_WRITE, .reads = RSI | RDI, .writes = RSI | RDI},
	{"string-store", CLASS_STRING, ACCESS_NONE, IS_STORE, .reads = RAX | RDI, .writes = RDI},
	{"string-load", CLASS_STRING, ACCESS_NONE, IS_LOAD, .reads = RAX | RSI, .writes = RAX | RSI},
	{"string-load-whole", CLASS_STRING, ACCESS_NONE, IS_LOAD, .reads = RSI, .writes = RAX | RSI},
	{"string-scan", CLASS_STRING, ACCESS_NONE, IS_LOAD | FLAGS_WRITE, .reads = RAX | RDI, .writes = RDI},
	{"insb insw insd", CLASS_SYSTEM, ACCESS_NONE, IS_STORE, .reads = RDX | RDI, .writes = RDI},
	{"outsb outsw outsd", CLASS_SYSTEM, ACCESS_NONE, IS_LOAD, .reads = RDX | RSI, .writes = RSI},

	/* floating point, SSE and AVX */
	{"addps addpd addss addsd subps subpd subss subsd addsubps addsubpd haddps haddpd hsubps hsubpd minps minpd minss minsd maxps maxpd maxss maxsd vaddph vaddsh vsubph vsubsh vminph vminsh vmaxph vmaxsh", CLASS_FLOAT_ADD, ACCESS_UPDATE, 0},
	{"roundps roundpd vrndscale* vreduce* vgetexp* vgetmant*", CLASS_FLOAT_CONVERT, ACCESS_WRITE, 0},
	{"vfixupimm*", CLASS_FLOAT_CONVERT, ACCESS_UPDATE, ACCUMULATES},
	{"roundss roundsd", CLASS_FLOAT_CONVERT, ACCESS_UPDATE, 0},
	{"vrange*", CLASS_FLOAT_ADD, ACCESS_WRITE, 0},
	{"mulps mulpd mulss mulsd vmulph vmulsh", CLASS_FLOAT_MULTIPLY, ACCESS_UPDATE, 0},
	{"vscalef*", CLASS_FLOAT_MULTIPLY, ACCESS_WRITE, 0},
	{"rcpps rsqrtps vrcp14* vrsqrt14* vrcp28* vrsqrt28* vexp2* vrcpph vrsqrtph vrcpsh vrsqrtsh", CLASS_FLOAT_MULTIPLY, ACCESS_WRITE, 0},
	{"rcpss rsqrtss", CLASS_FLOAT_MULTIPLY, ACCESS_UPDATE, 0},
	{"dpps dppd", CLASS_FLOAT_FUSED, ACCESS_UPDATE, 0},
	{"vfmadd* vfmsub* vfnmadd* vfnmsub* vdpbf16ps", CLASS_FLOAT_FUSED, ACCESS_UPDATE, ACCUMULATES},
	{"divps divpd divss divsd vdivph vdivsh", CLASS_FLOAT_DIVIDE, ACCESS_UPDATE, 0},
	{"sqrtps sqrtpd vsqrtph", CLASS_FLOAT_ROOT, ACCESS_WRITE, 0},
	{"sqrtss sqrtsd vsqrtsh", CLASS_FLOAT_ROOT, ACCESS_UPDATE, 0},
	{"comiss comisd ucomiss ucomisd vcomish vucomish ptest vtestps vtestpd kortest* ktest*", CLASS_FLOAT_COMPARE, ACCESS_READ, FLAGS_WRITE},
	{"cmp*", CLASS_FLOAT_COMPARE, ACCESS_UPDATE, 0},
	{"vfpclass*", CLASS_FLOAT_COMPARE, ACCESS_WRITE, 0},
	{"cvt* vcvt*", CLASS_FLOAT_CONVERT, ACCESS_WRITE, 0},
	{"cvtsi2ss cvtsi2sd cvtss2sd cvtsd2ss cvtpi2ps vcvtusi2ss vcvtusi2sd", CLASS_FLOAT_CONVERT, ACCESS_UPDATE, 0},
	{"movaps movapd movups movupd movdqa movdqu lddqu movd movq movntps movntpd movntdq movntdqa movntq movntss movntsd vmovdqa32 vmovdqa64 vmovdqu8 vmovdqu16 vmovdqu32 vmovdqu64 vmovw kmovb kmovw kmovd kmovq", CLASS_FLOAT_MOVE, ACCESS_WRITE, IS_MOVE},
	{"movss movsd vmovsh", CLASS_FLOAT_MOVE, ACCESS_WRITE, IS_MOVE | LOADS_WHOLE},
	{"movddup movshdup movsldup vbroadcast* vpbroadcast*", CLASS_VECTOR_SHUFFLE, ACCESS_WRITE, IS_MOVE},
	{"vmaskmovps vmaskmovpd vpmaskmovd vpmaskmovq", CLASS_FLOAT_MOVE, ACCESS_WRITE, IS_MOVE},
	{"maskmovdqu maskmovq", CLASS_STORE, ACCESS_READ, IS_STORE, .reads = RDI},
	{"movhps movhpd movlps movlpd movhlps movlhps", CLASS_VECTOR_SHUFFLE, ACCESS_UPDATE, 0},
	{"movmskps movmskpd pmovmskb vpmovmskb movq2dq movdq2q vpmovm2* vpmovb2m vpmovw2m vpmovd2m vpmovq2m", CLASS_FLOAT_MOVE, ACCESS_WRITE, 0},
	{"emms femms", CLASS_NOP, ACCESS_NONE, USES_X87},
	{"ldmxcsr fldcw fldenv frstor fxrstor*", CLASS_SYSTEM, ACCESS_READ, 0},

	/* vectors of integers */
	{"padd* pand por pavg* psign* psad* pmaxsb pmaxsd pmaxsw pmaxub pmaxud pmaxuw pminsb pminsd pminsw pminub pminud pminuw mpsadbw psll* psrl* psra* andps andpd andnps andnpd orps orpd vpsad* vdbpsadbw", CLASS_VECTOR_INTEGER, ACCESS_UPDATE, 0},
	{"psub* pcmpgt* pcmpeq* pxor pandn xorps xorpd vpxord vpxorq", CLASS_VECTOR_INTEGER, ACCESS_UPDATE, IS_ZEROING},
	{"phadd* phsub*", CLASS_VECTOR_INTEGER, ACCESS_UPDATE, 0},
	{"pabs* vpabs* vplzcnt* vpopcnt*", CLASS_VECTOR_INTEGER, ACCESS_WRITE, 0},
	{"vpand* vpor* vpmax* vpmin* vpcmp* vptestm* vptestnm* vpsllv* vpsrlv* vpsrav* vprol* vpror* vpsll* vpsrl* vpsra* vpshld* vpshrd* vpcmov vpcom* vprot* vpsha* vpshl* vpmultishiftqb", CLASS_VECTOR_INTEGER, ACCESS_WRITE, 0},
	{"vpcmpeq* vpcmpgt*", CLASS_VECTOR_INTEGER, ACCESS_WRITE, IS_ZEROING},
	{"vpternlog* vpshldv* vpshrdv*", CLASS_VECTOR_INTEGER, ACCESS_UPDATE, ACCUMULATES},
	{"vcmp*", CLASS_FLOAT_COMPARE, ACCESS_WRITE, 0},
	{"kand* kandn* kor* kxor* kxnor* knot* kadd*", CLASS_VECTOR_INTEGER, ACCESS_WRITE, 0},
	{"kunpck* kshift*", CLASS_VECTOR_SHUFFLE, ACCESS_WRITE, 0},
	{"pmul* pmadd* pmaddubsw", CLASS_VECTOR_MULTIPLY, ACCESS_UPDATE, 0},
	{"vpmull* vpconflict*", CLASS_VECTOR_MULTIPLY, ACCESS_WRITE, 0},
	{"vpmadd52* vpdp* vp4dp*", CLASS_VECTOR_MULTIPLY, ACCESS_UPDATE, ACCUMULATES},
	{"vpmacs* vpmadcs*", CLASS_VECTOR_MULTIPLY, ACCESS_WRITE, 0},
	{"phminposuw", CLASS_VECTOR_MULTIPLY, ACCESS_WRITE, 0},
	{"pcmpestri vpcmpestri", CLASS_VECTOR_MULTIPLY, ACCESS_READ, FLAGS_WRITE, .reads = RAX | RDX, .writes = RCX},
	{"pcmpistri vpcmpistri", CLASS_VECTOR_MULTIPLY, ACCESS_READ, FLAGS_WRITE, .writes = RCX},
	{"pcmpestrm vpcmpestrm", CLASS_VECTOR_MULTIPLY, ACCESS_READ, FLAGS_WRITE, .reads = RAX | RDX},
	{"pcmpistrm vpcmpistrm", CLASS_VECTOR_MULTIPLY, ACCESS_READ, FLAGS_WRITE},

	/* shuffles */
	{"shufps shufpd unpck* punpck* pack* pshufb palignr insertps pinsr* pslldq psrldq", CLASS_VECTOR_SHUFFLE, ACCESS_UPDATE, 0},
	{"blendps blendpd pblendw blendvps blendvpd pblendvb", CLASS_VECTOR_SHUFFLE, ACCESS_UPDATE, 0},
	{"pshufd pshufw pshufhw pshuflw pmovsx* pmovzx* pextr* extractps pswapd", CLASS_VECTOR_SHUFFLE, ACCESS_WRITE, 0},
	{"vperm* vpermil* vperm2* vinsert* vextract* vshuf* valign* vpblend* vblend* vpmov* vcompress* vexpand* vpcompress* vpexpand* vpperm vpslldq vpsrldq vpshufbitqmb", CLASS_VECTOR_SHUFFLE, ACCESS_WRITE, 0},
	{"vpermi2* vpermt2*", CLASS_VECTOR_SHUFFLE, ACCESS_UPDATE, ACCUMULATES},
	{"extrq insertq", CLASS_VECTOR_SHUFFLE, ACCESS_UPDATE, 0},
	{"vgather* vpgather*", CLASS_LOAD, ACCESS_UPDATE, ACCUMULATES},
	{"vscatter* vpscatter*", CLASS_STORE, ACCESS_WRITE, IS_STORE},

	/* of a newer instruction only the encoding is known */
	{"unknown", CLASS_UNKNOWN, ACCESS_UPDATE, ACCUMULATES},

	/* cryptography */
	{"aesenc aesenclast aesdec aesdeclast pclmulqdq sha* gf2p8*", CLASS_CRYPTO, ACCESS_UPDATE, 0},
	{"aesimc aeskeygenassist", CLASS_CRYPTO, ACCESS_WRITE, 0},

	/* x87: one register for the stack */
	{"fadd fiadd faddp fsub fisub fsubp fsubr fisubr fsubrp", CLASS_FLOAT_ADD, ACCESS_READ, USES_X87},
	{"fmul fimul fmulp", CLASS_FLOAT_MULTIPLY, ACCESS_READ, USES_X87},
	{"fdiv fidiv fdivp fdivr fidivr fdivrp fprem fprem1", CLASS_FLOAT_DIVIDE, ACCESS_READ, USES_X87},
	{"fsqrt f2xm1 fcos fpatan fptan fsin fsincos fyl2x fyl2xp1", CLASS_FLOAT_ROOT, ACCESS_READ, USES_X87},
	{"fcom fcomp fcompp ficom ficomp ftst fucom fucomp fucompp fxam", CLASS_FLOAT_COMPARE, ACCESS_READ, USES_X87},
	{"fcomi fcomip fucomi fucomip fcompi fucompi", CLASS_FLOAT_COMPARE, ACCESS_READ, USES_X87 | FLAGS_WRITE},
	{"fcmov*", CLASS_SELECT, ACCESS_READ, USES_X87 | FLAGS_READ},
	{"fild fbld frndint fscale fxtract", CLASS_FLOAT_CONVERT, ACCESS_READ, USES_X87},
	{"fist fistp fisttp fbstp", CLASS_FLOAT_CONVERT, ACCESS_WRITE, USES_X87},
	{"fld fld1 fldl2e fldl2t fldlg2 fldln2 fldpi fldz", CLASS_FLOAT_MOVE, ACCESS_READ, USES_X87 | IS_MOVE},
	{"fst fstp fstpnce", CLASS_FLOAT_MOVE, ACCESS_WRITE, USES_X87 | IS_MOVE},
	{"fabs fchs", CLASS_FLOAT_MOVE, ACCESS_READ, USES_X87},
	{"fxch ffree ffreep fdecstp fincstp fninit fnclex", CLASS_NOP, ACCESS_READ, USES_X87},
	{"fnstsw", CLASS_FLOAT_MOVE, ACCESS_WRITE, USES_X87},
};
/* clang-format on */

const struct form *
x86_64_form(const char *name)
{
	const struct form *form = form_find(forms, sizeof(forms) / sizeof(forms[0]), name);

	if (!form && name[0] == 'v')
		form = form_find(forms, sizeof(forms) / sizeof(forms[0]), name + 1);
	return form;
}
