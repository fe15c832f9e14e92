#include "dcpi-tools/x/replica/kernel_x86_64.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "dcpi-tools/x/replica/replica.h"

long
kernel_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return result;
}

void
copy_bytes(void *to, const void *from, uint64_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

void *
memset(void *to, int byte, size_t size)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(byte) : "memory");
	return to;
}

void
kernel_leave(void)
{
	for (;;)
		kernel_call(SYS_exit_group, 1, 0, 0, 0, 0, 0);
}

#define ALLOW             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LOAD(what)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define UNLESS(value, by) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, by)

/* What is executed here is not ours: it may have copies of its own memory, and nothing else. */
void
kernel_give_up_calls(void)
{
	/* clang-format off */
	static const struct sock_filter filter[] = {
		LOAD(arch),
		UNLESS(AUDIT_ARCH_X86_64, 23), /* to KILL */
		LOAD(nr),
		UNLESS(SYS_rt_sigreturn, 1), ALLOW,
		UNLESS(SYS_mmap, 1), ALLOW,
		UNLESS(SYS_munmap, 1), ALLOW,
		UNLESS(SYS_arch_prctl, 1), ALLOW,
		UNLESS(SYS_exit_group, 1), ALLOW,
		UNLESS(SYS_pread64, 3), LOAD(args[0]), UNLESS(REPLICA_MEMORY, 9), ALLOW,
		UNLESS(SYS_read, 3), LOAD(args[0]), UNLESS(REPLICA_CONTROL, 5), ALLOW,
		UNLESS(SYS_write, 3), LOAD(args[0]), UNLESS(REPLICA_CONTROL, 1), ALLOW,
		KILL,
	};
	/* clang-format on */
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), (void *)(uintptr_t)filter};

	if (kernel_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) ||
	    kernel_call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (uintptr_t)&program, 0, 0, 0))
		kernel_leave();
}
