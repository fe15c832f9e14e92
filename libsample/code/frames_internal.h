/*
 * frames_internal.h - what the walk of frames.c and the machines know of each other (private to this room)
 *
 * A machine says what an instruction does to the frame, in terms that both have: the stack pointer, the frame pointer,
 * and the record of the caller's frame pointer and, above it, the return address.
 */
#ifndef DCPI_CODE_FRAMES_INTERNAL_H
#define DCPI_CODE_FRAMES_INTERNAL_H

#include "code/frames.h"

enum frame_effect {
	EFFECT_NONE,
	EFFECT_CALL,
	EFFECT_BRANCH,
	EFFECT_JUMP,
	EFFECT_RETURN,
	EFFECT_STOP,
	EFFECT_SIGN,  /* aarch64: the return address is in its register, the stack as the function was called with it */
	EFFECT_MOVE,  /* the stack grows by `down` */
	EFFECT_STACK, /* the stack pointer gets another value */
	EFFECT_SAVE,  /* the stack grows by `down`, then the record is written `at` above the stack pointer */
	EFFECT_RESTORE,   /* the record is read `at` above the stack pointer, then the stack grows by `down` */
	EFFECT_LEAVE,     /* as EFFECT_RESTORE, after the stack pointer has got the value of the frame pointer */
	EFFECT_FRAME,     /* the frame pointer points `at` above the stack pointer */
	EFFECT_LOSE,      /* it gets another value */
	EFFECT_LOSE_LINK, /* the register of the return address does */
	EFFECT_LOSE_BOTH, /* the stack pointer and the frame pointer do */
};

struct frame_instruction {
	size_t size;
	enum frame_effect effect;
	bool is_unknown; /* no instruction */
	bool has_target; /* of a jump */
	bool uses_frame; /* memory, by the frame pointer */
	int64_t down;
	int32_t at;
	uint64_t target;
};

struct frame_machine {
	uint16_t called_depth; /* how far the caller's stack pointer is above that of a function that was just called */
	uint16_t record_saved; /* how far below it the record is if it is adjacent to the return address; 0: it always
	                          is */
	uint8_t alignment;     /* of functions */
	bool is_padded;        /* between functions that do not end at a multiple of it */
	bool has_link;         /* a call writes the return address to a register */
	uint8_t breakpoint;    /* a byte that linkers fill with what is between functions; 0: none */

	/* What the bytes at `address`, of which there is one at least, begin with. */
	void (*decode)(struct decoder *decoder, const uint8_t *bytes, size_t size, uint64_t address,
	               struct frame_instruction *instruction);
	/* Does a function begin there that sets up its frame? */
	bool (*is_beginning)(const uint8_t *bytes, size_t size);
	/* The size of the instruction that does nothing with which the bytes begin; 0 when it is none. */
	size_t (*nop_size)(const uint8_t *bytes, size_t size);
	/* How many functions set up a frame there? */
	uint64_t (*count_beginnings)(const uint8_t *bytes, size_t size);
};

extern const struct frame_machine frame_machine_x86_64, frame_machine_aarch64;

#endif
