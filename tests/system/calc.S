/*
 * A shared object of x86-64 whose code is known to the byte, for tests of dcpicalc and dcpilist: nothing here runs. The
 * test renames twin_2 to twin.
 */
	.text
	.macro function name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm
	.macro done name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.globl	sum
	function sum
	xor	%eax, %eax
	test	%rsi, %rsi
	je	2f
1:	mov	(%rdi), %rcx
	add	$8, %rdi
	add	%rcx, %rax
	dec	%rsi
	jne	1b
2:	ret
	done	sum

	.globl	pick
	function pick
	test	%edi, %edi
	jne	pick.cold
	mov	%esi, %eax
	ret
	done	pick

	.p2align 4, 0x90
	function twin
	lea	1(%rdi), %rax
	ret
	done	twin
	function twin_2
	lea	2(%rdi), %rax
	ret
	done	twin_2

	.globl	quiet
	function quiet
	ret
	done	quiet

	.globl	bad
	function bad
	.byte	0x06, 0x06
	jmp	*%rax
	done	bad

	.section .text.unlikely, "ax", @progbits
	function pick.cold
	lea	(%rsi, %rsi, 4), %eax
	ret
	done	pick.cold
	.section .note.GNU-stack, "", @progbits
