#include <string.h>

#include "bench/silicon/silicon.h"

#define VECTORS   16
#define LINE      64u
#define JUMP_SIZE 5u

static void
put(struct silicon_code *code, const void *bytes, size_t size)
{
	if (code->size + size > code->capacity) {
		code->is_over = true;
		return;
	}
	memcpy(code->bytes + code->size, bytes, size);
	code->size += size;
}

#define PUT(code, ...) put(code, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void
put_distance(struct silicon_code *code, int64_t distance)
{
	int32_t value = (int32_t)distance;

	put(code, &value, sizeof(value));
}

/* The displacement, from behind it, of something in the frame. */
static void
put_frame(struct silicon_code *code, size_t offset)
{
	put_distance(code, (int64_t)offset - SILICON_FRAME_ROOM - (int64_t)(code->size + 4));
}

static void
put_begin(struct silicon_code *code)
{
	PUT(code, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx, rbp, r12 to r15 */
	PUT(code, 0x48, 0x89, 0x25);                                           /* mov %rsp, stack(%rip) */
	put_frame(code, offsetof(struct silicon_frame, stack));
}

static void
put_end(struct silicon_code *code)
{
	PUT(code, 0x48, 0x8b, 0x25); /* mov stack(%rip), %rsp */
	put_frame(code, offsetof(struct silicon_frame, stack));
	PUT(code, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b); /* pop r15 to r12, rbp, rbx */
	PUT(code, 0xc5, 0xf8, 0x77, 0xfc, 0xc3);                               /* vzeroupper; cld; ret */
}

static void
put_registers(struct silicon_code *code)
{
	for (unsigned i = 0; i < VECTORS; i++) { /* vmovdqu vector(%rip), %xmm */
		PUT(code, 0xc5, i < 8 ? 0xfa : 0x7a, 0x6f, (uint8_t)((i & 7) << 3 | 5));
		put_frame(code, offsetof(struct silicon_frame, vector) + 16 * i);
	}
	for (unsigned i = 0; i < 16; i++) { /* mov general(%rip), %register */
		PUT(code, i < 8 ? 0x48 : 0x4c, 0x8b, (uint8_t)((i & 7) << 3 | 5));
		put_frame(code, offsetof(struct silicon_frame, general) + 8 * i);
	}
	PUT(code, 0x0f, 0xae, 0xe8, 0xfc, 0xf8); /* lfence; cld; clc */
}

/* dec counter(%rip); jnz to `begin` */
static void
put_repeat(struct silicon_code *code, size_t begin)
{
	PUT(code, 0x48, 0xff, 0x0d);
	put_frame(code, offsetof(struct silicon_frame, counter));
	PUT(code, 0x0f, 0x85);
	put_distance(code, (int64_t)begin - (int64_t)(code->size + 4));
}

static void
put_jump(struct silicon_code *code, size_t to)
{
	PUT(code, 0xe9);
	put_distance(code, (int64_t)to - (int64_t)(code->size + 4));
}

/* The block, its branch to `distance` behind it. */
static void
put_block(struct silicon_code *code, const struct silicon_block *block, uint8_t distance)
{
	uint8_t displacement[4] = {distance};

	put(code, block->bytes, block->size - block->displacement_size);
	put(code, displacement, block->displacement_size);
}

/*
 * One that ends in a branch begins a line of code of its own, as predictors know few branches in a line, and goes on in
 * the next one.
 */
static void
put_copy(struct silicon_code *code, const struct silicon_block *block)
{
	static const uint8_t traps[LINE] = {[0 ... LINE - 1] = 0xcc};
	size_t end = code->size + block->size + JUMP_SIZE;

	end += -end % LINE;
	if (!block->displacement_size) {
		put_block(code, block, 0);
		return;
	}
	put_block(code, block, (uint8_t)(end - code->size - block->size));
	put_jump(code, end);
	put(code, traps, end < code->size ? 0 : end - code->size);
}

void
silicon_emit_row(struct silicon_code *code, const struct silicon_block *block, unsigned copies)
{
	size_t begin;

	put_begin(code);
	begin = code->size;
	put_registers(code);
	if (block->displacement_size) {
		size_t first = code->size + JUMP_SIZE;

		put_jump(code, first + -first % LINE);
		code->size += -code->size % LINE;
	}
	for (unsigned i = 0; i < copies; i++)
		put_copy(code, block);
	put_repeat(code, begin);
	put_end(code);
}

void
silicon_emit_loop(struct silicon_code *code, const struct silicon_block *block)
{
	size_t begin, away;

	put_begin(code);
	put_registers(code);
	begin = code->size;
	put_block(code, block, JUMP_SIZE);
	if (block->displacement_size)
		put_jump(code, 0); /* behind the loop */
	away = code->size;
	put_repeat(code, begin);
	if (block->displacement_size && !code->is_over) {
		int32_t distance = (int32_t)(code->size - away);

		memcpy(code->bytes + away - sizeof(distance), &distance, sizeof(distance));
	}
	put_end(code);
}
