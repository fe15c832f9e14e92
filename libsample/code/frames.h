/*
 * frames.h - where the caller's frame is, in code of x86-64 that no compiler described
 *
 * Functions are followed from their beginning, instruction by instruction, along their jumps: what is pushed, popped
 * and moved tells how far the return address is from the stack pointer, and when the frame pointer points at it. A
 * function begins with push %rbp; mov %rsp,%rbp, or behind the breakpoints that linkers put between functions; one of
 * the second kind counts when it returns with the stack that it was called with. Code that only a table of jumps
 * reaches has the frame pointer of the function around it, if that sets it up first of all. What contradicts that - a
 * return with a frame, a jump to where there is none - takes back what was only likely. Everything else is unknown.
 * Thread rule: that of the decoder.
 */
#ifndef DCPI_CODE_FRAMES_H
#define DCPI_CODE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/decoder.h"

enum frame_kind {
	FRAME_UNKNOWN,
	FRAME_CALLED, /* as it was called, but for what was pushed: the return address is `depth` above the stack
	                 pointer */
	FRAME_KEPT,   /* the caller's %rbp is at %rbp, and the return address above it is the last of what was pushed
	                 there */
	FRAME_LINKED, /* so are %rbp and a return address; where the caller's stack pointer was, is not known */
};

struct frame_place {
	uint16_t kind;  /* enum frame_kind */
	uint16_t depth; /* FRAME_CALLED: bytes, a multiple of 8 */
	uint16_t saved; /* FRAME_CALLED: the caller's %rbp is that far below the return address; 0: still in %rbp */
};

/* What there is in code that nothing describes; all stretches of a file are added up. */
struct frame_evidence {
	uint64_t bytes;
	uint64_t beginnings; /* of functions that keep frame pointers */
};

/* Add what is in `size` bytes. */
void frame_evidence_add(struct frame_evidence *evidence, const uint8_t *bytes, size_t size);

/* Is the code compiled to keep frame pointers? A few functions in assembler among other code are none of this. */
bool frame_pointers_are_kept(const struct frame_evidence *evidence);

/* From `offset` in the bytes on, the frame is there. 0, or an error that ends frames_each(). */
typedef int frame_place_fn(void *context, size_t offset, const struct frame_place *place);

/*
 * Visit the places in the code at `address`, by ascending offset, with a decoder of x86-64. 0, -ENOMEM or the visitor's
 * error.
 */
int frames_each(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address, frame_place_fn *visit,
                void *context);

#endif
