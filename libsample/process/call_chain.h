/*
 * call_chain.h - from the addresses of a sample's call chain to a node of a stack
 *
 * The kernel and perf record a chain as addresses, the innermost first, and between them marks (PERF_CONTEXT_KERNEL,
 * PERF_CONTEXT_USER) of the mode of those that follow. The first address behind a mark is that of an instruction: of
 * the sample, or where user code entered the kernel. All others are return addresses.
 * Thread rule: that of the attribution and the table.
 */
#ifndef DCPI_PROCESS_CALL_CHAIN_H
#define DCPI_PROCESS_CALL_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "process/attribution.h"
#include "process/stack_table.h"

#define CALL_CHAIN_MAX (STACK_DEPTH_MAX - 1) /* frames that are kept of a stack */

/*
 * Linux stops at kernel.perf_event_max_stack frames, 127 unless it was changed, and nothing in a chain says that it was
 * stopped. So a stack of exactly so many counts as truncated.
 */
#define CALL_CHAIN_DEFAULT 127

/* The frames of a stack, before they are nodes. */
struct chain_frames {
	struct stack_node nodes[CALL_CHAIN_MAX]; /* the innermost first; callers are not known yet */
	uint32_t count;
	uint32_t context; /* of the innermost */
	int cause;        /* why the innermost has no image, as attribution_sample() gives it; 0: it has one */
	bool is_truncated;
	enum stack_end end; /* why */
};

/* The frames of the sample's chain, up to the first that has no image. */
void call_chain_find(struct attribution *attribution, const struct record *sample, struct chain_frames *frames);

/* The node of frames without a cause. 0, -ENOSPC, -ENOMEM. */
int chain_frames_intern(struct stack_table *stacks, struct chain_frames *frames, uint32_t *node);

#endif
