/*
 * trace_read.h - add up the files of the trace plugin (emulator/locality/trace_file.h)
 *
 * Files are not trusted: a file that contradicts itself is refused.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_TRACE_READ_H
#define DCPI_TOOLS_LOC_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/locality/trace_file.h"
#include "process/image_table.h"

/* An instruction that refers to data; one of each process that executed it. */
struct traced_instruction {
	uint32_t image; /* 0: none; else the table's number + 1 */
	uint64_t offset;
	struct locality_score exact, sampled; /* as in the file; together all references */
	uint64_t low, high;                   /* first addresses */
	uint32_t bytes;                       /* of its largest access */
	bool stores;                          /* some of its accesses do */
};

struct trace {
	struct image_table *images;
	struct traced_instruction *instructions;
	size_t count, room;
	uint64_t *keys; /* of lines (locality/line_set.h), owned by instructions, by their index */
	size_t key_count, key_room;
	uint32_t halvings;
	struct trace_bursts bursts;
	uint64_t left_out;   /* references of the countdown, and of calls of the library */
	uint64_t lost_lines; /* keys of instructions for which there was no number */
	uint64_t processes;  /* that were begun */
	uint64_t unfollowed; /* programs executed without the emulator */
	uint64_t unrecorded; /* references that nothing is known of */
	uint64_t running;    /* processes that had not ended */
	uint64_t damaged;    /* files that were not what they should be */
};

int trace_init(struct trace *trace);  /* 0 or -ENOMEM */
void trace_fini(struct trace *trace); /* a zeroed one is allowed */

/* Add all files in the directory. 0, -ENOMEM, or -errno of the directory. */
int trace_read(struct trace *trace, const char *directory);

/* Add one open file. 0; -DCPI_EDAMAGED: what was before the fault may be added; -ENOMEM, -errno. */
int trace_read_file(struct trace *trace, int fd);

#endif
