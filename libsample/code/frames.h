/*
 * frames.h - where the caller's frame is, in code that no compiler described
 *
 * Functions are followed from their beginning, instruction by instruction, along their jumps: what is pushed, popped
 * and moved tells how far the return address is from the stack pointer, and when the frame pointer points at it. A
 * function begins by setting up its frame, or behind the breakpoints that linkers put between functions; one of the
 * second kind counts when it is called, or returns with the stack that it was called with. Code that only a table of
 * jumps reaches has the frame pointer of the function around it, if that sets it up first of all. What contradicts that
 * - a return with a frame, a jump to where there is none - takes back what was only likely. Everything else is unknown.
 * Thread rule: one thread for each struct frames.
 */
#ifndef DCPI_CODE_FRAMES_H
#define DCPI_CODE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/decoder.h"
#include "unwind/table.h"

enum frame_kind {
	FRAME_UNKNOWN,
	FRAME_CALLED, /* counted from the stack pointer */
	FRAME_KEPT,   /* counted from the frame pointer, which points at the caller's */
	FRAME_LINKED, /* as FRAME_KEPT, but where the caller's stack pointer was is not known */
};

struct frame_place {
	uint16_t kind;  /* enum frame_kind */
	uint16_t depth; /* bytes up to where the caller's stack pointer was (the CFA of DWARF) */
	uint16_t saved; /* the caller's frame pointer is so many bytes below that; 0: still in its register */
};

struct frames;

struct frames *frames_new(enum unwind_machine machine); /* NULL and errno: ENOMEM */
void frames_free(struct frames *frames);                /* NULL is allowed */

/* Look at code that nothing describes: does it keep frame pointers? */
void frames_look_at(struct frames *frames, const uint8_t *bytes, size_t size);

/*
 * Does what was looked at keep frame pointers, having been compiled so? A few functions in assembler among other code
 * are none of this.
 */
bool frames_are_kept(const struct frames *frames);

/* From `offset` in the bytes on, the frame is there. 0, or an error that ends frames_each(). */
typedef int frame_place_fn(void *context, size_t offset, const struct frame_place *place);

/* Visit the places in the code at `address`, by ascending offset. 0, -ENOMEM or the visitor's error. */
int frames_each(struct frames *frames, const uint8_t *bytes, size_t size, uint64_t address, frame_place_fn *visit,
                void *context);

#endif
