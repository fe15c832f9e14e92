/*
 * replica.h - the interface between dcpix and the replica, which executes instructions instead of a thread
 *
 * A burst must not be able to harm its thread. So the thread is only stopped, and its next few hundred instructions are
 * executed by another process, the replica: it has the thread's registers, and gets each page of its memory, as
 * a copy, when it first touches it. A burst consists of the addresses that this process executes. Whatever happens to
 * the replica - it runs on, it is killed, it writes nonsense - the thread continues where it was stopped.
 *
 * The replica runs a program of its own, dcpi-replica, without a library, at an address that no other code has.
 * Its file descriptors are those below. Seccomp allows only the system calls that it needs, because it executes another
 * program's code. dcpix must not trust anything that it writes here.
 */
#ifndef DCPI_TOOLS_X_REPLICA_REPLICA_H
#define DCPI_TOOLS_X_REPLICA_REPLICA_H

#include <stdint.h>
#include <sys/user.h>

#define REPLICA_CONTROL 3 /* a byte each way: begin; the burst is over */
#define REPLICA_MEMORY  4 /* /proc/PID/mem of the process */
#define REPLICA_SHARED  5 /* struct replica_shared */

#if defined(__aarch64__)
#define REPLICA_START UINT64_C(0x2d5c000000) /* also where addresses have 39 bits */
#else
#define REPLICA_START UINT64_C(0x2d5c00000000)
#endif
#define REPLICA_SIZE (UINT64_C(1) << 20)
#define REPLICA_END  (REPLICA_START + REPLICA_SIZE)

#define REPLICA_STEPS_MAX   1000
#define REPLICA_VECTORS_MAX 16384

enum replica_end {
	REPLICA_END_STEPS = 1, /* as many as were asked for */
	REPLICA_END_TIME,      /* must_end */
	REPLICA_END_CALL,      /* what comes next is a system call, or stores or loads the flags */
	REPLICA_END_FAULT,     /* it gets a signal, or reads what cannot be copied */
	REPLICA_END_VECTORS,   /* the vector registers could not be taken over */
	REPLICA_END_COUNT
};

struct replica_shared {
	uint8_t vectors[REPLICA_VECTORS_MAX] __attribute__((aligned(64))); /* as ptrace(2) gives them: NT_X86_XSTATE */
	struct user_regs_struct registers;
	uint32_t vectors_size;
	uint32_t steps_max; /* at most REPLICA_STEPS_MAX */
	uint32_t must_end;  /* set when it takes too long */

	uint32_t end;
	uint32_t count;
	uint64_t places[REPLICA_STEPS_MAX + 1]; /* the program counter at the beginning, and after each instruction */
};

#endif
