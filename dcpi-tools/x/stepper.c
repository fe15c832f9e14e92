#include "dcpi-tools/x/stepper.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS        UINT64_C(1000000000)
#define STOP_TRIES       20000 /* of 50 us: who is stuck in the kernel for a second is left alone as soon as it can be */
#define STOP_SLEEP_NS    50000
#define EVENT_OF(status) ((unsigned)(status) >> 16)

/* Where the thread is between two steps. */
struct stepping {
	pid_t tid;
	int signal;      /* to be handed on with the next step; 0: none */
	bool is_gone;    /* or not stopped */
	bool was_signal; /* the last stop was no step */
};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static int
read_counter(pid_t tid, uint64_t *pc)
{
	struct user_regs_struct registers;
	struct iovec part = {&registers, sizeof(registers)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &part) < 0)
		return -errno;
#if defined(__x86_64__)
	*pc = registers.rip;
#elif defined(__aarch64__)
	*pc = registers.pc;
#else
	return -ENOSYS;
#endif
	return 0;
}

#if defined(__x86_64__)
/* A system call in any of its forms, and what stores or loads the flags. */
static bool
must_not_be_stepped(uint64_t code)
{
	uint8_t byte = code & 0xff;

	while (byte == 0x66 || (byte & 0xf0) == 0x40) { /* prefixes that these may have */
		code >>= 8;
		byte = code & 0xff;
	}
	if (byte == 0x0f)
		return (code >> 8 & 0xff) == 0x05 || (code >> 8 & 0xff) == 0x34;
	return byte == 0x9c || byte == 0x9d || byte == 0xcc || byte == 0xcd || byte == 0xce || byte == 0xcf;
}
#else
/* A system call or a breakpoint; and a load that a step would take the exclusiveness from. */
static bool
must_not_be_stepped(uint64_t code)
{
	return (code & 0xff000000) == 0xd4000000 || (code & 0x3f400000) == 0x08400000;
}
#endif

/* Is the stop that of a step, and not a trap of the program's own? */
static bool
is_step(pid_t tid)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0)
		return false;
	return info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT || info.si_code == TRAP_HWBKPT;
}

/* After a stop that waitpid() told of: what it was. */
static void
take_status(struct stepping *stepping, int status)
{
	const int signal_number = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;

	stepping->signal = 0;
	stepping->was_signal = true;
	if (!WIFSTOPPED(status)) {
		stepping->is_gone = true;
	} else if (EVENT_OF(status) != 0) {
		/* ours, or the whole process was stopped: it stays so when it is let go */
	} else if (signal_number == SIGTRAP && is_step(stepping->tid)) {
		stepping->was_signal = false;
	} else {
		stepping->signal = signal_number;
	}
}

static int
wait_for_stop(struct stepping *stepping)
{
	const struct timespec pause = {.tv_nsec = STOP_SLEEP_NS};
	int status;

	for (int i = 0; i < STOP_TRIES; i++) {
		pid_t told = waitpid(stepping->tid, &status, __WALL | WNOHANG);

		if (told == stepping->tid) {
			take_status(stepping, status);
			return stepping->is_gone ? -ESRCH : 0;
		}
		if (told < 0 && errno != EINTR)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static int
wait_for_step(struct stepping *stepping)
{
	int status;

	while (waitpid(stepping->tid, &status, __WALL) < 0) {
		if (errno != EINTR) {
			stepping->is_gone = true;
			return -errno;
		}
	}
	take_status(stepping, status);
	return stepping->is_gone ? -ESRCH : 0;
}

/* One step: 1 when it was made, 0 when the burst is over, or an error. */
static int
make_step(struct stepping *stepping, struct step *step)
{
	uint64_t code;
	int err;

	errno = 0;
	code = (uint64_t)ptrace(PTRACE_PEEKTEXT, stepping->tid, (void *)step->from, NULL);
	if (errno || must_not_be_stepped(code))
		return 0;
	if (ptrace(PTRACE_SINGLESTEP, stepping->tid, NULL, (long)stepping->signal) < 0)
		return -errno;
	stepping->signal = 0;
	err = wait_for_step(stepping);
	if (!err)
		err = read_counter(stepping->tid, &step->to);
	return err ? err : 1;
}

static int
make_steps(struct stepping *stepping, size_t steps, uint64_t end_ns, struct burst *burst)
{
	struct step step = {0};
	int result;

	result = read_counter(stepping->tid, &step.from);
	if (result)
		return result;
	if (stepping->signal) /* it goes on in a handler: let it */
		return 0;
	while (burst->count < steps && now_ns() < end_ns && (result = make_step(stepping, &step)) > 0) {
		/* A signal came instead; what it interrupted was not executed, and the handler is no transfer. */
		if (stepping->was_signal)
			return 0;
		/* One that repeats itself is still the same. */
		if (step.to != step.from)
			burst->steps[burst->count++] = step;
		step.from = step.to;
	}
	return result < 0 ? result : 0;
}

static int
seize(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ? -errno : 0;
}

int
stepper_burst(pid_t tid, size_t steps, uint64_t limit_ns, struct burst *burst)
{
	struct stepping stepping = {.tid = tid};
	uint64_t start_ns;
	int err;

	burst->count = 0;
	burst->stopped_ns = 0;
	err = seize(tid);
	if (err)
		return err;
	start_ns = now_ns();
	err = wait_for_stop(&stepping);
	if (err == -ETIMEDOUT) { /* until it stops there is nothing to let go */
		err = wait_for_step(&stepping);
	} else if (!err) {
		start_ns = now_ns();
		err = make_steps(&stepping, steps < STEPS_MAX ? steps : STEPS_MAX, start_ns + limit_ns, burst);
	}
	if (!stepping.is_gone)
		(void)ptrace(PTRACE_DETACH, tid, NULL, (long)stepping.signal);
	burst->stopped_ns = now_ns() - start_ns;
	return err;
}
