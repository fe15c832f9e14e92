/*
 * stepper.h - one burst: a thread is stopped, makes some steps, and goes on
 *
 * The thread is seized, and let go again after the burst. Who steps must not be killed meanwhile (apart.h): the kernel
 * lets the thread go, but delivers the trap of its last step, which ends the program. A burst ends before an
 * instruction that must not be stepped over: a system call could block, begin another process or end this one, and
 * pushed flags would tell of the stepping. So no system call of the thread is ever ours to interrupt, but for one that
 * it may be in when it is stopped, which is begun again. Signals that arrive are handed on.
 * Thread rule: the one that steps; it must be the one that calls waitpid(2).
 */
#ifndef DCPI_TOOLS_X_STEPPER_H
#define DCPI_TOOLS_X_STEPPER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STEPS_MAX 1000

struct step {
	uint64_t from, to; /* addresses: what was executed, and what comes next */
};

struct burst {
	struct step steps[STEPS_MAX];
	size_t count;
	uint64_t stopped_ns; /* for how long the thread did not run by itself */
};

/*
 * Let thread `tid` make at most `steps` steps, or as many as fit into `limit_ns`. 0, also when there was none to make;
 * -ESRCH when the thread is gone; -EPERM when it may not be traced, -EBUSY when somebody else does; -errno.
 */
int stepper_burst(pid_t tid, size_t steps, uint64_t limit_ns, struct burst *burst);

#endif
