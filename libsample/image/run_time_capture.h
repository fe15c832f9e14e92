/*
 * run_time_capture.h - what a process told about the code it made, cut down to what was sampled
 *
 * From a perf map: the names of functions that touch blocks with samples. From a jitdump: also their code, in whole
 * blocks of offsets (profile/captured.h) that are zero where no such function is. Offsets are those of
 * process/jit.h.
 * Thread rule: plain data once it is made.
 */
#ifndef DCPI_IMAGE_RUN_TIME_CAPTURE_H
#define DCPI_IMAGE_RUN_TIME_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "image/run_time_code.h"
#include "profile/captured.h"

#define RUN_TIME_BLOCKS_MAX 1024 /* of code, in one capture: 4 MiB; functions that have no room have names only */

struct run_time_request {
	uint64_t base;          /* address of offset 0 */
	const uint32_t *blocks; /* that have samples, ascending */
	size_t block_count;
	uint64_t seen; /* what was told before this position was there when the samples before were taken; 0: no matter
	                */
};

struct run_time_capture {
	struct run_time_code *code; /* all that was told; owns the names */
	struct profile_symbol *symbols;
	size_t symbol_count;
	bool is_reused;                /* memory with samples has other code now than what is named here */
	struct captured_layout layout; /* without sections there is no code */
	struct captured_segment segments[2];
	struct captured_block *blocks; /* ascending */
	size_t block_count;
	uint8_t *bytes; /* what the blocks point into */
};

/*
 * Read all of `fd`, a file that can be sought in, whichever of the two it is. A jitdump that is damaged is read up to
 * there, and one of another byte order not at all; the code has a complaint about it. 0, -ENOMEM, or the errno of
 * read(): then there is nothing to be finished.
 */
int run_time_capture(int fd, const struct run_time_request *request, struct run_time_capture *capture);
void run_time_capture_fini(struct run_time_capture *capture);

#endif
