/*
 * process_file.h - a file for each process and program, mapped so that it holds everything whatever ends the process
 *
 * It is sparse. Memory of it that was mapped stays at its address when the child of a fork takes a file of its own.
 * Thread rule: one thread at a time.
 */
#ifndef DCPI_EMULATOR_PROCESS_FILE_H
#define DCPI_EMULATOR_PROCESS_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct process_file {
	char directory[PATH_MAX];
	const char *prefix; /* of its name; process id and a number follow */
	char name[PATH_MAX + 64];
};

/* A new one for this process, which executes one program after the other perhaps. A descriptor, or -errno. */
int process_file_create(struct process_file *file);

/* The one that was created, again: a descriptor that stays would be one of the guest's. A descriptor, or -errno. */
int process_file_open(const struct process_file *file);

/*
 * Map a part of it where `*mapped` is already or, if that is NULL, anywhere; without a file (-1) memory of nobody. 0
 * or -errno.
 */
int process_file_map(int fd, void **mapped, size_t size, uint64_t offset);

/* Memory of nobody in the place of what is mapped there: what is written goes nowhere. */
void process_file_leave(void *mapped, size_t size);

#endif
