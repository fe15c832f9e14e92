/*
 * call_stack.h - from a sample with registers and a copy of the stack to its frames
 *
 * The kernel gives the frames in the kernel, as addresses (process/call_chain.h). Those of user mode are unwound
 * (unwind.h) by the tables of their images, or by frame pointers in code that the process made at run time.
 * Thread rule: that of the attribution and of the tables.
 */
#ifndef DCPI_UNWIND_CALL_STACK_H
#define DCPI_UNWIND_CALL_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "process/attribution.h"
#include "process/call_chain.h"
#include "unwind/unwind.h"

/* How the code of images is unwound. */
struct call_stack_tables {
	enum unwind_machine machine;

	/* How that of image `number` of the session is; with *table for UNWIND_CODE_TABLE. Never UNWIND_CODE_NONE. */
	enum unwind_code (*find)(void *context, uint32_t number, const struct unwind_table **table);
	void *context;
	uint32_t kernel_depth; /* frames that the kernel was asked for, of its own: of so many, the rest is missing. 0:
	                          as many as CALL_CHAIN_DEFAULT */
};

/* How an image's code is unwound; UNWIND_CODE_TABLE: by its table, if it has one. */
enum unwind_code call_stack_code(const struct image *image);

/* The registers that are to be recorded (perf_event_attr.sample_regs_user): all that unwinding can use. */
uint64_t call_stack_registers(enum unwind_machine machine);

/*
 * The frames of `sample`, at most `depth` (1 to CALL_CHAIN_MAX), whose registers are those of `mask`; as
 * call_chain_find() gives them. A sample without frames in the kernel and without registers has the cause UNKNOWN_MODE.
 * `moment`: of the sample, when its process may have mapped something else since. NULL: it is taken now.
 */
void call_stack_find(struct attribution *attribution, const struct call_stack_tables *tables,
                     const struct record *sample, uint64_t mask, size_t depth, const struct attribution_moment *moment,
                     struct chain_frames *frames);

#endif
