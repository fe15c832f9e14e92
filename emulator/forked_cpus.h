/*
 * forked_cpus.h - the child of a program with threads may have threads of its own
 *
 * QEMU 7.2 forgets the parent's virtual CPUs in a child, but for those that it tells plugins of: it gives their numbers
 * again, and ends when a plugin is loaded. Debian's emulators export what makes it forget.
 * Thread rule: before a fork, and in the child, by the thread that forks.
 */
#ifndef DCPI_EMULATOR_FORKED_CPUS_H
#define DCPI_EMULATOR_FORKED_CPUS_H

#include <stdbool.h>

#define FORKED_CPUS_MAX 4096

struct forked_cpus {
	void *(*find)(int vcpu);
	void (*forget)(void *cpu); /* calls the plugin's callback for a virtual CPU's end, too */
	void *cpus[FORKED_CPUS_MAX];
	unsigned count;
	bool is_child;      /* and has not forgotten yet */
	bool is_forgetting; /* what ends now are none of this process's threads */
};

/* Before the fork, by its handler; `highest` virtual CPU there has been, and one. And in the child. */
void forked_cpus_note(struct forked_cpus *forked, unsigned highest);
void forked_cpus_begin(struct forked_cpus *forked);

/* In the child, when the system call returns, on `vcpu`. */
void forked_cpus_forget(struct forked_cpus *forked, unsigned vcpu);

#endif
