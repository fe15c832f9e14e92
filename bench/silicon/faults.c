/* A block's memory: a page is put wherever one is missed. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/silicon/silicon.h"

#define POINTED   UINT64_C(0x7000040)
#define PAGE      4096u
#define LINE      64u
#define LINES     256u /* half of a first-level cache */
#define PAGES_MAX 2048

/* A signal has no other way to know it. */
static unsigned fault_seed, fault_count;

/* What a word of memory is at first: a pointer, most of them to other lines; bytes that are not 0; 0. */
static uint64_t
word_value(size_t at, unsigned seed)
{
	if (seed % 3)
		return seed % 3 == 1 ? UINT64_C(0x0101010101010101) : 0;
	return SILICON_POINTERS + POINTED + at * 0x9e3779b1 % LINES * LINE;
}

static void
page_fill(uint64_t *page, unsigned seed)
{
	for (size_t i = 0; i < PAGE / sizeof(*page); i++)
		page[i] = word_value(i, seed);
}

static void
fault_handle(int number, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
	void *mapped;

	(void)context;
	if (number != SIGSEGV || info->si_code != SEGV_MAPERR || !page || fault_count++ > PAGES_MAX)
		_exit(number == SIGSEGV ? EFAULT : number == SIGFPE ? EDOM : ENOSYS);
	mapped = mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
	              0);
	if (mapped == MAP_FAILED)
		_exit(EFAULT);
	page_fill(mapped, fault_seed);
}

int
silicon_catch_faults(unsigned seed)
{
	static uint8_t stack[65536];
	const stack_t place = {.ss_sp = stack, .ss_size = sizeof(stack)};
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	struct sigaction action = {.sa_sigaction = fault_handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	fault_seed = seed;
	if (sigaltstack(&place, NULL))
		return -errno;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (sigaction(numbers[i], &action, NULL))
			return -errno;
	return 0;
}
