/*
 * executions - a program whose instructions can be counted by hand
 *
 * executions HOW N: `loop` executes 3 instructions for each turn and 3 besides, on x86-64 and arm64 (the assembler
 * below is all of it). It is called with N: `one` once, `threads` in 8 threads, `fork` in 4 processes, `exec` once and
 * once more after this program executed itself, `vfork` once and once in another process of this program, `segv`,
 * `kill` before it dies of a signal, `signals` three times in a handler, `anonymous` once and once as a copy in memory
 * of no file, `rewritten` twice, with another `nop` the second time, so that what comes behind the branch is not the
 * file's. `libraries` N A B: once here and once in each of the shared objects A and B, which are copies of this, one
 * after another; prints "same" when they were at one address.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS  8
#define CHILDREN 3

void loop(unsigned long turns); /* at least one */
extern const char loop_end[];

#if defined(__x86_64__)
__asm__(".text\n.globl loop\n.type loop, @function\nloop:\n"
        "	mov %rdi, %rdx\n"
        "1:	add $1, %rax\n"
        "	dec %rdx\n"
        "	jnz 1b\n"
        "	nop\n"
        "	ret\n"
        ".size loop, . - loop\n.globl loop_end\nloop_end:\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl loop\n.type loop, %function\nloop:\n"
        "	mov x1, x0\n"
        "1:	add x2, x2, #1\n"
        "	subs x1, x1, #1\n"
        "	b.ne 1b\n"
        "	nop\n"
        "	ret\n"
        ".size loop, . - loop\n.globl loop_end\nloop_end:\n");
#endif

static void *
loop_in_thread(void *turns)
{
	loop(*(unsigned long *)turns);
	return NULL;
}

static void
run_threads(unsigned long turns)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, loop_in_thread, &turns))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void
run_children(unsigned long turns)
{
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			loop(turns);
			_exit(0);
		}
	}
	loop(turns);
	while (wait(NULL) > 0)
		;
}

static void
run_copy(unsigned long turns)
{
	const size_t size = (size_t)(loop_end - (const char *)loop);
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		abort();
	memcpy(copy, (const void *)loop, size);
	__builtin___clear_cache(copy, (char *)copy + size);
	((void (*)(unsigned long))copy)(turns);
}

static volatile unsigned long handler_turns;

static void
loop_in_handler(int number)
{
	(void)number;
	loop(handler_turns); /* NOLINT(bugprone-signal-handler,cert-sig30-c): it is nothing but six instructions */
}

static void
run_handlers(unsigned long turns)
{
	handler_turns = turns;
	signal(SIGUSR1, loop_in_handler);
	for (int i = 0; i < 3; i++)
		raise(SIGUSR1);
}

static void
run_rewritten(unsigned long turns)
{
	char *nop = strchr((char *)(uintptr_t)loop, (char)0x90);
	char *page = (char *)((uintptr_t)loop & -(uintptr_t)4096);

	loop(turns);
	if (!nop || nop >= loop_end || mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
	*nop = (char)0xf8; /* clc */
	loop(turns);
}

static void
run_vfork(char *self, char *turns)
{
	char *const arguments[] = {self, (char[]){"one"}, turns, NULL};
	pid_t pid = vfork();

	if (pid == 0) {
		execv(self, arguments);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

int
main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	const unsigned long turns = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	if (strcmp(how, "threads") == 0)
		run_threads(turns);
	else if (strcmp(how, "signals") == 0)
		run_handlers(turns);
	else if (strcmp(how, "rewritten") == 0)
		run_rewritten(turns);
	else if (strcmp(how, "fork") == 0)
		run_children(turns);
	else
		loop(turns);
	if (strcmp(how, "exec") == 0)
		execl(argv[0], argv[0], "one", argv[2], NULL);
	if (strcmp(how, "vfork") == 0)
		run_vfork(argv[0], argv[2]);
	if (strcmp(how, "segv") == 0)
		raise(SIGSEGV);
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "anonymous") == 0)
		run_copy(turns);
	puts("done");
	return 3;
}
