#include "image/plt_code.h"

#include <elf.h>
#include <string.h>

static uint32_t
read_u32_le(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static bool
has_bytes(const struct plt_code *plt, size_t at, const char *bytes, size_t size)
{
	return at <= plt->size && plt->size - at >= size && memcmp(plt->code + at, bytes, size) == 0;
}

/*
 * jmp *slot(%rip) is ff 25 rel32; before it may stand endbr64, then a bnd prefix or mold's mov of the index to %r11d.
 * With IBT the lazy half of the table (.plt) jumps through no slot, it pushes the index: 68 imm32.
 */
static bool
decode_x86_64(const struct plt_code *plt, size_t at, struct plt_stub *stub)
{
	size_t jump = at;

	*stub = (struct plt_stub){.at = at};
	if (has_bytes(plt, jump, "\xf3\x0f\x1e\xfa", 4)) {
		jump += 4;
		if (has_bytes(plt, jump, "\x68", 1) && plt->size - jump >= 5) {
			stub->index = read_u32_le(plt->code + jump + 1);
			return true;
		}
		if (has_bytes(plt, jump, "\x41\xbb", 2))
			jump += 6;
	}
	if (has_bytes(plt, jump, "\xf2", 1))
		jump++;
	if (!has_bytes(plt, jump, "\xff\x25", 2) || plt->size - jump < 6)
		return false;
	stub->has_slot = true;
	stub->slot = plt->address + jump + 6 + (uint64_t)(int64_t)(int32_t)read_u32_le(plt->code + jump + 2);
	return true;
}

/* Stubs of 8 bytes (.plt.got; .plt of static programs) fill up with a nop of two, and all others have 16. */
static bool
next_x86_64(const struct plt_code *plt, size_t *at, struct plt_stub *stub)
{
	for (; *at < plt->size; *at += 8) {
		size_t left = plt->size - *at;

		if (!decode_x86_64(plt, *at, stub))
			continue;
		stub->size = has_bytes(plt, *at, "\xff\x25", 2) && has_bytes(plt, *at + 6, "\x66\x90", 2) ? 8 : 16;
		if (stub->size > left)
			stub->size = left;
		*at += stub->size;
		return true;
	}
	return false;
}

#define A64_BTI_C   0xd503245fu
#define A64_BR_X17  0xd61f0220u
#define A64_LONGEST 6 /* instructions in a stub */

static bool
is_adrp_x16(uint32_t instruction)
{
	return (instruction & 0x9f00001fu) == 0x90000010u;
}

static bool
is_load_x17_from_x16(uint32_t instruction)
{
	return (instruction & 0xffc003ffu) == 0xf9400211u;
}

/* adrp's immediate: immhi in bits 5 to 23, immlo in 29 and 30, a signed number of 4 KiB pages. */
static int64_t
adrp_pages(uint32_t instruction)
{
	uint32_t pages = (instruction >> 5 & 0x7ffffu) << 2 | (instruction >> 29 & 3u);

	return (int64_t)((uint64_t)pages << 43) >> 43;
}

static size_t
end_of_a64(const struct plt_code *plt, size_t at)
{
	size_t end = at;

	for (size_t i = 0; i < A64_LONGEST && end + 4 <= plt->size; i++) {
		end += 4;
		if (read_u32_le(plt->code + end - 4) == A64_BR_X17)
			break;
	}
	return end;
}

static bool
next_aarch64(const struct plt_code *plt, size_t *at, struct plt_stub *stub)
{
	for (; *at + 8 <= plt->size; *at += 4) {
		uint32_t first = read_u32_le(plt->code + *at), second = read_u32_le(plt->code + *at + 4);
		uint64_t page;

		if (!is_adrp_x16(first) || !is_load_x17_from_x16(second))
			continue;
		page = ((plt->address + *at) & ~(uint64_t)0xfff) + ((uint64_t)adrp_pages(first) << 12);
		*stub = (struct plt_stub){.at = *at, .has_slot = true};
		stub->slot = page + (second >> 10 & 0xfffu) * 8;
		if (*at >= 4 && read_u32_le(plt->code + *at - 4) == A64_BTI_C)
			stub->at -= 4;
		*at = end_of_a64(plt, *at);
		stub->size = *at - stub->at;
		return true;
	}
	return false;
}

bool
plt_code_next(const struct plt_code *plt, size_t *at, struct plt_stub *stub)
{
	switch (plt->machine) {
	case EM_X86_64:
		return next_x86_64(plt, at, stub);
	case EM_AARCH64:
		return next_aarch64(plt, at, stub);
	default:
		return false;
	}
}
