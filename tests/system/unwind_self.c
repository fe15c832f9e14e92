/*
 * unwind_self.c - a program that interrupts itself, and records the moments with the frames that libgcc finds
 *
 * unwind_self OUTPUT MOMENTS: in the form of unwind_moments.py, for unwind_replay. It stands for gdb where there is
 * none: for programs of another architecture that run under qemu-user. Linked statically, it has code of libc on its
 * stacks.
 */
#include <inttypes.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define STACK 65536
#define DEPTH 512

struct self_frames {
	uintptr_t pcs[DEPTH];
	size_t count;
};

static char maps[65536];
static uintptr_t stack_end;
static int output;
static volatile sig_atomic_t left;
static volatile uint64_t sink;

static _Unwind_Reason_Code
add_frame(struct _Unwind_Context *context, void *argument)
{
	struct self_frames *frames = argument;

	if (frames->count < DEPTH && _Unwind_GetIP(context))
		frames->pcs[frames->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void
put_register(unsigned number, uint64_t value)
{
	dprintf(output, "register %u %" PRIx64 "\n", number, value);
}

/* The registers of what was interrupted, by DWARF number; its stack pointer. */
static uint64_t
put_registers(const mcontext_t *machine)
{
#if defined(__aarch64__)
	for (unsigned i = 0; i < 31; i++)
		put_register(i, machine->regs[i]);
	put_register(31, machine->sp);
	put_register(32, machine->pc);
	return machine->sp;
#else
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
	                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		put_register(i, (uint64_t)machine->gregs[order[i]]);
	return (uint64_t)machine->gregs[REG_RSP];
#endif
}

static uint64_t
interrupted_pc(const mcontext_t *machine)
{
#if defined(__aarch64__)
	return machine->pc;
#else
	return (uint64_t)machine->gregs[REG_RIP];
#endif
}

/* The frames of this handler come first; those of what it interrupted begin at its pc. */
static void
on_tick(int number, siginfo_t *info, void *context)
{
	static struct self_frames frames;
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
	size_t first = 0, size;
	uint64_t sp;

	(void)number;
	(void)info;
	if (left == 0)
		return;
	frames.count = 0;
	_Unwind_Backtrace(add_frame, &frames);
	while (first < frames.count && frames.pcs[first] != interrupted_pc(machine))
		first++;
	/* a single frame is a stub of the PLT, of which libgcc has no description on arm64 */
	if (first + 2 > frames.count || frames.count == DEPTH)
		return;
	left--;
	dprintf(output, "moment\n%s", maps);
	sp = put_registers(machine);
	for (size_t i = first; i < frames.count; i++)
		dprintf(output, "frame %" PRIxPTR " 0\n", frames.pcs[i]);
	size = stack_end - sp < STACK ? stack_end - sp : STACK;
	dprintf(output, "stop libgcc\nstack %" PRIx64 " %zu\n", sp, size);
	if (write(output, (const void *)(uintptr_t)sp, size) != (ssize_t)size)
		_exit(1);
	dprintf(output, "\n");
}

/* "map START END OFFSET PATH" of what is executable, and where the stack ends. */
static void
read_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset;
	char line[4096], flags[8], path[4096];
	size_t used = 0;

	while (file && fgets(line, sizeof(line), file)) {
		path[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s", &start, &end, flags, &offset,
		           path) < 4)
			continue;
		if ((uintptr_t)&used >= start && (uintptr_t)&used < end)
			stack_end = (uintptr_t)end;
		if (flags[2] == 'x' && strcmp(path, "[vsyscall]") != 0 && used < sizeof(maps) - 5000)
			used += (size_t)sprintf(maps + used, "map %" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", start, end,
			                        offset, path);
	}
	if (file)
		fclose(file);
}

/* ---- something to interrupt ---- */

static int
compare(const void *a, const void *b)
{
	const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	sink += one ^ other;
	return (one > other) - (one < other);
}

__attribute__((noinline)) static void
sort(void)
{
	_Alignas(64) uint32_t numbers[200]; /* more than the stack is aligned to: it has to be realigned */

	for (uint32_t i = 0; i < 200; i++)
		numbers[i] = i * 2654435761u;
	qsort(numbers, 200, sizeof(numbers[0]), compare);
	sink += numbers[100];
}

__attribute__((noinline)) static uint64_t
leaf(uint64_t value)
{
	for (int i = 0; i < 200; i++)
		value = value * 6364136223846793005u + 1442695040888963407u;
	return value;
}

__attribute__((noinline)) static void
print(uint64_t value)
{
	char text[256];

	snprintf(text, sizeof(text), "%.17g %" PRIu64 " %s", (double)value * 1e-7, value, "text");
	sink += strlen(text);
}

__attribute__((noinline)) static uint64_t
recurse(unsigned depth)
{
	uint64_t value;

	if (depth == 0) {
		sort();
		print(sink);
		return leaf(sink);
	}
	value = recurse(depth - 1);
	return leaf(value) + depth;
}

int
main(int argc, char **argv)
{
	const struct itimerval tick = {{0, 2000}, {0, 2000}};
	struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};

	if (argc != 3)
		return 2;
	output = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	left = atoi(argv[2]);
	read_maps();
	if (output < 0 || !stack_end)
		return 1;
#if defined(__aarch64__)
	dprintf(output, "machine aarch64\n");
#else
	dprintf(output, "machine x86_64\n");
#endif
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	for (unsigned i = 0; left > 0; i++)
		sink += recurse(i % 50);
	return 0;
}
