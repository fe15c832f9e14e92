/*
 * qemu_functions.h - QEMU's internal functions, for what no plugin interface can do
 *
 * They are found by name, if the emulator exports them: Debian's does, and so does the one that scripts/qemu builds.
 * With another emulator the functions here do nothing.
 */
#ifndef DCPI_EMULATOR_QEMU_FUNCTIONS_H
#define DCPI_EMULATOR_QEMU_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Make the emulator drop all translated code, so that it is translated again. QEMU 7.2 does so before a second thread
 * begins, unless the program has mapped shared memory before: then it keeps the translated code. (Libc maps a table of
 * character sets shared.)
 */
struct tb_flush {
	void *(*find)(int vcpu);
	void (*begin_alone)(void), (*end_alone)(void); /* between them no other thread executes guest code */
	void (*forget)(void *cpu);                     /* all translated code */
};

/* Look up the functions; false when this emulator does not export them. */
bool tb_flush_init(struct tb_flush *flush);

/* To be called by the thread of `vcpu`, in a system call, as the only thread of its process. */
void tb_flush_all(const struct tb_flush *flush, unsigned vcpu);

/*
 * Remove the parent's virtual CPUs from the plugin interface in the child of a fork. QEMU 7.2 removes the virtual CPUs
 * of the parent's other threads there, but not from its list for plugins: when a thread of the child gets one of their
 * numbers, QEMU aborts if a plugin is loaded. The thread that forks calls all three functions.
 */
#define FORKED_CPUS_MAX 4096

struct forked_cpus {
	void *(*find)(int vcpu);
	void (*forget)(void *cpu); /* it also calls the plugin's callback for the end of a virtual CPU */
	void *cpus[FORKED_CPUS_MAX];
	unsigned count;
	bool is_child;      /* of a fork, whose list still has the parent's virtual CPUs */
	bool is_forgetting; /* virtual CPUs that end now were not threads of this process */
};

/*
 * Before the fork, in its handler (`highest`: number of the highest virtual CPU that ever was, plus 1); and in the
 * child.
 */
void forked_cpus_note(struct forked_cpus *forked, unsigned highest);
void forked_cpus_begin(struct forked_cpus *forked);

/* In the child, when the system call returns, on `vcpu`. */
void forked_cpus_forget(struct forked_cpus *forked, unsigned vcpu);

/*
 * Change the result of a system call after the emulator has made it. QEMU's function for debuggers writes the register
 * of the result when the next block is entered, before anything has read it.
 */
struct guest_result {
	void *(*find_cpu)(int vcpu);
	int (*write_register)(void *cpu, uint8_t *value, int number);
	int number; /* of the register */
};

/* `target`: the emulator's name of it. False: this emulator has no such functions, and results do not change. */
bool guest_result_init(struct guest_result *result, const char *target);

/* To be called in a callback at the beginning of a block. */
void guest_result_write(const struct guest_result *result, unsigned vcpu, int64_t value);

#endif
