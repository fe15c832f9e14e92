/*
 * process_file.h - what a plugin writes of one process and program, in a file that holds it whatever ends the process
 *
 * A header, the log of the code (code_log.h), and a part for each virtual CPU, all mapped and shared. The file is
 * sparse. In the child of a fork the mappings stay at their addresses, but are of a file of the child's own.
 * Thread rule: one thread at a time; the parts of virtual CPUs are their threads'.
 */
#ifndef DCPI_EMULATOR_PROCESS_FILE_H
#define DCPI_EMULATOR_PROCESS_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/code_log.h"

#define PROCESS_FILE_HEADER_SIZE 4096
#define PROCESS_FILE_VCPUS_MAX   4096

struct process_file {
	char directory[PATH_MAX];
	const char *prefix; /* of its name; process id and a number follow */
	char name[PATH_MAX + 64];
	size_t vcpu_size; /* of a virtual CPU's part */
	void *header;
	struct code_log log;
	void *vcpus[PROCESS_FILE_VCPUS_MAX]; /* NULL: not mapped */
	unsigned vcpu_count;                 /* highest that is mapped, and one */
};

/* Create and map a file without virtual CPUs, all zero. 0 or -errno. Afterwards, `prefix` must stay. */
int process_file_init(struct process_file *file, const char *directory, const char *prefix, size_t vcpu_size,
                      uint32_t instructions_max);
void process_file_fini(struct process_file *file); /* unmap; the file stays */

/* Map the part of a virtual CPU that has none yet; it is zero. 0; -ENOSPC: there are too many; -errno. */
int process_file_add_vcpu(struct process_file *file, unsigned vcpu);

/*
 * In the child of a fork: create a file of its own, with a copy of the log and a header of zeros, then map the parts of
 * the virtual CPUs, zero as well. 0 or -errno: then process_file_leave() is due, as mappings are still the parent's.
 */
int process_file_fork(struct process_file *file);
int process_file_fork_vcpus(struct process_file *file);

/* Replace all mappings by private memory: what is written is lost. */
void process_file_leave(struct process_file *file);

#endif
