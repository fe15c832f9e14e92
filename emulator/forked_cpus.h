/*
 * forked_cpus.h - remove the parent's virtual CPUs from the plugin interface in the child of a fork
 *
 * In the child QEMU 7.2 removes the virtual CPUs of the parent's other threads, but not from its list for plugins: when
 * a thread of the child gets one of their numbers, it aborts if a plugin is loaded. Debian's emulators export the
 * function that removes one from the list.
 * Thread rule: before a fork, and in the child, by the thread that forks.
 */
#ifndef DCPI_EMULATOR_FORKED_CPUS_H
#define DCPI_EMULATOR_FORKED_CPUS_H

#include <stdbool.h>

#define FORKED_CPUS_MAX 4096

struct forked_cpus {
	void *(*find)(int vcpu);
	void (*forget)(void *cpu); /* it also calls the plugin's callback for the end of a virtual CPU */
	void *cpus[FORKED_CPUS_MAX];
	unsigned count;
	bool is_child;      /* and the list still has those of the parent */
	bool is_forgetting; /* virtual CPUs that end now are not threads of this process */
};

/* Before the fork, in its handler; `highest`: number of the highest virtual CPU that ever was, and one. In the child.
 */
void forked_cpus_note(struct forked_cpus *forked, unsigned highest);
void forked_cpus_begin(struct forked_cpus *forked);

/* In the child, when the system call returns, on `vcpu`. */
void forked_cpus_forget(struct forked_cpus *forked, unsigned vcpu);

#endif
