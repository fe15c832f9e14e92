/*
 * process_file.h - the file in which a plugin records one process and program, which keeps everything however the
 * process ends
 *
 * It has a header, the log of the code (code_log.h), and a part for each virtual CPU, all mapped and shared. The file
 * is sparse. In the child of a fork the mappings keep their addresses, but map a file of the child's own. Thread rule:
 * one thread at a time; the part of a virtual CPU belongs to its thread.
 */
#ifndef DCPI_EMULATOR_PROCESS_FILE_H
#define DCPI_EMULATOR_PROCESS_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "emulator/code_log.h"
#include "process/context_table.h"

#define PROCESS_FILE_HEADER_SIZE 4096
#define PROCESS_FILE_VCPUS_MAX   4096

struct record_header {
	uint64_t magic;
	int32_t pid, parent; /* parent: of the child of a fork, the process that forked; else 0 */
	uint32_t vcpu_count;
	uint32_t reserved;
	uint64_t log_size;     /* bytes of the log in use */
	uint64_t unfollowed;   /* programs that were executed without the emulator */
	uint64_t unrecorded;   /* entries, translations and stalls of blocks for which there was no room */
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
	unsigned vcpu_count;                 /* number of the highest that is mapped, plus 1 */
};

/* Create and map a file without virtual CPUs, for a program with this name. 0 or -errno. `kind` must outlive it. */
int process_file_init(struct process_file *file, const char *directory, const struct process_file_kind *kind,
                      const char *comm, uint64_t start_cycles);
void process_file_fini(struct process_file *file); /* unmap; the file stays */

/* Map the part of a virtual CPU that has none yet; it is zero. 0; -ENOSPC: there are too many; -errno. */
int process_file_add_vcpu(struct process_file *file, unsigned vcpu);

/*
 * In the child of a fork, before anything else is recorded: create a file of its own, with a copy of the log, in which
 * the parts of the virtual CPUs are zero. Images, blocks and instructions keep their numbers, because these are in
 * translated code. 0, or -errno: from now on records go to private memory and are lost.
 */
int process_file_fork(struct process_file *file, uint64_t start_cycles);

/*
 * The process is about to become `user`: give it its files in the directory, this one and those of its tracker, which
 * are opened again by their names. Nothing happens unless it is root.
 */
void process_file_give(const struct process_file *file, uid_t user);

/*
 * Add an image; images are numbered from 1. `file` is a struct process_file, untyped for mapped_code_new(). 0 or
 * -ENOSPC.
 */
int process_file_add_image(void *file, const struct record_mmap *image);

/*
 * Find or add a block (`block` is without sizes): its number, and in *first that of its first instruction. 0: no room.
 */
uint32_t process_file_add_block(struct process_file *file, const struct code_block *block, const uint8_t *sizes,
                                uint32_t *first);

/* Count a program that is executed without the emulator (`file` is a struct process_file); and what has no room. */
void process_file_not_followed(void *file);
void process_file_count_unrecorded(struct process_file *file);

#endif
