/*
 * tracing.h - what one process refers to, added up in a file that outlives it (trace_file.h)
 *
 * Each thread has a window of the addresses that it referred to lately (locality/scores.h), which is private memory.
 * After a fork the child has a file of its own, with everything at zero, and nothing was referred to before.
 *
 * Thread rule: each virtual CPU on its own thread; threads begin and end, and images and blocks are added, one at a
 * time.
 */
#ifndef DCPI_EMULATOR_TRACING_H
#define DCPI_EMULATOR_TRACING_H

#include <stdbool.h>
#include <stdint.h>

struct process_file;
struct tracing;

/* Whose code a block is. */
enum trace_code {
	TRACE_PROGRAM, /* of the program and its libraries */
	TRACE_SYSTEM,  /* libc's, the dynamic linker's, or of no file: the library may call it */
	TRACE_LIBRARY, /* the run-time library's, with which the program writes its record */
};

struct trace_block {
	uint64_t offset, end;  /* in its image */
	uint32_t image, first; /* instruction */
	uint16_t count;        /* of instructions */
	uint8_t code;          /* enum trace_code */
	bool calls;            /* its last instruction is a call; false where that is not known */
	bool jumps;            /* likewise, a jump to one place */
};

/*
 * Trace into a new file in `directory`, for a process with this name. Of each thread's first `exact` references, reuse
 * distances are exact. NULL and errno.
 */
struct tracing *tracing_new(const char *directory, const char *comm, uint64_t exact);
void tracing_free(struct tracing *tracing); /* the file stays; NULL is allowed */

/* The file, to add images and blocks, and to count what has no room. */
struct process_file *tracing_file(struct tracing *tracing);

/* In the child of a fork, before anything is traced. 0; -errno: nothing is traced. */
int tracing_fork(struct tracing *tracing);

/* `thread_pointer`: where the thread's own variables end; 0: not known. 0, or -errno: the thread is not traced. */
int tracing_begin_thread(struct tracing *tracing, unsigned vcpu, uint64_t thread_pointer);
void tracing_set_thread_pointer(struct tracing *tracing, unsigned vcpu, uint64_t thread_pointer);
void tracing_end_thread(struct tracing *tracing, unsigned vcpu);

/* What is known of a block of the file, by its number; before it is entered. */
void tracing_describe(struct tracing *tracing, uint32_t block, const struct trace_block *described);

/* A block begins; 0: one that is not in the file, of which nothing is known; and one of the run-time library. */
void tracing_enter(struct tracing *tracing, unsigned vcpu, uint32_t block);
void tracing_enter_library(struct tracing *tracing, unsigned vcpu);

struct traced_access {
	uint64_t address; /* of the program */
	const void *host; /* where that is in the emulator */
	uint32_t bytes;
	bool is_store;
};

void tracing_refer(struct tracing *tracing, unsigned vcpu, uint32_t instruction, const struct traced_access *access);

/* The run-time library writes: so it becomes known where its variables are in a thread's memory. */
void tracing_library_stores(struct tracing *tracing, unsigned vcpu, uint64_t address);

#endif
