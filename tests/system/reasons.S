/*
 * Loops of x86-64 whose code is known to the byte, each in a line of 64 bytes of its own, for stall_reasons.sh: nothing
 * here runs. `straight` is no loop.
 */
	.text
	.macro function name
	.p2align 6
	.globl	\name
	.type	\name, @function
\name:
	.endm
	.macro done name
	.size	\name, . - \name
	.endm

	function chase
1:	mov	(%rdi), %rdi
	sub	$1, %rsi
	jne	1b
	ret
	done	chase

	function store
1:	mov	%rdx, (%rdi)
	add	$64, %rdi
	sub	$1, %rsi
	jne	1b
	ret
	done	store

	function divide
1:	xor	%edx, %edx
	div	%r8
	or	%r9, %rax
	sub	$1, %rsi
	jne	1b
	ret
	done	divide

	function multiply
1:	imul	%rax, %rax
	lea	1(%rax), %rax
	sub	$1, %rsi
	jne	1b
	ret
	done	multiply

	function branch
1:	test	$64, %al
	je	2f
	sub	$3, %r8
	sub	$5, %r8
	jmp	3f
2:	add	$7, %r8
	add	$9, %r8
3:	sub	$1, %rsi
	jne	1b
	ret
	done	branch

	function pages
1:	mov	(%rdi, %rax), %rdx
	add	$4096, %rax
	add	%rdx, %rcx
	sub	$1, %rsi
	jne	1b
	ret
	done	pages

	function locked
1:	lock	addq $1, (%rdi)
	sub	$1, %rsi
	jne	1b
	ret
	done	locked

	function adds
1:	add	%rsi, %rax
	add	%rsi, %rax
	add	%rsi, %rax
	add	%rsi, %rax
	sub	$1, %rsi
	jne	1b
	ret
	done	adds

	function straight
	mov	$1, %eax
	add	%eax, %eax
	add	%eax, %eax
	add	%eax, %eax
	ret
	done	straight
	.section .note.GNU-stack, "", @progbits
