/*
 * frame_pointers.h - rules of code of x86-64 that no compiler described and that keeps frame pointers
 *
 * Functions are found by how they begin (push %rbp; mov %rsp,%rbp), at multiples of 16 bytes, and decoded from there to
 * their end: so it is known at which instructions the frame is not there yet, or no more. What contradicts the frame
 * pointer - a return without a pop of %rbp, a value for it - ends the function where it last was certain. Code that
 * follows the padding behind a function without such a beginning may have no frame: it has no rules.
 * Thread rule: that of the decoder.
 */
#ifndef DCPI_CODE_FRAME_POINTERS_H
#define DCPI_CODE_FRAME_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/decoder.h"

/* Where the caller's frame is, from an instruction on. */
enum frame_place {
	FRAME_UNKNOWN,
	FRAME_CALLED, /* the return address is at the stack pointer, and %rbp is the caller's */
	FRAME_SAVED,  /* the caller's %rbp is at the stack pointer, the return address above it */
	FRAME_KEPT,   /* they are at %rbp; other registers may have been saved anywhere */
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

/* From `offset` in the bytes on, the frame is there. 0, or an error that ends frame_pointers_each(). */
typedef int frame_place_fn(void *context, size_t offset, enum frame_place place);

/*
 * Visit the places of all functions in the code at `address`, by ascending offset, with a decoder of x86-64. 0, -ENOMEM
 * or the visitor's error.
 */
int frame_pointers_each(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
                        frame_place_fn *visit, void *context);

#endif
