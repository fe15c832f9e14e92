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
#include "process/context_table.h"

#define PROCESS_FILE_HEADER_SIZE 4096
#define PROCESS_FILE_VCPUS_MAX   4096

struct record_header {
	uint64_t magic;
	int32_t pid, parent; /* parent: of a fork, the process that was forked; else 0 */
	uint32_t vcpu_count;
	uint32_t reserved;
	uint64_t log_size;     /* bytes of the log in use */
	uint64_t unfollowed;   /* programs that were executed without the emulator */
	uint64_t unrecorded;   /* blocks entered, translated or stalled in for which there was no room */
	uint64_t start_cycles; /* virtual time when this process or program began: an exec and a fork continue the time
	                          before them; 0 where time is not modelled */
	char comm[COMM_SIZE];  /* of the program, as the kernel would call it */
};

/* What a plugin's files have in common. */
struct process_file_kind {
	const char *prefix; /* of their names; process id and a number follow */
	uint64_t magic;
	size_t vcpu_size; /* of a virtual CPU's part */
	uint32_t instructions_max;
};

struct process_file {
	const struct process_file_kind *kind;
	char directory[PATH_MAX];
	char name[PATH_MAX + 64];
	struct record_header *header;
	struct code_log log;
	void *vcpus[PROCESS_FILE_VCPUS_MAX]; /* NULL: not mapped */
	unsigned vcpu_count;                 /* highest that is mapped, and one */
};

/* Create and map a file without virtual CPUs, for the program of this name. 0 or -errno. `kind` must stay. */
int process_file_init(struct process_file *file, const char *directory, const struct process_file_kind *kind,
                      const char *comm, uint64_t start_cycles);
void process_file_fini(struct process_file *file); /* unmap; the file stays */

/* Map the part of a virtual CPU that has none yet; it is zero. 0; -ENOSPC: there are too many; -errno. */
int process_file_add_vcpu(struct process_file *file, unsigned vcpu);

/*
 * In the child of a fork, before anything else is recorded: create a file of its own, with a copy of the log, in which
 * the parts of the virtual CPUs are zero. Images, blocks and instructions keep their numbers, which are in translated
 * code. 0, or -errno: nothing is recorded any more, into private memory.
 */
int process_file_fork(struct process_file *file, uint64_t start_cycles);

/* 0 or -ENOSPC. Images are numbered from 1. Of a struct process_file: as mapped_code_new() wants it. */
int process_file_add_image(void *file, const struct record_mmap *image);

/* The number of the block, new or not, and of its first instruction; `block` without sizes. 0: there is no room. */
uint32_t process_file_add_block(struct process_file *file, const struct code_block *block, const uint8_t *sizes,
                                uint32_t *first);

/* Count a program that is executed without the emulator (of a struct process_file); and what there is no room for. */
void process_file_not_followed(void *file);
void process_file_count_unrecorded(struct process_file *file);

#endif
