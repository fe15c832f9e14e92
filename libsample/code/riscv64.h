/*
 * riscv64.h - the fields of RISC-V instructions
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_CODE_RISCV64_H
#define DCPI_CODE_RISCV64_H

#include <stddef.h>
#include <stdint.h>

/* The instruction at `bytes`, expanded, as *word; how long it is, 0 when `length` is too short. */
size_t riscv64_word(const uint8_t *bytes, size_t length, uint32_t *word);

/* Values of a word's fields. */
int64_t riscv64_load_offset(uint32_t word);
int64_t riscv64_store_offset(uint32_t word);

static inline unsigned
riscv64_rd(uint32_t word)
{
	return word >> 7 & 31;
}

static inline unsigned
riscv64_rs1(uint32_t word)
{
	return word >> 15 & 31;
}

static inline unsigned
riscv64_rs2(uint32_t word)
{
	return word >> 20 & 31;
}

#endif
