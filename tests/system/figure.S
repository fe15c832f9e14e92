/*
 * A shared object whose code is known to the byte, for tests of what tools print: nothing here runs. The test renames
 * helper_2 to helper, and evil to a name that no assembler writes.
 */
	.text
	.macro function name, size
	.type	\name, @function
\name:
	.cfi_startproc
	.skip	\size, 0x90
	.cfi_endproc
	.size	\name, \size
	.endm

	.globl	hot_loop
	function hot_loop, 0x40                 /* at 0x00 of the text */
	function helper, 0x20                   /* 0x40 */
	function helper_2, 0x20                 /* 0x60 */
	function _ZN3foo3barEi, 0x20            /* 0x80 */
	function evil, 0x20                     /* 0xa0 */
	.section .note.GNU-stack, "", @progbits
