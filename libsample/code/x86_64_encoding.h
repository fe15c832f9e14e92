/*
 * x86_64_encoding.h - the parts of an x86-64 instruction's encoding
 *
 * Finds the length and the fields of instructions, including those that Zydis does not know, but not their meaning.
 * Needs no library, because the replica (dcpi-tools/x/replica) and the emulator's counts are linked with none.
 * Source: Intel SDM volume 2, chapter 2 and appendix A; AMD APM volume 3, appendix A.
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_X86_64_ENCODING_H
#define DCPI_CODE_X86_64_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_LONGEST 15

#define REX_W 8u
#define REX_R 4u
#define REX_X 2u
#define REX_B 1u

enum x86_map {
	MAP_ONE_BYTE = 0,
	MAP_0F = 1,
	MAP_0F38 = 2,
	MAP_0F3A = 3,
	MAP_5 = 5, /* EVEX: AVX512-FP16 */
	MAP_6 = 6,
	MAP_XOP8 = 8,
	MAP_XOP9 = 9,
	MAP_XOPA = 10,
};

enum x86_form_of_encoding {
	ENCODING_LEGACY,
	ENCODING_VEX,
	ENCODING_XOP,
	ENCODING_EVEX,
};

struct x86_encoding {
	uint8_t size;
	uint8_t kind; /* enum x86_form_of_encoding */
	uint8_t map;  /* enum x86_map */
	uint8_t opcode;
	uint8_t prefix; /* 0, 0x66, 0xf3 or 0xf2: the one that selects the instruction */
	bool has_lock, has_operand_size, has_rep, has_repne, has_address_size;
	uint8_t rex;      /* W, R, X, B as in a REX prefix, also from VEX and EVEX */
	uint8_t reg, rm;  /* with REX's bits, and with EVEX's fifth bit if it is a register */
	uint8_t other;    /* VEX.vvvv: the register that is not in ModRM */
	uint8_t mask;     /* EVEX.aaa */
	bool clears_mask; /* EVEX.z */
	uint8_t length;   /* VEX.L, EVEX.L'L: 0, 1, 2 are 128, 256 and 512 bits */
	bool has_modrm;
	uint8_t modrm;
	bool has_memory, is_rip_relative;
	uint8_t base, index; /* of memory: registers, or 0xff */
	uint8_t scale;
	int32_t displacement;
	uint8_t opcode_at, displacement_at, displacement_size, immediate_at, immediate_size; /* bytes */
	int64_t immediate;
};

/* 0, or -1 when the bytes are no instruction of 64-bit mode or are cut off. */
int x86_encoding_parse(const uint8_t *bytes, size_t length, struct x86_encoding *encoding);

#endif
