/*
 * host_thread.h - what the host says of its threads and its time
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_HOST_THREAD_H
#define DCPI_EMULATOR_HOST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

uint64_t host_now_ns(void); /* CLOCK_MONOTONIC */

/* A thread of this process sleeps until somebody wakes it, or is gone. */
bool host_thread_sleeps(int thread);

/* How often the calling thread has slept by itself. */
uint64_t host_sleeps(void);

/* Another hardware thread of this core goes first for a moment. */
static inline void
host_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

#endif
