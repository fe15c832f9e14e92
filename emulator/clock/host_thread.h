/*
 * host_thread.h - whether threads of the host sleep
 *
 * Thread rule: any thread.
 */
#ifndef DCPI_EMULATOR_HOST_THREAD_H
#define DCPI_EMULATOR_HOST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a thread of this process (its tid) sleeps until it is woken, or has ended. */
bool host_thread_sleeps(int thread);

/* Whether it executes, or would if the host had a core for it. */
bool host_thread_runs(int thread);

/* Voluntary context switches of the calling thread so far; 0: not known. */
uint64_t host_thread_sleep_count(void);

/* A hint for spinning: lets the other hardware thread of this core run first for a moment. */
static inline void
host_thread_pause(void)
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
