/*
 * rough - does what is hard for whoever watches a process: for as many seconds as the argument says
 *
 * Faults that are handled, breakpoints of its own, a timer, threads that block all signals, children by fork and vfork,
 * other programs, and itself executed anew each second. Prints "rough wrong N": how often anything came out otherwise
 * than it must, which is never, unless somebody interferes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096

static volatile sig_atomic_t faults, traps, ticks;
static char *page;

static void
on_fault(int number)
{
	(void)number;
	faults++;
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void
on_trap(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	traps++;
#if defined(__aarch64__)
	((ucontext_t *)context)->uc_mcontext.pc += 4;
#endif
}

static void
on_tick(int number)
{
	(void)number;
	ticks++;
}

static int
check_fault(void)
{
	const int before = faults;

	mprotect(page, PAGE, PROT_NONE);
	*(volatile char *)page = 1;
	return faults != before + 1;
}

static int
check_trap(void)
{
	const int before = traps;

#if defined(__x86_64__)
	__asm__ volatile("int3");
#else
	__asm__ volatile("brk #0");
#endif
	return traps != before + 1;
}

/* Vectors and floating point, which whoever saves registers may forget. */
static double
compute(unsigned turns)
{
	double sums[8] = {0}, sum = 0;

	for (unsigned i = 1; i < turns; i++)
		for (unsigned k = 0; k < 8; k++)
			sums[k] += 1.0 / (i + k);
	for (unsigned k = 0; k < 8; k++)
		sum += sums[k];
	return sum;
}

static void *
be_deaf(void *wrong)
{
	sigset_t all, now;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	*(int *)wrong += compute(20000) != compute(20000);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	*(int *)wrong += !sigismember(&now, SIGTRAP);
	return NULL;
}

static int
check_threads(void)
{
	pthread_t threads[3];
	int wrong[3] = {0};

	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, be_deaf, &wrong[i]))
			abort();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return wrong[0] + wrong[1] + wrong[2];
}

static int
check_child(pid_t (*begin)(void))
{
	int status = -1;
	pid_t pid = begin();

	return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7;
}

static pid_t
begin_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(compute(2000) == compute(2000) ? 7 : 8);
	return pid;
}

static pid_t
begin_vfork(void)
{
	char *const arguments[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exit 7"}, NULL};
	pid_t pid = vfork();

	if (pid == 0) {
		execv("/bin/sh", arguments);
		_exit(8);
	}
	return pid;
}

static void
handle_signals(void)
{
	const struct itimerval often = {.it_interval = {.tv_usec = 3000}, .it_value = {.tv_usec = 3000}};
	struct sigaction action = {.sa_flags = SA_RESTART};

	action.sa_handler = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	action.sa_handler = on_tick;
	sigaction(SIGALRM, &action, NULL);
	action.sa_sigaction = on_trap;
	action.sa_flags |= SA_SIGINFO;
	sigaction(SIGTRAP, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

int
main(int argc, char **argv)
{
	const long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	long wrong = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	const time_t end = time(NULL) + 1;
	const double sum = compute(20000);
	char left[32], so_far[32];

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		abort();
	handle_signals();
	while (time(NULL) < end) {
		wrong += check_fault() + check_trap() + check_threads() + check_child(begin_fork) +
		         check_child(begin_vfork);
		wrong += compute(20000) != sum;
	}
	wrong += ticks == 0;
	if (seconds <= 1) {
		printf("rough wrong %ld\n", wrong);
		return 0;
	}
	snprintf(left, sizeof(left), "%ld", seconds - 1);
	snprintf(so_far, sizeof(so_far), "%ld", wrong);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	execl("/proc/self/exe", argv[0], left, so_far, NULL);
	return 1;
}
