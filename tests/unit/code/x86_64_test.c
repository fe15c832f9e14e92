/* What x86-64's instructions are and do. Expected by hand; bytes by GNU as. */
#include "tests/unit/code/describe.h"

/* clang-format off */
static void
integer_instructions_write_the_flags_they_set(void **state)
{
	static const struct example examples[] = {
		{"48 01 c8", "add %rcx,%rax", "integer: rax rcx -> rax flags"},
		{"83 04 b7 01", "addl $1,(%rdi,%rsi,4)", "integer: [rdi rsi] -> flags, loads, stores 4, scaled"},
		{"48 2b 47 08", "sub 8(%rdi),%rax", "integer: rax [rdi] -> rax flags, loads 8"},
		{"48 11 d1", "adc %rdx,%rcx", "integer: rcx rdx flags -> rcx flags"},
		{"19 c0", "sbb %eax,%eax", "integer: rax flags -> rax flags"},
		{"48 ff c3", "inc %rbx", "integer: rbx -> rbx flags"},
		{"49 f7 d9", "neg %r9", "integer: r9 -> r9 flags"},
		{"49 f7 d1", "not %r9", "integer: r9 -> r9"},
		{"48 39 07", "cmp %rax,(%rdi)", "integer: rax [rdi] -> flags, loads 8"},
		{"48 85 ff", "test %rdi,%rdi", "integer: rdi -> flags"},
		{"0f c8", "bswap %eax", "integer: rax -> rax"},
		{"c4 e2 e0 f2 c8", "andn %rax,%rbx,%rcx", "integer: rbx rax -> rcx flags"},
		{"66 48 0f 38 f6 d8", "adcx %rax,%rbx", "integer: rbx rax flags -> rbx flags"},
		{"0f c1 c1", "xadd %eax,%ecx", "integer: rcx rax -> rcx rax flags"},
		{"48 93", "xchg %rax,%rbx", "integer: rax rbx -> rax rbx"},
		{"48 98", "cltq", "integer: rax -> rax"},
		{"48 99", "cqto", "integer: rax -> rdx"},
		{"9f", "lahf", "integer: rax flags -> rax"},
		{"f9", "stc", "integer: -> flags"},
		{"0f b6 c1", "movzbl %cl,%eax", "integer: rcx -> rax"},
		{"48 63 c1", "movslq %ecx,%rax", "integer: rcx -> rax"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
writing_a_part_of_a_register_reads_it(void **state)
{
	static const struct example examples[] = {
		{"88 c8", "mov %cl,%al", "integer: rax rcx -> rax"},
		{"b4 05", "mov $5,%ah", "integer: rax -> rax"},
		{"66 b8 05 00", "mov $5,%ax", "integer: rax -> rax"},
		{"8a 07", "mov (%rdi),%al", "load: rax [rdi] -> rax, loads 1"},
		{"0f 94 c0", "sete %al", "select: rax flags -> rax"},
		{"89 c8", "mov %ecx,%eax", "move: rcx -> rax"},
		{"b8 05 00 00 00", "mov $5,%eax", "integer: -> rax"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
moves_are_loads_and_stores_when_they_have_memory(void **state)
{
	static const struct example examples[] = {
		{"48 89 c8", "mov %rcx,%rax", "move: rcx -> rax"},
		{"48 8b 07", "mov (%rdi),%rax", "load: [rdi] -> rax, loads 8"},
		{"48 89 44 f7 08", "mov %rax,8(%rdi,%rsi,8)", "store: rax [rdi rsi], stores 8, scaled"},
		{"c7 07 07 00 00 00", "movl $7,(%rdi)", "store: [rdi], stores 4"},
		{"8b 05 00 01 00 00", "mov 0x100(%rip),%eax", "load: -> rax, loads 4"},
		{"64 48 8b 04 25 28 00 00 00", "mov %fs:0x28,%rax", "load: -> rax, loads 8"},
		{"0f b6 07", "movzbl (%rdi),%eax", "load: [rdi] -> rax, loads 1"},
		{"48 63 04 87", "movslq (%rdi,%rax,4),%rax", "load: [rdi rax] -> rax, loads 4, scaled, signed"},
		{"0f 38 f0 07", "movbe (%rdi),%eax", "load: [rdi] -> rax, loads 4"},
		{"48 0f c3 07", "movnti %rax,(%rdi)", "store: rax [rdi], stores 8"},
		{"48 8d 44 77 08", "lea 8(%rdi,%rsi,2),%rax", "address: rdi rsi -> rax, wide"},
		{"48 8d 04 77", "lea (%rdi,%rsi,2),%rax", "address: rdi rsi -> rax"},
		{"48 8d 47 08", "lea 8(%rdi),%rax", "address: rdi -> rax"},
		{"48 8d 05 00 01 00 00", "lea 0x100(%rip),%rax", "address: -> rax"},
		{"0f 18 0f", "prefetcht0 (%rdi)", "prefetch: [rdi]"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
shifts_multiplications_and_divisions_have_hidden_operands(void **state)
{
	static const struct example examples[] = {
		{"48 c1 e0 03", "shl $3,%rax", "shift: rax -> rax flags"},
		{"48 d3 fa", "sar %cl,%rdx", "shift: rdx rcx -> rdx flags"},
		{"48 d1 d0", "rcl $1,%rax", "shift: rax flags -> rax flags"},
		{"48 0f a4 c8 04", "shld $4,%rcx,%rax", "shift: rax rcx -> rax flags"},
		{"c4 e2 f1 f7 c2", "shlx %rcx,%rdx,%rax", "shift: rdx rcx -> rax"},
		{"c4 e3 fb f0 c2 07", "rorx $7,%rdx,%rax", "shift: rdx -> rax"},
		{"48 f7 e1", "mul %rcx", "multiply: rcx rax -> rax rdx flags"},
		{"48 f7 e9", "imul %rcx", "multiply: rcx rax -> rax rdx flags"},
		{"f6 e1", "mul %cl", "multiply: rcx rax -> rax flags"},
		{"48 0f af c1", "imul %rcx,%rax", "multiply: rax rcx -> rax flags"},
		{"48 6b c1 0a", "imul $10,%rcx,%rax", "multiply: rcx -> rax flags"},
		{"c4 e2 fb f6 d9", "mulx %rcx,%rax,%rbx", "multiply: rcx rdx -> rbx rax"},
		{"48 f7 f1", "div %rcx", "divide: rcx rax rdx -> rax rdx flags, wide"},
		{"f7 3f", "idivl (%rdi)", "divide: rax rdx [rdi] -> rax rdx flags, loads 4"},
		{"f6 f1", "div %cl", "divide: rcx rax -> rax flags"},
		{"f3 48 0f b8 c1", "popcnt %rcx,%rax", "bit: rcx -> rax flags"},
		{"f3 48 0f bc c1", "tzcnt %rcx,%rax", "bit: rcx -> rax flags"},
		{"48 0f bc c1", "bsf %rcx,%rax", "bit: rax rcx -> rax flags"},
		{"48 0f a3 c8", "bt %rcx,%rax", "bit: rax rcx -> flags"},
		{"48 0f ba e8 04", "bts $4,%rax", "bit: rax -> rax flags"},
		{"c4 e2 eb f5 c1", "pdep %rcx,%rdx,%rax", "bit: rdx rcx -> rax"},
		{"f2 0f 38 f0 c1", "crc32b %cl,%eax", "multiply: rax rcx -> rax"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
selections_read_the_flags_and_what_they_keep(void **state)
{
	static const struct example examples[] = {
		{"48 0f 45 c1", "cmovne %rcx,%rax", "select: rax rcx flags -> rax"},
		{"0f 4c 07", "cmovl (%rdi),%eax", "select: rax flags [rdi] -> rax, loads 4"},
		{"0f 95 07", "setne (%rdi)", "select: flags [rdi], stores 1"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
idioms_that_clear_a_register_depend_on_nothing(void **state)
{
	static const struct example examples[] = {
		{"31 c0", "xor %eax,%eax", "integer: rax -> rax flags, clears"},
		{"48 29 c9", "sub %rcx,%rcx", "integer: rcx -> rcx flags, clears"},
		{"31 c8", "xor %ecx,%eax", "integer: rax rcx -> rax flags"},
		{"30 c0", "xor %al,%al", "integer: rax -> rax flags"},
		{"66 0f ef c9", "pxor %xmm1,%xmm1", "vector integer: v1 -> v1, clears"},
		{"0f 57 c9", "xorps %xmm1,%xmm1", "vector integer: v1 -> v1, clears"},
		{"66 0f 76 d2", "pcmpeqd %xmm2,%xmm2", "vector integer: v2 -> v2, clears"},
		{"66 0f f8 d2", "psubb %xmm2,%xmm2", "vector integer: v2 -> v2, clears"},
		{"c5 e1 ef cb", "vpxor %xmm3,%xmm3,%xmm1", "vector integer: v3 -> v1, clears"},
		{"c5 dd ef cb", "vpxor %ymm3,%ymm4,%ymm1", "vector integer: v4 v3 -> v1, wide"},
		{"c5 e4 57 cb", "vxorps %ymm3,%ymm3,%ymm1", "vector integer: v3 -> v1, wide, clears"},
		{"62 b1 dd 40 ef cc", "vpxorq %zmm20,%zmm20,%zmm1", "vector integer: v20 -> v1, wide, clears"},
		{"62 b1 dd 42 ef cc", "vpxorq %zmm20,%zmm20,%zmm1{%k2}", "vector integer: v1 v20 k2 -> v1, wide"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
the_stack_pointer_is_an_address_that_moves(void **state)
{
	static const struct example examples[] = {
		{"53", "push %rbx", "store: rbx [rsp] -> rsp, stores 8"},
		{"6a 05", "push $5", "store: [rsp] -> rsp, stores 8"},
		{"ff 37", "pushq (%rdi)", "store: [rdi rsp] -> rsp, loads, stores 8"},
		{"5b", "pop %rbx", "load: [rsp] -> rbx rsp, loads 8"},
		{"66 0f 2f 00", "comisd (%rax),%xmm0", "float compare: v0 [rax] -> flags, loads 8"},
		{"c5 f8 2f 00", "vcomiss (%rax),%xmm0", "float compare: v0 [rax] -> flags, loads 4"},
		{"c9", "leave", "load: rbp -> rsp rbp, loads 8"},
		{"9c", "pushfq", "store: flags [rsp] -> rsp, stores 8"},
		{"9d", "popfq", "load: [rsp] -> rsp flags, loads 8"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
every_kind_of_control_flow_is_told_apart(void **state)
{
	static const struct example examples[] = {
		{"eb 3e", "jmp .+0x40", "jump:, jump 1040"},
		{"e9 fb 0f 00 00", "jmp .+0x1000", "jump:, jump 2000"},
		{"ff e0", "jmp *%rax", "jump: rax, jump indirect"},
		{"ff 24 c5 00 01 00 00", "jmp *0x100(,%rax,8)", "jump: [rax], loads 8, scaled, jump indirect"},
		{"3e ff e0", "notrack jmp *%rax", "jump: rax, jump indirect"},
		{"75 3e", "jne .+0x40", "branch: flags, branch 1040"},
		{"0f 87 fa f7 ff ff", "ja .-0x800", "branch: flags, branch 800"},
		{"e3 0e", "jrcxz .+0x10", "branch: rcx, branch 1010"},
		{"e2 ee", "loop .-0x10", "branch: rcx -> rcx, branch ff0"},
		{"e8 fb 00 00 00", "call .+0x100", "call: [rsp] -> rsp, stores 8, call 1100"},
		{"ff d0", "call *%rax", "call: rax [rsp] -> rsp, stores 8, call indirect"},
		{"ff 15 00 01 00 00", "call *0x100(%rip)", "call: [rsp] -> rsp, loads, stores 8, call indirect"},
		{"c3", "ret", "return: [rsp] -> rsp, loads 8, return"},
		{"c2 08 00", "ret $8", "return: [rsp] -> rsp, loads 8, return"},
		{"f3 c3", "repz ret", "return: [rsp] -> rsp, loads 8, return"},
		{"0f 0b", "ud2", "system:, stop"},
		{"f4", "hlt", "system:, stop"},
		{"cc", "int3", "system:, stop"},
		{"c7 f8 1a 00 00 00", "xbegin .+0x20", "system: -> rax, branch 1020"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
nothing_is_nothing(void **state)
{
	static const struct example examples[] = {
		{"90", "nop", "nop:"},
		{"66 0f 1f 04 00", "nopw 0(%rax,%rax,1)", "nop:"},
		{"f3 0f 1e fa", "endbr64", "nop:, landing pad"},
		{"c5 f8 77", "vzeroupper", "nop:"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
the_system_has_registers_of_its_own(void **state)
{
	static const struct example examples[] = {
		{"0f 05", "syscall", "system: rax rdx rsi rdi r8 r10 -> rax rcx r11"},
		{"0f a2", "cpuid", "system: rax rcx -> rax rcx rdx rbx"},
		{"0f 31", "rdtsc", "system: -> rax rdx"},
		{"0f 01 f9", "rdtscp", "system: -> rax rcx rdx"},
		{"f3 90", "pause", "system:"},
		{"0f ae f0", "mfence", "barrier:"},
		{"0f ae e8", "lfence", "barrier:"},
		{"0f 01 d0", "xgetbv", "system: rcx -> rax rdx"},
		{"0f 01 ee", "rdpkru", "system: rcx -> rax rdx"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
locked_instructions_are_atomic(void **state)
{
	static const struct example examples[] = {
		{"f0 83 07 01", "lock addl $1,(%rdi)", "atomic: [rdi] -> flags, loads, stores 4"},
		{"f0 48 0f b1 0f", "lock cmpxchg %rcx,(%rdi)", "atomic: rcx rax [rdi] -> rax flags, loads, stores 8"},
		{"f0 0f c1 07", "lock xadd %eax,(%rdi)", "atomic: rax [rdi] -> rax flags, loads, stores 4"},
		{"87 07", "xchg %eax,(%rdi)", "atomic: rax [rdi] -> rax, loads, stores 4"},
		{"f0 48 0f c7 0f", "lock cmpxchg16b (%rdi)", "atomic: rax rcx rdx rbx [rdi] -> rax rdx flags, loads, stores 16"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
strings_move_their_pointers(void **state)
{
	static const struct example examples[] = {
		{"f3 a4", "rep movsb", "string: rsi rdi rcx -> rsi rdi rcx, loads, stores 1"},
		{"66 f3 a5", "rep movsw", "string: rsi rdi rcx -> rsi rdi rcx, loads, stores 2"},
		{"48 a5", "movsq", "string: rsi rdi -> rsi rdi, loads, stores 8"},
		{"f3 48 ab", "rep stosq", "string: rax rdi rcx -> rdi rcx, stores 8"},
		{"f2 ae", "repnz scasb", "string: rax rdi rcx -> rdi rcx flags, loads 1"},
		{"f3 a6", "repz cmpsb", "string: rsi rdi rcx -> rsi rdi rcx flags, loads 1"},
		{"ad", "lodsl", "string: rsi -> rax rsi, loads 4"},
		{"ac", "lodsb", "string: rax rsi -> rax rsi, loads 1"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
floating_point_of_sse_updates_and_of_avx_writes(void **state)
{
	static const struct example examples[] = {
		{"f2 0f 58 c1", "addsd %xmm1,%xmm0", "float add: v0 v1 -> v0"},
		{"c5 eb 58 c1", "vaddsd %xmm1,%xmm2,%xmm0", "float add: v2 v1 -> v0"},
		{"c5 ec 58 07", "vaddps (%rdi),%ymm2,%ymm0", "float add: v2 [rdi] -> v0, loads 32, wide"},
		{"0f 59 c1", "mulps %xmm1,%xmm0", "float multiply: v0 v1 -> v0"},
		{"c4 e2 ed b8 c1", "vfmadd231pd %ymm1,%ymm2,%ymm0", "float fused: v0 v2 v1 -> v0, wide"},
		{"f2 0f 5e c1", "divsd %xmm1,%xmm0", "float divide: v0 v1 -> v0"},
		{"66 0f 51 c1", "sqrtpd %xmm1,%xmm0", "float root: v1 -> v0"},
		{"f2 0f 51 c1", "sqrtsd %xmm1,%xmm0", "float root: v0 v1 -> v0"},
		{"c5 eb 51 c1", "vsqrtsd %xmm1,%xmm2,%xmm0", "float root: v2 v1 -> v0"},
		{"66 0f 2e c1", "ucomisd %xmm1,%xmm0", "float compare: v0 v1 -> flags"},
		{"66 0f c2 c1 01", "cmpltpd %xmm1,%xmm0", "float compare: v0 v1 -> v0"},
		{"f2 48 0f 2a c0", "cvtsi2sd %rax,%xmm0", "float convert: v0 rax -> v0"},
		{"f2 48 0f 2c c0", "cvttsd2si %xmm0,%rax", "float convert: v0 -> rax"},
		{"f3 0f 5a c1", "cvtss2sd %xmm1,%xmm0", "float convert: v0 v1 -> v0"},
		{"0f 5b c1", "cvtdq2ps %xmm1,%xmm0", "float convert: v1 -> v0"},
		{"f2 0f 5f c1", "maxsd %xmm1,%xmm0", "float add: v0 v1 -> v0"},
		{"0f 53 c1", "rcpps %xmm1,%xmm0", "float multiply: v1 -> v0"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
moves_between_vectors_and_to_and_from_general_registers(void **state)
{
	static const struct example examples[] = {
		{"0f 28 c1", "movaps %xmm1,%xmm0", "float move: v1 -> v0"},
		{"f2 0f 10 c1", "movsd %xmm1,%xmm0", "float move: v0 v1 -> v0"},
		{"f2 0f 10 07", "movsd (%rdi),%xmm0", "load: [rdi] -> v0, loads 8"},
		{"f2 0f 11 07", "movsd %xmm0,(%rdi)", "store: v0 [rdi], stores 8"},
		{"c5 ea 10 c1", "vmovss %xmm1,%xmm2,%xmm0", "float move: v2 v1 -> v0"},
		{"66 48 0f 6e c0", "movq %rax,%xmm0", "float move: rax -> v0"},
		{"66 48 0f 7e c0", "movq %xmm0,%rax", "float move: v0 -> rax"},
		{"66 0f 7e 07", "movd %xmm0,(%rdi)", "store: v0 [rdi], stores 4"},
		{"c5 fe 6f 07", "vmovdqu (%rdi),%ymm0", "load: [rdi] -> v0, loads 32, wide"},
		{"0f 16 07", "movhps (%rdi),%xmm0", "shuffle: v0 [rdi] -> v0, loads 8"},
		{"0f 17 07", "movhps %xmm0,(%rdi)", "shuffle: v0 [rdi], stores 8"},
		{"66 0f d7 c0", "pmovmskb %xmm0,%eax", "float move: v0 -> rax"},
		{"c4 e2 7d 19 07", "vbroadcastsd (%rdi),%ymm0", "load: [rdi] -> v0, loads 8, wide"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
vectors_of_integers(void **state)
{
	static const struct example examples[] = {
		{"66 0f fe c1", "paddd %xmm1,%xmm0", "vector integer: v0 v1 -> v0"},
		{"c5 ed fc c1", "vpaddb %ymm1,%ymm2,%ymm0", "vector integer: v2 v1 -> v0, wide"},
		{"66 0f 73 d8 04", "psrldq $4,%xmm0", "shuffle: v0 -> v0"},
		{"66 0f 72 f0 04", "pslld $4,%xmm0", "vector integer: v0 -> v0"},
		{"c5 f9 73 f1 04", "vpsllq $4,%xmm1,%xmm0", "vector integer: v1 -> v0"},
		{"66 0f 38 40 c1", "pmulld %xmm1,%xmm0", "vector multiply: v0 v1 -> v0"},
		{"66 0f f5 c1", "pmaddwd %xmm1,%xmm0", "vector multiply: v0 v1 -> v0"},
		{"66 0f 70 c1 03", "pshufd $3,%xmm1,%xmm0", "shuffle: v1 -> v0"},
		{"66 0f 38 00 c1", "pshufb %xmm1,%xmm0", "shuffle: v0 v1 -> v0"},
		{"0f c6 c1 03", "shufps $3,%xmm1,%xmm0", "shuffle: v0 v1 -> v0"},
		{"c4 e3 6d 06 c1 01", "vperm2f128 $1,%ymm1,%ymm2,%ymm0", "shuffle: v2 v1 -> v0, wide"},
		{"c4 e3 7d 39 c8 01", "vextracti128 $1,%ymm1,%xmm0", "shuffle: v1 -> v0, wide"},
		{"c4 e3 6d 38 c1 01", "vinserti128 $1,%xmm1,%ymm2,%ymm0", "shuffle: v2 v1 -> v0, wide"},
		{"66 0f c4 c0 01", "pinsrw $1,%eax,%xmm0", "shuffle: v0 rax -> v0"},
		{"66 0f 3a 14 07 01", "pextrb $1,%xmm0,(%rdi)", "shuffle: v0 [rdi], stores 1"},
		{"66 0f 38 10 d1", "pblendvb %xmm0,%xmm1,%xmm2", "shuffle: v2 v1 v0 -> v2"},
		{"c4 e3 69 4c d9 00", "vpblendvb %xmm0,%xmm1,%xmm2,%xmm3", "shuffle: v2 v1 v0 -> v3"},
		{"66 0f 38 17 c1", "ptest %xmm1,%xmm0", "float compare: v0 v1 -> flags"},
		{"66 0f 3a 63 c1 01", "pcmpistri $1,%xmm1,%xmm0", "vector multiply: v0 v1 -> rcx flags"},
		{"66 0f 3a 60 c1 01", "pcmpestrm $1,%xmm1,%xmm0", "vector multiply: v0 v1 rax rdx -> v0 flags"},
		{"c4 e2 71 90 04 97", "vpgatherdd %xmm1,(%rdi,%xmm2,4),%xmm0", "load: v0 v1 [rdi v2] -> v0 v1, loads 4, scaled"},
		{"c4 e2 71 8c 07", "vpmaskmovd (%rdi),%xmm1,%xmm0", "load: v1 [rdi] -> v0, loads 16"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
cryptography(void **state)
{
	static const struct example examples[] = {
		{"66 0f 38 dc c1", "aesenc %xmm1,%xmm0", "crypto: v0 v1 -> v0"},
		{"c4 e2 69 dc c1", "vaesenc %xmm1,%xmm2,%xmm0", "crypto: v2 v1 -> v0"},
		{"66 0f 3a 44 c1 00", "pclmulqdq $0,%xmm1,%xmm0", "crypto: v0 v1 -> v0"},
		{"0f 38 cb d1", "sha256rnds2 %xmm0,%xmm1,%xmm2", "crypto: v2 v1 v0 -> v2"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
x87_is_one_register(void **state)
{
	static const struct example examples[] = {
		{"dd 07", "fldl (%rdi)", "load: x87 [rdi] -> x87, loads 8"},
		{"dd 1f", "fstpl (%rdi)", "store: x87 [rdi] -> x87, stores 8"},
		{"de c1", "faddp", "float add: x87 -> x87"},
		{"d8 c9", "fmul %st(1),%st", "float multiply: x87 -> x87"},
		{"d8 f9", "fdivr %st(1),%st", "float divide: x87 -> x87"},
		{"d9 fa", "fsqrt", "float root: x87 -> x87"},
		{"df e9", "fucomip %st(1),%st", "float compare: x87 -> x87 flags"},
		{"db 07", "fildl (%rdi)", "float convert: x87 [rdi] -> x87, loads 4"},
		{"db 1f", "fistpl (%rdi)", "float convert: x87 [rdi] -> x87, stores 4"},
		{"df e0", "fnstsw %ax", "float move: rax x87 -> rax x87"},
		{"d9 c9", "fxch %st(1)", "nop: x87 -> x87"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
masks_of_avx512_merge_unless_they_clear(void **state)
{
	static const struct example examples[] = {
		{"62 f1 6d 48 fe c1", "vpaddd %zmm1,%zmm2,%zmm0", "vector integer: v2 v1 -> v0, wide"},
		{"62 f1 6d 49 fe c1", "vpaddd %zmm1,%zmm2,%zmm0{%k1}", "vector integer: v0 v2 v1 k1 -> v0, wide"},
		{"62 f1 6d c9 fe c1", "vpaddd %zmm1,%zmm2,%zmm0{%k1}{z}", "vector integer: v2 v1 k1 -> v0, wide"},
		{"62 e1 7f a9 6f 0f", "vmovdqu8 (%rdi),%ymm17{%k1}{z}", "load: k1 [rdi] -> v17, loads 32, wide"},
		{"62 e1 fe 48 6f 4f 01", "vmovdqu64 0x40(%rdi),%zmm17", "load: [rdi] -> v17, loads 64, wide"},
		{"62 f1 7c 49 11 07", "vmovups %zmm0,(%rdi){%k1}", "store: v0 k1 [rdi], stores 64, wide"},
		{"62 f1 f5 58 58 07", "vaddpd (%rdi){1to8},%zmm1,%zmm0", "float add: v1 [rdi] -> v0, loads 8, wide"},
		{"62 f3 6d 48 25 c1 96", "vpternlogd $0x96,%zmm1,%zmm2,%zmm0", "vector integer: v0 v2 v1 -> v0, wide"},
		{"62 f2 6d 48 7e c1", "vpermt2d %zmm1,%zmm2,%zmm0", "shuffle: v0 v2 v1 -> v0, wide"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

static void
instructions_of_newer_extensions(void **state)
{
	static const struct example examples[] = {
		{"c5 fb 93 c1", "kmovd %k1,%eax", "float move: k1 -> rax"},
		{"c4 e1 fb 92 c8", "kmovq %rax,%k1", "float move: rax -> k1"},
		{"c5 f8 92 c8", "kmovw %eax,%k1", "float move: rax -> k1"},
		{"c4 e1 f8 90 0f", "kmovq (%rdi),%k1", "load: [rdi] -> k1, loads 8"},
		{"c4 e1 f8 91 0f", "kmovq %k1,(%rdi)", "store: k1 [rdi], stores 8"},
		{"c4 e1 f9 98 c8", "kortestd %k0,%k1", "float compare: k1 k0 -> flags"},
		{"c4 e1 ec 4b d9", "kunpckdq %k1,%k2,%k3", "shuffle: k2 k1 -> k3"},
		{"c4 e1 ec 41 d9", "kandq %k1,%k2,%k3", "vector integer: k2 k1 -> k3"},
		{"62 f1 7d 20 74 07", "vpcmpeqb (%rdi),%ymm16,%k0", "vector integer: v16 [rdi] -> k0, loads 32, wide"},
		{"62 f3 6d 2a 3e c9 01", "vpcmpub $1,%ymm1,%ymm2,%k1{%k2}", "vector integer: v2 v1 k2 -> k1, wide"},
		{"62 f2 76 48 26 c9", "vptestnmb %zmm1,%zmm1,%k1", "vector integer: v1 -> k1, wide"},
		{"62 f2 ed 28 b4 c1", "vpmadd52luq %ymm1,%ymm2,%ymm0", "vector multiply: v0 v2 v1 -> v0, wide"},
		{"62 f2 6d 48 50 c1", "vpdpbusd %zmm1,%zmm2,%zmm0", "vector multiply: v0 v2 v1 -> v0, wide"},
		{"62 f1 fd 48 73 d1 03", "vpsrlq $3,%zmm1,%zmm0", "vector integer: v1 -> v0, wide"},
		{"62 f2 7d 48 55 c1", "vpopcntd %zmm1,%zmm0", "vector integer: v1 -> v0, wide"},
		{"66 0f 38 cf c1", "gf2p8mulb %xmm1,%xmm0", "crypto: v0 v1 -> v0"},
		{"62 f2 6d 48 dc c1", "vaesenc %zmm1,%zmm2,%zmm0", "crypto: v2 v1 -> v0, wide"},
		{"f3 48 0f 1e c8", "rdsspq %rax", "system: rax -> rax"},
		{"0f 01 e8", "serialize", "barrier:"},
		{"48 0f 38 f9 07", "movdiri %rax,(%rdi)", "store: rax [rdi], stores 8"},
	};

	(void)state;
	CHECK_EXAMPLES(ARCHITECTURE_X86_64, examples);
}

/* clang-format on */

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integer_instructions_write_the_flags_they_set),
		cmocka_unit_test(writing_a_part_of_a_register_reads_it),
		cmocka_unit_test(moves_are_loads_and_stores_when_they_have_memory),
		cmocka_unit_test(shifts_multiplications_and_divisions_have_hidden_operands),
		cmocka_unit_test(selections_read_the_flags_and_what_they_keep),
		cmocka_unit_test(idioms_that_clear_a_register_depend_on_nothing),
		cmocka_unit_test(the_stack_pointer_is_an_address_that_moves),
		cmocka_unit_test(every_kind_of_control_flow_is_told_apart),
		cmocka_unit_test(nothing_is_nothing),
		cmocka_unit_test(the_system_has_registers_of_its_own),
		cmocka_unit_test(locked_instructions_are_atomic),
		cmocka_unit_test(strings_move_their_pointers),
		cmocka_unit_test(floating_point_of_sse_updates_and_of_avx_writes),
		cmocka_unit_test(moves_between_vectors_and_to_and_from_general_registers),
		cmocka_unit_test(vectors_of_integers),
		cmocka_unit_test(cryptography),
		cmocka_unit_test(x87_is_one_register),
		cmocka_unit_test(masks_of_avx512_merge_unless_they_clear),
		cmocka_unit_test(instructions_of_newer_extensions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
