/*
 * Each kind of access of x86-64 up to AVX2 and FMA, once as the first of its base in a block and once behind another:
 * a guest for blocks.sh. It does nothing else, and no signal comes.
 */
#define TIMES 25

#define SIZES(op)                                                                                                      \
	both op##b %al, 32(%r15);                                                                                      \
	both op##w %ax, 32(%r15);                                                                                      \
	both op##l %eax, 32(%r15);                                                                                     \
	both op##q %rax, 32(%r15)
#define CONSTANTS(op)                                                                                                  \
	both op##b $1, 32(%r15);                                                                                       \
	both op##w $1, 32(%r15);                                                                                       \
	both op##l $1, 32(%r15);                                                                                       \
	both op##q $1, 32(%r15)
#define FROM_MEMORY(op)                                                                                                \
	both op##w 32(%r15), %ax;                                                                                      \
	both op##l 32(%r15), %eax;                                                                                     \
	both op##q 32(%r15), %rax
#define FMA(op)                                                                                                        \
	both op##ss 32(%r15), %xmm2, %xmm1;                                                                            \
	both op##sd 32(%r15), %xmm2, %xmm1;                                                                            \
	both op##ps 32(%r15), %xmm2, %xmm1;                                                                            \
	both op##pd 32(%r15), %xmm2, %xmm1;                                                                            \
	both op##ps 32(%r15), %ymm2, %ymm1;                                                                            \
	both op##pd 32(%r15), %ymm2, %ymm1
#define FMA_ORDERS(op) FMA(op##132); FMA(op##213); FMA(op##231)

	.macro both text:vararg
	jmp	1f
1:
	\text
	mov	40(%r15), %r8
	mov	24(%r15), %r9
	jmp	1f
1:	mov	24(%r15), %r8
	\text
	mov	40(%r15), %r9
	.endm

/* Vectors of 128 bits, and as AVX has it; of these two of 256 bits, too. */
	.macro vectors_load ops:vararg
	.irp	op, \ops
	both	\op 32(%r15), %xmm1
	both	v\op 32(%r15), %xmm1
	.endr
	.endm

	.macro vectors_load_wide ops:vararg
	vectors_load \ops
	.irp	op, \ops
	both	v\op 32(%r15), %ymm1
	.endr
	.endm

	.macro vectors_load_other ops:vararg
	.irp	op, \ops
	both	\op 32(%r15), %xmm1
	both	v\op 32(%r15), %xmm2, %xmm1
	.endr
	.endm

	.macro vectors_load_other_wide ops:vararg
	vectors_load_other \ops
	.irp	op, \ops
	both	v\op 32(%r15), %ymm2, %ymm1
	.endr
	.endm

	.macro vectors_store ops:vararg
	.irp	op, \ops
	both	\op %xmm1, 32(%r15)
	both	v\op %xmm1, 32(%r15)
	.endr
	.endm

	.macro vectors_store_wide ops:vararg
	vectors_store \ops
	.irp	op, \ops
	both	v\op %ymm1, 32(%r15)
	.endr
	.endm

	.macro ones ops:vararg
	.irp	op, \ops
	both	\op 32(%r15)
	.endr
	.endm

	.bss
	.balign	64
buffer:	.skip	8192

	.text
	.globl	_start
_start:
	mov	$TIMES, %r14d
again:
	lea	buffer(%rip), %r15
	mov	%rsp, %r13
	mov	$1, %eax
	xor	%edx, %edx
	mov	%rax, 32(%r15)
	ones	divb, divw, divl, divq, idivl, idivq, mulb, mulw, mull, mulq, imull, imulq
	ones	incb, incw, incl, incq, decq, notb, notl, notq, negw, negl, negq, shlb, shrw, sarl, rolq
	SIZES(add)
	SIZES(or)
	SIZES(adc)
	SIZES(sbb)
	SIZES(and)
	SIZES(sub)
	SIZES(xor)
	SIZES(cmp)
	SIZES(mov)
	SIZES(test)
	SIZES(xchg)
	SIZES(cmpxchg)
	SIZES(xadd)
	both	lock addq %rax, 32(%r15)
	both	lock cmpxchgq %rax, 32(%r15)
	both	cmpxchg8b 32(%r15)
	both	lock cmpxchg16b 32(%r15)
	CONSTANTS(add)
	CONSTANTS(or)
	CONSTANTS(and)
	CONSTANTS(sub)
	CONSTANTS(cmp)
	CONSTANTS(mov)
	FROM_MEMORY(add)
	FROM_MEMORY(mov)
	FROM_MEMORY(cmp)
	FROM_MEMORY(imul)
	FROM_MEMORY(cmove)
	FROM_MEMORY(cmovb)
	FROM_MEMORY(bsf)
	FROM_MEMORY(bsr)
	FROM_MEMORY(popcnt)
	FROM_MEMORY(lzcnt)
	FROM_MEMORY(tzcnt)
	FROM_MEMORY(movbe)
	both	adcx 32(%r15), %rax
	both	movbe %rax, 32(%r15)
	mov	$3, %eax
	.irp	op, btq, btsq, btrq, btcq
	both	\op $3, 32(%r15)
	both	\op %rax, 32(%r15)
	.endr
	both	shldq $3, %rax, 32(%r15)
	both	shrdl %cl, %eax, 32(%r15)
	both	sete 32(%r15)
	both	movzbl 32(%r15), %eax
	both	movzwl 32(%r15), %eax
	both	movsbq 32(%r15), %rax
	both	movslq 32(%r15), %rax
	both	movnti %rax, 32(%r15)
	both	andn 32(%r15), %rax, %rcx
	both	bextr %rax, 32(%r15), %rcx
	both	pdep 32(%r15), %rax, %rcx
	both	mulx 32(%r15), %rax, %rcx
	both	rorx $3, 32(%r15), %rax
	both	sarx %rax, 32(%r15), %rcx
	both	blsr 32(%r15), %rax
	both	crc32q 32(%r15), %rax
	both	prefetcht0 32(%r15)
	both	nopl 32(%r15)
	both	lea 32(%r15), %rax

	both	pushq 32(%r15)
	both	popq 32(%r15)
	both	pushw 32(%r15)
	both	popw 32(%r15)
	both	push %rax
	both	pop %rcx
	both	pushw %ax
	both	popw %cx
	both	pushfq
	both	popfq
	lea	2048(%r15), %rbp
	lea	64(%rbp), %rax
	mov	%rax, (%rbp)
	both	leave
	mov	%r13, %rsp

	.irp	op, movsb, movsw, movsl, movsq, stosb, stosq, lodsb, lodsq, scasb, cmpsb
	lea	512(%r15), %rdi
	lea	1024(%r15), %rsi
	both	\op
	mov	$5, %ecx
	both	rep \op
	.endr

	both	fninit
	ones	flds, fldl, fldt, fstps, fstpl, fstpt, filds, fildl, fildq, fistps, fistpl, fistpq
	both	fninit
	ones	fadds, fmull, fsubs, fdivl, fcoms, fiadds, fimull, fnstcw, fldcw, fnstsw
	both	fninit
	ones	stmxcsr, ldmxcsr

	vectors_load_wide movaps, movapd, movups, movupd, movdqa, movdqu, lddqu, movntdqa, movddup, movsldup, movshdup
	vectors_load movss, movsd, movq, comiss, comisd, ucomiss, ucomisd, phminposuw, aesimc
	both	movd 32(%r15), %xmm1
	both	vmovd 32(%r15), %xmm1
	vectors_load_wide sqrtps, sqrtpd, rcpps, rsqrtps, cvtps2pd, cvtdq2ps, cvtdq2pd, cvtps2dq, cvttps2dq, ptest
	both	cvtpd2ps 32(%r15), %xmm1
	both	vcvtpd2psx 32(%r15), %xmm1
	both	vcvtpd2psy 32(%r15), %xmm1
	vectors_load_wide pabsb, pabsd, pmovsxbw, pmovsxbd, pmovsxbq, pmovsxwd, pmovsxwq, pmovsxdq, pmovzxbw, pmovzxbq
	vectors_load_other_wide addps, subpd, mulps, divpd, minps, maxpd, andps, andnpd, orps, xorpd, addsubps, haddpd
	vectors_load_other_wide unpcklps, unpckhpd, hsubps
	vectors_load_other addss, addsd, subss, mulsd, divss, minsd, maxss, sqrtss, sqrtsd, rcpss, rsqrtss
	vectors_load_other cvtss2sd, cvtsd2ss, movlps, movhps, movlpd, movhpd
	vectors_load_other_wide paddb, paddq, psubw, pmullw, pmulld, pmuludq, pmaddwd, pmaddubsw, pavgb, psadbw, pshufb
	vectors_load_other_wide pcmpeqb, pcmpgtd, pcmpeqq, pand, pandn, por, pxor, packsswb, packusdw, punpcklbw, punpckhdq
	vectors_load_other_wide pminub, pmaxsd, phaddw, phsubd, psignb, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad
	vectors_load_other aesenc, aesdeclast
	.irp	from, 32(%r15)
	both	cvtsi2sdl \from, %xmm1
	both	cvtsi2sdq \from, %xmm1
	both	cvttsd2si \from, %rax
	both	cvtss2si \from, %eax
	both	vcvtph2ps \from, %xmm1
	both	vcvtph2ps \from, %ymm1
	both	pshufd $1, \from, %xmm1
	both	pshuflw $1, \from, %xmm1
	both	shufps $1, \from, %xmm1
	both	cmpsd $1, \from, %xmm1
	both	cmpps $1, \from, %xmm1
	both	roundsd $1, \from, %xmm1
	both	roundps $1, \from, %xmm1
	both	palignr $1, \from, %xmm1
	both	pinsrb $1, \from, %xmm1
	both	pinsrw $1, \from, %xmm1
	both	pinsrd $1, \from, %xmm1
	both	pinsrq $1, \from, %xmm1
	both	insertps $1, \from, %xmm1
	both	blendps $1, \from, %xmm1
	both	blendvps \from, %xmm1
	both	pblendw $1, \from, %xmm1
	both	dpps $1, \from, %xmm1
	both	mpsadbw $1, \from, %xmm1
	both	pclmulqdq $1, \from, %xmm1
	both	pcmpistri $1, \from, %xmm1
	both	vpshufd $1, \from, %ymm1
	both	vperm2i128 $1, \from, %ymm2, %ymm1
	both	vpermq $1, \from, %ymm1
	both	vpermd \from, %ymm2, %ymm1
	both	vinserti128 $1, \from, %ymm2, %ymm1
	both	vbroadcastss \from, %ymm1
	both	vbroadcastsd \from, %ymm1
	both	vbroadcastf128 \from, %ymm1
	both	vpbroadcastb \from, %xmm1
	both	vpbroadcastw \from, %ymm1
	both	vpbroadcastq \from, %ymm1
	both	vpsllvd \from, %ymm2, %ymm1
	both	vpblendd $1, \from, %ymm2, %ymm1
	both	vblendvpd %ymm3, \from, %ymm2, %ymm1
	both	vmaskmovps \from, %ymm2, %ymm1
	both	vpmaskmovq \from, %xmm2, %xmm1
	.endr
	FMA_ORDERS(vfmadd)
	FMA_ORDERS(vfmsub)
	FMA_ORDERS(vfnmadd)
	FMA_ORDERS(vfnmsub)
	both	vfmaddsub213ps 32(%r15), %ymm2, %ymm1
	both	vfmsubadd231pd 32(%r15), %xmm2, %xmm1
	vectors_store_wide movaps, movapd, movups, movupd, movdqa, movdqu, movntps, movntdq
	vectors_store movss, movsd, movq, movd, movlps, movhps, movlpd, movhpd
	.irp	op, pextrb, pextrw, pextrd, pextrq, extractps
	both	\op $1, %xmm1, 32(%r15)
	both	v\op $1, %xmm1, 32(%r15)
	.endr
	both	vextracti128 $1, %ymm1, 32(%r15)
	both	vcvtps2ph $1, %xmm1, 32(%r15)
	both	vcvtps2ph $1, %ymm1, 32(%r15)
	both	vmaskmovps %ymm1, %ymm2, 32(%r15)
	emms
	both	movq 32(%r15), %mm1
	both	paddw 32(%r15), %mm1
	both	movq %mm1, 32(%r15)
	both	movd %mm1, 32(%r15)
	emms

	dec	%r14d
	jnz	again
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.section .note.GNU-stack, "", @progbits
