/*
 * stall_kernels - loops of which each stalls for one known reason
 *
 * stall_kernels NAME SECONDS runs kernel_NAME; "culprit_NAME", an absolute symbol, is how far into it the instruction
 * to blame is. x86-64: elsewhere it says so, with status 77.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MEMORY_BYTES ((size_t)128 << 20)
#define LINE_BYTES   64
#define ROUNDS       2000000
_Static_assert((size_t)ROUNDS * 64 <= MEMORY_BYTES, "kernel_stores writes a line each");

#ifdef __x86_64__

/* kernel(memory, rounds): rdi, rsi. The address marked 9 is the culprit's. */
#define KERNEL(name, code)                                                                                             \
	__asm__(".text\n.p2align 6\n.globl kernel_" #name "\n.type kernel_" #name ", @function\n"                      \
	        "kernel_" #name ":\n" code "\nret\n.size kernel_" #name ", . - kernel_" #name "\n"                     \
	        ".globl culprit_" #name "\n.set culprit_" #name ", 9b - kernel_" #name "\n");                          \
	void kernel_##name(void *memory, uint64_t rounds)

/* Each address comes out of memory. */
KERNEL(chase, "1:\n9: mov (%rdi), %rdi\n sub $1, %rsi\n jnz 1b");
/* A line is written each time. */
KERNEL(stores, "1:\n9: mov %rdi, (%rdi)\n add $64, %rdi\n sub $1, %rsi\n jnz 1b");
/* Each dividend is the quotient before. */
KERNEL(divide, "mov $-3, %rax\n mov $3, %r8\n mov $0x7654321000000000, %r9\n1: xor %edx, %edx\n9: div %r8\n"
               " or %r9, %rax\n sub $1, %rsi\n jnz 1b");
KERNEL(multiply, "mov $3, %rax\n1:\n9: imul %rax, %rax\n sub $1, %rsi\n jnz 1b");
/*
 * The bits of a xorshift generator's numbers, one after the other, that no predictor knows. Its ways go round each for
 * itself, and lie in lines of their own: what enters and retires together, so that samples are late by it, is no more
 * than their first two instructions.
 */
KERNEL(branch, "mov $88172645463325252, %rdx\n 1: mov %rdx, %rcx\n shl $13, %rcx\n xor %rcx, %rdx\n mov %rdx, %rcx\n"
               " shr $7, %rcx\n xor %rcx, %rdx\n mov %rdx, %rcx\n shl $17, %rcx\n xor %rcx, %rdx\n"
               " mov %rdx, %rax\n mov $64, %ecx\n.p2align 6\n2: add %rax, %rax\n9: jc 3f\n add $3, %r8\n"
               " sub $1, %ecx\n jnz 2b\n jmp 4f\n.p2align 6\n3: sub $7, %r8\n sub $1, %ecx\n jnz 2b\n"
               "4: sub $1, %rsi\n jnz 1b");
/* Pages that all are the one page of zeros: what is loaded is in the cache, its address is in no TLB. */
KERNEL(pages, "xor %eax, %eax\n xor %edx, %edx\n1:\n9: mov (%rdi,%rax), %rdx\n add %rdx, %rax\n add $0x1000, %rax\n"
              " and $0x7ffffff, %eax\n sub $1, %rsi\n jnz 1b");
KERNEL(locked, "1:\n9: lock addq $1, (%rdi)\n sub $1, %rsi\n jnz 1b");
KERNEL(adds, "1:\n9: add %rsi, %rax\n add %rsi, %rax\n add %rsi, %rax\n add %rsi, %rax\n add %rsi, %rax\n"
             " add %rsi, %rax\n add %rsi, %rax\n add %rsi, %rax\n sub $1, %rsi\n jnz 1b");

/* 16,384 pieces of code, a line each, that jump through all of them in no order that can be guessed. */
__asm__(".text\n.p2align 12\n.globl kernel_code\n.type kernel_code, @function\nkernel_code:\n"
        "9: sub $1, %rsi\n jle 8f\n jmp kernel_code + 64 * 12345\n8: ret\n"
        ".set piece, 1\n.rept 16383\n.p2align 6\n add $1, %rax\n"
        " jmp kernel_code + 64 * ((piece * 40501 + 12345) & 16383)\n.set piece, piece + 1\n.endr\n"
        ".size kernel_code, . - kernel_code\n.globl culprit_code\n.set culprit_code, 9b - kernel_code\n");
void kernel_code(void *memory, uint64_t rounds);

static const struct stall_kernel {
	const char *name;
	void (*run)(void *memory, uint64_t rounds);
	uint64_t rounds;
} kernels[] = {
	{"chase", kernel_chase, ROUNDS / 4},
	{"stores", kernel_stores, ROUNDS},
	{"divide", kernel_divide, ROUNDS},
	{"multiply", kernel_multiply, ROUNDS},
	{"branch", kernel_branch, ROUNDS / 64},
	{"pages", kernel_pages, ROUNDS},
	{"locked", kernel_locked, ROUNDS},
	{"adds", kernel_adds, ROUNDS},
	{"code", kernel_code, 100},
};

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *
get_memory(void)
{
	void *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	if (madvise(memory, MEMORY_BYTES, MADV_NOHUGEPAGE))
		fail("madvise");
	return memory;
}

/* One cycle through all lines, in the order of a linear congruential generator. */
static void
make_chain(char *memory)
{
	const size_t lines = MEMORY_BYTES / LINE_BYTES;
	size_t at = 0;

	for (size_t i = 0; i < lines; i++) {
		const size_t next = (at * 1103515245 + 12345) & (lines - 1);
		void *target = memory + next * LINE_BYTES;

		memcpy(memory + at * LINE_BYTES, &target, sizeof(target));
		at = next;
	}
}

static double
cpu_seconds(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now))
		fail("clock_gettime");
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
	char *memory = get_memory();

	for (size_t i = 0; argc > 1 && i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (strcmp(argv[1], kernels[i].name) != 0)
			continue;
		if (strcmp(argv[1], "chase") == 0)
			make_chain(memory);
		for (const double end = cpu_seconds() + seconds; cpu_seconds() < end;)
			kernels[i].run(memory, kernels[i].rounds);
		return 0;
	}
	fprintf(stderr, "stall_kernels: no such kernel\n");
	return 2;
}

#else

int
main(void)
{
	fprintf(stderr, "stall_kernels: only written for x86-64\n");
	return 77;
}

#endif
