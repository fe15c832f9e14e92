/*
 * trace_file.h - the file in which the trace plugin adds up what a program refers to, and dcpiloc --exact reads
 *
 * Each process and program has a file (emulator/process_file.h): mapped, shared, and sparse, so all is there however
 * the process ends.
 *
 *   record_header (emulator/process_file.h)
 *   log: images and blocks, as emulator/code_log.h has it
 *   for each virtual CPU, as many as header.vcpu_count: trace_vcpu
 *
 * Scores are those of locality/scores.h, of all data that the thread refers to. For the first references of a thread
 * reuse distances are exact; then they are sampled in bursts, of which only those references are judged that
 * locality_window_begin() says are known. Spatial scores and counts are always exact. What the library of
 * compiler/runtime.c does, and what the compiler put into the program for it, is left out: the countdown, and calls.
 *
 * Readers trust nothing in it: the guest could have written to it.
 */
#ifndef DCPI_EMULATOR_TRACE_FILE_H
#define DCPI_EMULATOR_TRACE_FILE_H

#include <stdint.h>

#include "emulator/process_file.h"
#include "locality/line_set.h"
#include "locality/scores.h"

#define TRACE_MAGIC            UINT64_C(0x3165636172746364) /* "dctrace1" */
#define TRACE_PREFIX           "trace."                     /* of the file's name; process id and a number follow */
#define TRACE_VCPUS_MAX        PROCESS_FILE_VCPUS_MAX
#define TRACE_INSTRUCTIONS_MAX (UINT32_C(1) << 21) /* numbers are below it, and can own lines */
#define TRACE_LINES_MAX        (UINT32_C(1) << 22) /* of all instructions of a thread; more are sampled */

/* What the tool says before it starts the emulator, in a file of the run's directory. */
#define TRACE_REQUEST_NAME "request"
#define TRACE_EXACT        UINT64_C(100000000) /* references of a thread whose reuse distances are exact, by default */

struct trace_request {
	uint64_t size;  /* of this structure */
	uint64_t exact; /* references of a thread whose reuse distances are exact */
};

/* Of a thread's references behind these, one part in TRACE_PART is a burst. */
#define TRACE_BURST (UINT64_C(1) << 21)
#define TRACE_PART  16

enum trace_class {
	TRACE_DATA,
	TRACE_RECORDING, /* it counts dcpi_locality_left down, or calls the library: it is left out */
};

struct trace_instruction {
	struct locality_score exact;   /* while reuse distances are exact */
	struct locality_score sampled; /* behind that */
	uint64_t low, high;            /* first addresses; both 0 while it has no references */
	uint64_t line;                 /* the last one that was added to the lines, + 1 */
	uint32_t bytes;                /* of its largest access */
	uint16_t kind;                 /* enum trace_class */
	uint8_t stores, reserved;      /* stores: some of its accesses do */
};

/* Of the bursts' judged references and temporal scores: for the standard error of their ratio. */
struct trace_bursts {
	uint64_t count;
	double judged, temporal, judged_squares, temporal_squares, products;
};

struct trace_vcpu {
	struct trace_bursts bursts;
	uint64_t left_out; /* references of the countdown, and of calls of the library */
	uint8_t padding[4096 - 56];
	struct trace_instruction instructions[TRACE_INSTRUCTIONS_MAX]; /* by number */
	uint64_t lines[TRACE_LINES_MAX + 512]; /* a struct line_keys with room for TRACE_LINES_MAX, by instructions */
};

_Static_assert(sizeof(struct trace_bursts) == 48, "the instructions begin at a page");
_Static_assert(sizeof(struct trace_vcpu) % 4096 == 0, "parts begin at pages");
_Static_assert(TRACE_INSTRUCTIONS_MAX <= LINE_SET_OWNERS_MAX, "each instruction can own lines");

#define TRACE_VCPU_OFFSET(vcpu)                                                                                        \
	(PROCESS_FILE_HEADER_SIZE + CODE_LOG_SIZE + (uint64_t)(vcpu) * sizeof(struct trace_vcpu))

#endif
