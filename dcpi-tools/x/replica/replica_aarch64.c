/*
 * dcpi-replica - executes some instructions in the place of a thread; see replica.h
 *
 * Here the trap flag is the kernel's: dcpix steps the replica by ptrace(2), and has it make the system calls
 * that bring a page. All that it does itself is to become empty. It stops behind `svc`, which is for dcpix to use.
 */
#if defined(__aarch64__)
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "dcpi-tools/x/replica/call_filter.h"
#include "dcpi-tools/x/replica/replica.h"

#define STACK_SIZE 16384

uint8_t replica_stack[STACK_SIZE] __attribute__((aligned(64)));

void replica_main(void);

__asm__(".text\n"
        ".globl _start\n_start:\n"
        "	adrp x0, replica_stack\n"
        "	add x0, x0, :lo12:replica_stack\n"
        "	add sp, x0, #16384\n"
        "	bl replica_main\n"
        "	b 1f\n"
        "	svc #0\n"
        "1:	brk #0\n"
        "	b 1b\n");

static long
call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	register uint64_t x8 __asm__("x8") = (uint64_t)number;
	register uint64_t x0 __asm__("x0") = a;
	register uint64_t x1 __asm__("x1") = b;
	register uint64_t x2 __asm__("x2") = c;
	register uint64_t x3 __asm__("x3") = d;
	register uint64_t x4 __asm__("x4") = e;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
	return (long)x0;
}

/* What is executed here is another program's code: only the calls that bring pages, and exit_group(), are allowed. */
static long
give_up_calls(void)
{
	/* clang-format off */
	static const struct sock_filter filter[] = {
		LOAD(arch),
		UNLESS(AUDIT_ARCH_AARCH64, 11), /* to KILL */
		LOAD(nr),
		UNLESS(SYS_mmap, 1), ALLOW,
		UNLESS(SYS_munmap, 1), ALLOW,
		UNLESS(SYS_exit_group, 1), ALLOW,
		UNLESS(SYS_pread64, 3), LOAD(args[0]), UNLESS(REPLICA_MEMORY, 1), ALLOW,
		KILL,
	};
	/* clang-format on */
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), (void *)(uintptr_t)filter};

	return call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) |
	       call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (uintptr_t)&program, 0, 0);
}

void
replica_main(void)
{
	call(SYS_close, REPLICA_SHARED, 0, 0, 0, 0);
	call(SYS_close, REPLICA_CONTROL, 0, 0, 0, 0);
	if (give_up_calls())
		call(SYS_exit_group, 1, 0, 0, 0, 0);
}
#endif
